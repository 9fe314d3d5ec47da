//! Joins that stopped, with lines that real programs wrote.

pub(super) mod cases;
mod coverage;
mod finality;
mod host;
mod no_cause;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::{diagnose, find};
use crate::diagnosis::{Cause, Diagnosis};
use crate::observation::phases::tests::{accepted, aws, join, journal, node, observed, serving};
use crate::observation::{
    Audit, Authentication, AuthenticationOutcome, AwsCall, Collected, Observation, ObservedEvent,
    RejectionKind, TokenRejection, UserDataResult,
};
use crate::plan::{Cni, Plan, UserDataEngine, UserDataPlan};
use crate::vocabulary::phase::Phase;
use crate::vocabulary::service::Service;

pub(super) const NAME: &str = "ip-192-168-40-16.eu-west-1.compute.internal";
pub(super) const ID: &str = "i-0b22a22eec53b9321";
pub(super) const HOST: &str = "0123456789ABCDEF0123456789ABCDEF.gr7.eu-west-1.eks.amazonaws.com";

pub(super) fn plan_with(user_data: &str) -> Plan {
    let user_data = UserDataPlan {
        engine: UserDataEngine::CloudInit,
        base64: STANDARD.encode(user_data),
        gzip: false,
        replace: None,
        is_translated: false,
    };
    Plan {
        user_data: Some(user_data),
        ..crate::testing::plan()
    }
}

pub(super) fn plan() -> Plan {
    plan_with("#!/bin/bash\n/etc/eks/bootstrap.sh {{ cluster.name }}\n")
}

pub(super) fn kubelet(message: &str) -> ObservedEvent {
    journal("kubelet.service", "kubelet", message)
}

pub(super) fn systemd(unit: &str, message: &str) -> ObservedEvent {
    journal(unit, "systemd", message)
}

pub(super) fn cloud(message: &str) -> ObservedEvent {
    journal("cloud-final.service", "cloud-init", message)
}

pub(super) fn done(source: &str) -> ObservedEvent {
    cloud(&format!(
        "Cloud-init v. 22.4.2 finished at Sat, 21 Nov 2026 10:00:00 +0000. Datasource {source}.  Up 4.20 seconds"
    ))
}

pub(super) fn call(service: Service, operation: &str, status: u16, error: &str) -> ObservedEvent {
    let error = Some(error.to_owned()).filter(|error| !error.is_empty());
    ObservedEvent::Aws(AwsCall {
        error,
        subject: Some("demo".into()),
        ..aws(service, operation, status)
    })
}

pub(super) fn refused(kind: RejectionKind, reason: &str) -> ObservedEvent {
    refused_with(TokenRejection::new(kind, reason))
}

pub(super) fn refused_with(rejection: TokenRejection) -> ObservedEvent {
    ObservedEvent::Authentication(Authentication {
        arn: Some("arn:aws:sts::111122223333:assumed-role/demo-role/i-0b22a22eec53b9321".into()),
        canonical_arn: Some("arn:aws:iam::111122223333:role/demo-role".into()),
        outcome: AuthenticationOutcome::Refused(rejection),
    })
}

pub(super) fn token_accepted(username: &str, groups: &[&str]) -> ObservedEvent {
    ObservedEvent::Authentication(Authentication {
        arn: None,
        canonical_arn: Some("arn:aws:iam::111122223333:role/demo-role".into()),
        outcome: AuthenticationOutcome::Accepted {
            username: username.into(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        },
    })
}

pub(super) fn audit(verb: &str, resource: &str, code: u16, username: &str, message: &str) -> ObservedEvent {
    ObservedEvent::Audit(Audit {
        verb: verb.into(),
        resource: resource.into(),
        namespace: None,
        name: Some(NAME.into()),
        username: username.into(),
        groups: vec!["system:nodes".into()],
        code,
        message: Some(message.into()),
        object: None,
    })
}

/// A join up to the kubelet's first line.
pub(super) fn started() -> Vec<ObservedEvent> {
    join().into_iter().take(5).collect()
}

pub(super) fn diagnosed(plan: &Plan, events: Vec<ObservedEvent>) -> Diagnosis {
    diagnose(plan, &observed(events)).expect("a diagnosis")
}
