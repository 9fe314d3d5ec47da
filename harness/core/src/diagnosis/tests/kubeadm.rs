//! Joins by kubeadm that stopped.

use super::*;
use crate::plan::bootstrap_token::{BootstrapToken, DEFAULT_GROUP, TokenUsage};

fn token() -> BootstrapToken {
    BootstrapToken {
        token: "abcdef.0123456789abcdef".parse().unwrap(),
        expires_seconds: None,
        deleted: false,
        usages: TokenUsage::ALL.to_vec(),
        groups: vec![DEFAULT_GROUP.to_owned()],
    }
}

fn plan_of(token: BootstrapToken) -> Plan {
    let mut plan = plan_with("#!/bin/bash\nkubeadm join --token {{ cluster.bootstrap_token }} x:443\n");
    plan.cluster.bootstrap_tokens = vec![token];
    plan
}

fn seen(name: &str, code: u16) -> ObservedEvent {
    let ObservedEvent::Audit(audit) = audit("get", "configmaps", code, "system:anonymous", "") else {
        unreachable!("that is what it makes");
    };
    ObservedEvent::Audit(Audit {
        name: Some(name.to_owned()),
        groups: vec!["system:unauthenticated".to_owned()],
        message: None,
        ..audit
    })
}

/// Booted, metadata, and these.
fn after_boot(whats: Vec<ObservedEvent>) -> Vec<ObservedEvent> {
    let mut all: Vec<ObservedEvent> = join().into_iter().take(2).collect();
    all.extend(whats);
    all
}

#[test]
fn a_hash_of_another_ca_is_told_with_the_right_one() {
    let said = cloud(
        "error execution phase preflight: couldn't validate the identity of the API Server: cluster CA found in cluster-info \
         ConfigMap is invalid: none of the public keys \"sha256:0f1e\" are pinned",
    );
    let told = told(
        &plan_of(token()),
        after_boot(vec![seen("cluster-info", 200), said]),
    );
    assert_eq!(
        (told.cause, told.phase),
        (Cause::CaCertHashMismatch, Some(Phase::Metadata))
    );
    assert!(words(&told).contains("CA is sha256:0f1e"), "{told:?}");
}

#[test]
fn a_token_that_signs_nothing_is_told_before_kubeadm_says_it() {
    for (changed, cause, because) in [
        (
            BootstrapToken {
                deleted: true,
                ..token()
            },
            Cause::BootstrapTokenUnknown,
            "abcdef was deleted before",
        ),
        (
            BootstrapToken {
                usages: vec![TokenUsage::Authentication],
                ..token()
            },
            Cause::BootstrapTokenUnknown,
            "has no `usage-bootstrap-signing`",
        ),
        (
            BootstrapToken {
                expires_seconds: Some(-60.0),
                ..token()
            },
            Cause::BootstrapTokenExpired,
            "abcdef has expired",
        ),
    ] {
        let told = told(&plan_of(changed), after_boot(vec![seen("cluster-info", 200)]));
        assert_eq!(told.cause, cause, "{told:?}");
        assert!(words(&told).contains(because), "{told:?}");
    }
}

#[test]
fn a_token_that_stands_in_user_data_and_not_in_the_cluster_is_unknown() {
    let plan = Plan {
        cluster: plan_of(token()).cluster,
        ..plan_with("#!/bin/bash\nkubeadm join --token 123456.0123456789abcdef x:443\n")
    };
    let told = told(&plan, after_boot(vec![seen("cluster-info", 200)]));
    assert_eq!(told.cause, Cause::BootstrapTokenUnknown);
    assert!(words(&told).contains("no bootstrap token 123456"), "{told:?}");
}

#[test]
fn a_cluster_that_was_not_made_ready_for_kubeadm_says_so() {
    let told = told(&plan_of(token()), after_boot(vec![seen("cluster-info", 403)]));
    assert!(
        words(&told).contains("may not read ConfigMap kube-public/cluster-info (403)"),
        "{told:?}"
    );
}

#[test]
fn a_token_that_is_taken_for_nobody_says_why() {
    let whats = || after_boot(vec![seen("cluster-info", 200), seen("/api/v1/nodes", 401)]);
    for (changed, cause, because) in [
        (
            BootstrapToken {
                usages: vec![TokenUsage::Signing],
                ..token()
            },
            Cause::BootstrapTokenRefused,
            "no `usage-bootstrap-authentication`",
        ),
        (
            token(),
            Cause::BootstrapTokenRefused,
            "takes the bootstrap token abcdef for nobody",
        ),
        (
            BootstrapToken {
                expires_seconds: Some(2.5),
                ..token()
            },
            Cause::BootstrapTokenExpired,
            "abcdef has expired",
        ),
    ] {
        let told = told(&plan_of(changed), whats());
        assert_eq!(told.cause, cause, "{told:?}");
        assert!(words(&told).contains(because), "{told:?}");
    }
}

#[test]
fn what_kubeadm_reads_with_a_token_is_not_the_kubelets() {
    let plan = plan_of(token());
    let read = audit("get", "configmaps", 200, "system:bootstrap:abcdef", "");
    assert_eq!(
        diagnose(&plan, &observed(after_boot(vec![read]))).unwrap().phase,
        Some(Phase::Metadata)
    );
    let asked = audit(
        "create",
        "certificatesigningrequests",
        201,
        "system:bootstrap:abcdef",
        "",
    );
    let phase = diagnose(&plan, &observed(after_boot(vec![asked]))).unwrap().phase;
    assert_eq!(phase, Some(Phase::Authenticated));
}
