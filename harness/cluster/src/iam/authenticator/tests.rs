//! Decisions on tokens with a stub of STS.

use tokio::sync::mpsc;

use super::*;
use crate::iam::aws_auth::config_map_data;
use crate::tenants::ClusterEvent;
use crate::testing::{self, StubTokens};

struct Fixture {
    authenticator: Authenticator,
    events: mpsc::UnboundedReceiver<ClusterEvent>,
    _mapping: watch::Sender<AwsAuth>,
}

impl Fixture {
    fn new(tokens: StubTokens) -> Self {
        let tenants = Arc::new(Tenants::default());
        let (tenant, events) = testing::tenant();
        let auth = AwsAuth::parse(&config_map_data(&tenant.cluster.aws_auth));
        tenants.admit(tenant).unwrap();
        let (_mapping, read) = watch::channel(auth);
        Self {
            authenticator: Authenticator::new(Arc::new(tokens), tenants, read),
            events,
            _mapping,
        }
    }

    async fn decide(&mut self, token: &str) -> (Decision, Option<Authentication>) {
        let decision = self.authenticator.decide(token).await;
        let event = self.events.try_recv().ok().map(|event| match event.what {
            ClusterFact::Authentication(seen) => seen,
            other => panic!("{other:?}"),
        });
        (decision, event)
    }
}

#[tokio::test]
async fn the_token_of_an_instance_gives_its_node_user() {
    let mut fixture = Fixture::new(StubTokens::of_role("ng1-NodeInstanceRole"));
    let (decision, event) = fixture.decide(&testing::token()).await;
    let Decision::Accepted(user) = decision else {
        panic!("{decision:?}")
    };
    assert_eq!(
        user.username,
        "system:node:ip-192-168-40-16.eu-west-1.compute.internal"
    );
    assert_eq!(user.uid, "aws-iam-authenticator:111111111111:AROAEXAMPLE");
    assert_eq!(user.groups, ["system:bootstrappers", "system:nodes"]);
    assert_eq!(user.extra["sessionName"], ["i-0b22a22eec53b9321"]);
    assert_eq!(user.extra["canonicalArn"], [testing::ROLE_ARN]);
    let event = event.unwrap();
    assert!(event.is_accepted());
    assert_eq!(event.canonical_arn.as_deref(), Some(testing::ROLE_ARN));
}

#[tokio::test]
async fn each_rejection_has_its_kind_and_message() {
    let refused = |status, code: &str, message: &str| StubTokens {
        response: Err(StsRejection {
            status,
            code: code.to_owned(),
            message: message.to_owned(),
            body: format!("{{\"Error\":{{\"Code\":\"{code}\",\"Message\":\"{message}\"}}}}"),
        }),
        ..StubTokens::of_role("x")
    };
    let table = [
        (
            StubTokens::of_role("other"),
            RejectionKind::NotMapped,
            "ARN is not mapped: arn:aws:iam::111111111111:role/other",
        ),
        (
            refused(403, "SignatureDoesNotMatch", "The request signature"),
            RejectionKind::Signature,
            "sts getCallerIdentity failed: error from AWS (expected 200, got 403) on eu-west-1 endpoint. Body: \
             {\"Error\":{\"Code\":\"SignatureDoesNotMatch\",",
        ),
        (
            refused(403, "SignatureDoesNotMatch", "Signature expired: 1"),
            RejectionKind::Expired,
            "Signature expired",
        ),
        (
            refused(400, "Throttling", "Rate exceeded"),
            RejectionKind::Throttled,
            "sts getCallerIdentity was throttled: {\"Error\":{\"Code\":\"Throttling\",\"Message\":\"Rate exceeded\"}}",
        ),
        (
            StubTokens {
                name: None,
                ..StubTokens::of_role("ng1-NodeInstanceRole")
            },
            RejectionKind::Template,
            "failed to find node",
        ),
    ];
    for (tokens, kind, words) in table {
        let (decision, event) = Fixture::new(tokens).decide(&testing::token()).await;
        let event = event.unwrap();
        let rejection = event.rejection().unwrap();
        assert_eq!(rejection.kind, kind);
        assert!(rejection.reason.contains(words), "{event:?}");
        let expected = if kind == RejectionKind::Throttled {
            Decision::TryAgain
        } else {
            Decision::Rejected
        };
        assert_eq!(decision, expected);
    }
}

/// Upstream's cache is filled before the name is checked, and a hit is not checked.
#[tokio::test]
async fn an_empty_name_of_ec2_is_refused_once_and_kept() {
    let mut fixture = Fixture::new(StubTokens {
        name: Some(String::new()),
        ..StubTokens::of_role("ng1-NodeInstanceRole")
    });
    let (decision, event) = fixture.decide(&testing::token()).await;
    assert_eq!(decision, Decision::Rejected);
    assert!(
        event
            .unwrap()
            .rejection()
            .unwrap()
            .reason
            .contains("failed to find node")
    );
    for _ in 0..2 {
        let (decision, _) = fixture.decide(&testing::token()).await;
        let Decision::Accepted(user) = decision else {
            panic!("{decision:?}")
        };
        assert_eq!(user.username, "system:node:");
    }
}

