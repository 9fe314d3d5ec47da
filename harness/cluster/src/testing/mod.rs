//! Hand-made tenants for the tests of this crate.

pub(crate) mod api_server;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::future::BoxFuture;
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::plan::{ClusterPlan, InstancePlan};
use nodejoin_core::testing::node_mapping;
use time::OffsetDateTime;
use time::macros::format_description;
use tokio::sync::mpsc;
use url::Url;

use crate::iam::sts::{SecurityTokens, StsIdentity, StsRejection};
use crate::tenants::{ClusterEvent, Tenant};

pub(crate) const ROLE_ARN: &str = "arn:aws:iam::111111111111:role/ng1-NodeInstanceRole";

pub(crate) fn instance() -> InstancePlan {
    InstancePlan {
        mac: "0a:ff:c0:a8:28:10".to_owned(),
        ..nodejoin_core::testing::instance()
    }
}

pub(crate) fn cluster() -> ClusterPlan {
    ClusterPlan {
        name: "ironman".to_owned(),
        aws_auth: vec![node_mapping(ROLE_ARN)],
        ..nodejoin_core::testing::cluster()
    }
}

pub(crate) fn tenant() -> (Tenant, mpsc::UnboundedReceiver<ClusterEvent>) {
    let (events, received) = mpsc::unbounded_channel();
    let (account, region) = ("111111111111".parse().unwrap(), "eu-west-1".parse().unwrap());
    (
        Tenant {
            pod_cidr: None,
            cluster: cluster(),
            instance: instance(),
            account,
            region,
            events,
        },
        received,
    )
}

/// An STS that always returns the same response.
pub(crate) struct StubTokens {
    pub(crate) holder: Option<InstanceId>,
    pub(crate) response: Result<StsIdentity, StsRejection>,
    pub(crate) name: Option<String>,
}

impl StubTokens {
    /// Accepts every token as the test instance in this role.
    pub(crate) fn of_role(role: &str) -> Self {
        let instance = instance();
        let identity = StsIdentity {
            account: "111111111111".to_owned(),
            arn: format!("arn:aws:sts::111111111111:assumed-role/{role}/{}", instance.id),
            user_id: format!("AROAEXAMPLE:{}", instance.id),
        };
        Self {
            holder: Some(instance.id),
            response: Ok(identity),
            name: Some(instance.private_dns_name),
        }
    }
}

impl SecurityTokens for StubTokens {
    fn instance_of(&self, _: &str) -> Option<InstanceId> {
        self.holder.clone()
    }

    fn caller_identity<'a>(
        &'a self,
        _: &'a Url,
        _: &'a str,
    ) -> BoxFuture<'a, Result<StsIdentity, StsRejection>> {
        Box::pin(async { self.response.clone() })
    }

    fn private_dns_name(&self, _: &InstanceId) -> Option<String> {
        self.name.clone()
    }
}

/// A token signed now, in the form that `aws eks get-token` prints.
pub(crate) fn token() -> String {
    let format = format_description!("[year][month][day]T[hour][minute][second]Z");
    let date = OffsetDateTime::now_utc().format(format).unwrap();
    let url = format!(
        "https://sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15\
         &X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=ASIAEXAMPLE%2F{}%2Feu-west-1%2Fsts%2Faws4_request\
         &X-Amz-Date={date}&X-Amz-Expires=60&X-Amz-SignedHeaders=host%3Bx-k8s-aws-id&X-Amz-Signature=00",
        &date[..8]
    );
    format!("k8s-aws-v1.{}", URL_SAFE_NO_PAD.encode(url))
}
