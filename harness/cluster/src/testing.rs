//! Hand-made tenants for the tests of this crate.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::future::BoxFuture;
use nodejoin_core::plan::aws::{AuthenticationMode, EksPlan, NetworkPlan};
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::plan::{CaChoice, ClusterPlan, InstancePlan, MetadataPlan, RoleMapping};
use time::OffsetDateTime;
use time::macros::format_description;
use tokio::sync::mpsc;
use url::Url;

use crate::iam::sts::{SecurityTokens, StsIdentity, StsRejection};
use crate::tenants::{ClusterEvent, Tenant};

pub(crate) const ROLE_ARN: &str = "arn:aws:iam::111111111111:role/ng1-NodeInstanceRole";

pub(crate) fn instance() -> InstancePlan {
    InstancePlan {
        id: "i-0b22a22eec53b9321".parse().unwrap(),
        instance_type: "m5.large".to_owned(),
        ami: "ami-0123456789abcdef0".to_owned(),
        private_ip: [192, 168, 40, 16].into(),
        private_dns_name: "ip-192-168-40-16.eu-west-1.compute.internal".to_owned(),
        host_name: "ip-192-168-40-16.eu-west-1.compute.internal".to_owned(),
        mac: "0a:ff:c0:a8:28:10".to_owned(),
        availability_zone: "eu-west-1a".to_owned(),
        subnet_cidr: "192.168.32.0/19".to_owned(),
        vpc_cidrs: vec!["192.168.0.0/16".to_owned()],
        vpc_id: "vpc-1".to_owned(),
        subnet_id: "subnet-1".to_owned(),
        network_interface_id: "eni-1".to_owned(),
        security_group_id: "sg-1".to_owned(),
        tags: BTreeMap::new(),
        life_cycle: "on-demand".to_owned(),
        metadata: MetadataPlan::default(),
        network: NetworkPlan::default(),
        clock_ahead_seconds: 0,
    }
}

pub(crate) fn cluster() -> ClusterPlan {
    ClusterPlan {
        name: "ironman".to_owned(),
        endpoint_id: "0123456789ABCDEF0123456789ABCDEF".to_owned(),
        status: Vec::new(),
        service_ipv4_cidr: Some("10.100.0.0/16".to_owned()),
        certificate_authority: CaChoice::Own,
        aws_auth: vec![RoleMapping {
            rolearn: ROLE_ARN.to_owned(),
            username: "system:node:{{EC2PrivateDNSName}}".to_owned(),
            groups: vec!["system:bootstrappers".to_owned(), "system:nodes".to_owned()],
            ..RoleMapping::default()
        }],
        aws_auth_text: None,
        authentication_mode: AuthenticationMode::default(),
        access_entries: Vec::new(),
        approve_serving: true,
        cloud_node_controller: true,
        approve_clients: true,
        authenticator_until: None,
        bootstrap_tokens: Vec::new(),
        restart_api_server_after: None,
        eks: EksPlan::default(),
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