/// The mapping by mode: the type and principal of the access entry, whether `aws-auth` has a row, and the user and
/// number of groups.
#[tokio::test]
async fn access_entries_take_precedence_over_aws_auth_if_the_mode_enables_them() {
    use nodejoin_core::plan::access_entry::{AccessEntry, AccessEntryFile, AccessEntryType as Type};
    use nodejoin_core::plan::aws::AuthenticationMode as Mode;
    let node = "system:node:ip-192-168-40-16.eu-west-1.compute.internal";
    let session = "arn:aws:sts::111111111111:assumed-role/ng1-NodeInstanceRole/i-0b22a22eec53b9321";
    let id = "system:node:i-0b22a22eec53b9321";
    let table = [
        (
            Mode::ConfigMap,
            Some((Type::Ec2Linux, None)),
            false,
            Err("ARN is not mapped"),
        ),
        (
            Mode::ConfigMap,
            Some((Type::Ec2Linux, None)),
            true,
            Ok(("row", 0)),
        ),
        (
            Mode::ApiAndConfigMap,
            Some((Type::Ec2Linux, None)),
            true,
            Ok((node, 1)),
        ),
        (Mode::ApiAndConfigMap, None, true, Ok(("row", 0))),
        (Mode::ApiAndConfigMap, None, false, Err("ARN is not mapped")),
        (Mode::Api, None, true, Err("ARN is not mapped")),
        (Mode::Api, Some((Type::Ec2Windows, None)), true, Ok((node, 2))),
        (Mode::Api, Some((Type::FargateLinux, None)), false, Ok((id, 1))),
        (Mode::Api, Some((Type::Standard, None)), false, Ok((session, 0))),
        (
            Mode::Api,
            Some((Type::Ec2Linux, Some("AROAEXAMPLE"))),
            false,
            Ok((node, 1)),
        ),
        (
            Mode::Api,
            Some((Type::Ec2Linux, Some("AROAOTHER"))),
            true,
            Err("ARN does not match User ID"),
        ),
        (
            Mode::ApiAndConfigMap,
            Some((Type::Ec2Linux, Some("AROAOTHER"))),
            true,
            Ok(("row", 0)),
        ),
    ];
    for (mode, entry, has_row, expected) in table {
        let (mut tenant, mut events) = testing::tenant();
        let entries = entry.map(|(entry_type, principal_id)| AccessEntryFile {
            role: Some("path/ng1-NodeInstanceRole".to_owned()),
            entry_type,
            principal_id: principal_id.map(str::to_owned),
            ..AccessEntryFile::default()
        });
        let entries = entries.map(|file| AccessEntry::of(file, &tenant.account, &tenant.region));
        tenant.cluster.access_entries = entries.into_iter().collect();
        tenant.cluster.authentication_mode = mode;
        let row = format!("- rolearn: {}\n  username: row\n", testing::ROLE_ARN);
        let rows = has_row
            .then(|| ("mapRoles".to_owned(), row))
            .into_iter()
            .collect();
        let tenants = Arc::new(Tenants::default());
        tenants.admit(tenant).unwrap();
        let (_rows, read) = watch::channel(AwsAuth::parse(&rows));
        let tokens = Arc::new(StubTokens::of_role("ng1-NodeInstanceRole"));
        Authenticator::new(tokens, tenants, read)
            .decide(&testing::token())
            .await;
        let ClusterFact::Authentication(seen) = events.try_recv().unwrap().what else {
            panic!("expected only the decision")
        };
        let case = format!("{mode:?} {entry:?} {has_row}: {seen:?}");
        match expected {
            Ok((user, groups)) => assert_eq!(
                (seen.username(), seen.groups().len()),
                (Some(user), groups),
                "{case}"
            ),
            Err(words) => assert!(seen.rejection().unwrap().reason.contains(words), "{case}"),
        }
    }
}

#[tokio::test]
async fn the_fallback_tenant_gets_an_event_for_an_unknown_token() {
    let tokens = StubTokens {
        holder: None::<InstanceId>,
        ..StubTokens::of_role("x")
    };
    let mut fixture = Fixture::new(tokens);
    fixture.authenticator = fixture.authenticator.with_fallback_tenant(testing::instance().id);
    let (decision, event) = fixture.decide("nonsense").await;
    assert_eq!(decision, Decision::Rejected);
    let event = event.unwrap();
    let reason = &event.rejection().unwrap().reason;
    assert!(
        reason.contains("missing expected \"k8s-aws-v1.\" prefix"),
        "{reason}"
    );
}

#[tokio::test]
async fn an_unknown_token_is_rejected_without_an_event() {
    let tokens = StubTokens {
        holder: None::<InstanceId>,
        ..StubTokens::of_role("x")
    };
    assert_eq!(
        Fixture::new(tokens).decide(&testing::token()).await,
        (Decision::Rejected, None)
    );
    let mut fixture = Fixture::new(StubTokens::of_role("x"));
    assert_eq!(
        fixture.decide("k8s-aws-v1.nonsense").await,
        (Decision::Rejected, None)
    );
}
