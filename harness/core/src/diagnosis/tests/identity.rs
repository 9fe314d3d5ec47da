//! What a diagnosis names of a node that is not known, or not as itself.

use super::*;

#[test]
fn a_role_that_is_almost_mapped_is_named_first() {
    let mut plan = plan();
    let row = |arn: &str| crate::plan::RoleMapping {
        rolearn: arn.into(),
        ..Default::default()
    };
    let refusal = || {
        let mut whats = started();
        whats.push(refused(Refusal::NotMapped, "not mapped"));
        whats
    };
    plan.cluster.aws_auth = vec![
        row("arn:aws:iam::1:role/other"),
        row("arn:aws:iam::1:role/demo-roel"),
    ];
    assert!(
        told(&plan, refusal())
            .remedy
            .ends_with("to one of: demo-roel, other")
    );
    plan.cluster.aws_auth = vec![row("arn:aws:iam::111122223333:role/path/demo-role")];
    assert!(told(&plan, refusal()).because.contains("has the role's path"));
    plan.cluster.aws_auth = vec![];
    assert!(told(&plan, refusal()).remedy.contains("which has none"));
}

/// The mode, whether the role has an entry, what the authenticator says, and what is told.
#[test]
fn access_entries_that_do_not_help_are_named() {
    use crate::plan::access_entry::{AccessEntry, AccessEntryFile, AccessEntryType};
    use crate::plan::aws::AuthenticationMode as Mode;
    let former = format!("{}: x", crate::observation::OTHER_PRINCIPAL);
    let table = [
        (
            Mode::ConfigMap,
            true,
            "x",
            "has an access entry (EC2_LINUX), which counts for nothing",
            "authenticationMode=API_AND_CONFIG_MAP",
        ),
        (
            Mode::ConfigMap,
            false,
            "x",
            "is in no mapRoles row",
            "add a row for",
        ),
        (
            Mode::Api,
            false,
            "x",
            "has a row in kube-system/aws-auth, which counts for nothing",
            "--type EC2_LINUX",
        ),
        (
            Mode::ApiAndConfigMap,
            false,
            "x",
            "has no access entry, and is in no mapRoles row",
            "create-access-entry",
        ),
        (
            Mode::Api,
            true,
            former.as_str(),
            "of a role of the same name that was deleted",
            "delete-access-entry",
        ),
    ];
    for (mode, has_entry, reason, because, remedy) in table {
        let mut plan = plan();
        let file = AccessEntryFile {
            role: Some("demo-role".into()),
            entry_type: AccessEntryType::Ec2Linux,
            ..Default::default()
        };
        let entry = has_entry.then(|| AccessEntry::of(file, &plan.account, &plan.region));
        plan.cluster.access_entries = entry.into_iter().collect();
        plan.cluster.authentication_mode = mode;
        if mode != Mode::Api {
            plan.cluster.aws_auth = vec![];
        }
        let mut whats = started();
        whats.push(refused(Refusal::NotMapped, reason));
        let diagnosis = told(&plan, whats);
        assert!(
            diagnosis.because.contains(because),
            "{mode:?}: {}",
            diagnosis.because
        );
        assert!(
            diagnosis.remedy.contains(remedy),
            "{mode:?}: {}",
            diagnosis.remedy
        );
    }
}

#[test]
fn an_aws_auth_that_cannot_be_read_is_told_with_what_is_wrong_in_it() {
    let mut whats = started();
    let unread = "mapRoles: did not find expected ',' or ']' at line 3 column 1";
    let reason = format!("ARN is not mapped: x{}{unread}", crate::observation::UNREADABLE);
    whats.push(refused(Refusal::NotMapped, &reason));
    let diagnosis = told(&plan(), whats);
    assert_eq!(diagnosis.cause, Cause::RoleNotMapped);
    assert!(diagnosis.because.ends_with(unread), "{}", diagnosis.because);
    assert!(diagnosis.remedy.contains("mend the YAML"), "{}", diagnosis.remedy);
}

#[test]
fn a_row_that_makes_no_node_is_told_with_how_many_there_are() {
    let mut plan = plan();
    let accepted = |groups: &[&str]| {
        ObservedEvent::Authentication(Authentication {
            accepted: true,
            arn: None,
            canonical_arn: Some("arn:aws:iam::111122223333:role/demo-role".into()),
            username: Some("builder".into()),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            refusal: None,
            reason: None,
        })
    };
    let mut whats = started();
    whats.push(accepted(&["builders"]));
    whats.push(audit("create", "nodes", 403, "builder", "nodes is forbidden"));
    let diagnosis = told(&plan, whats.clone());
    assert_eq!(diagnosis.cause, Cause::GroupsMissing);
    assert_eq!(
        words(&diagnosis),
        "the row of arn:aws:iam::111122223333:role/demo-role in kube-system/aws-auth gives builder the groups builders, and not \
         system:nodes | audit log, 6.0 s: create nodes as builder: 403 nodes is forbidden | give the row of \
         arn:aws:iam::111122223333:role/demo-role the groups system:bootstrappers and system:nodes"
    );
    plan.cluster.aws_auth.push(plan.cluster.aws_auth[0].clone());
    let diagnosis = told(&plan, whats.clone());
    assert!(
        diagnosis.because.contains("has 2 rows for"),
        "{}",
        diagnosis.because
    );
    assert!(
        diagnosis.remedy.starts_with("leave one row"),
        "{}",
        diagnosis.remedy
    );
    whats.push(accepted(&["system:nodes"]));
    assert_ne!(told(&plan, whats).cause, Cause::GroupsMissing);
}

#[test]
fn the_other_cluster_is_named_from_the_user_data() {
    let mut whats = started();
    whats.push(refused(Refusal::Signature, "403"));
    for user_data in [
        "#!/bin/bash\n/etc/eks/bootstrap.sh other --x y\n",
        "#!/bin/bash\nCLUSTER_NAME=other\nx\n",
        "#!/bin/bash\n/etc/eks/bootstrap.sh \\\n  'other'\n",
    ] {
        let diagnosis = told(&plan_with(user_data), whats.clone());
        assert_eq!(
            diagnosis.because, "the token was made for the cluster `other`, and this one is `demo`",
            "{user_data}"
        );
    }
}

#[test]
fn a_name_that_aws_auth_fixes_is_told_with_its_row() {
    let mut plan = plan();
    plan.cluster.aws_auth[0].username = "system:node:other".into();
    let mut whats = started();
    whats.extend([accepted(), kubelet(&format!("E1121 x] Unable to register node \"{NAME}\" with API server: nodes \"{NAME}\" is forbidden: node \"other\" is not allowed to modify node \"{NAME}\""))]);
    let diagnosis = told(&plan, whats);
    assert_eq!(
        diagnosis.because,
        format!("the kubelet registers as {NAME}, and to the API server it is system:node:other")
    );
    assert_eq!(
        diagnosis.remedy,
        "write `system:node:{{EC2PrivateDNSName}}` as username in the aws-auth row of `demo-role`"
    );
}

#[test]
fn a_call_that_aws_denies_is_no_401_of_the_api_server() {
    let mut whats = started();
    let denied = "F1121 11:23:05.288171     280 server.go:269] failed to run Kubelet: could not init cloud provider \"aws\": \
        error listing AWS instances: \"UnauthorizedOperation: You are not authorized to perform this operation.\"";
    whats.extend([
        call(Service::Ec2, "DescribeInstances", 403, "UnauthorizedOperation"),
        kubelet(denied),
    ]);
    assert_eq!(told(&plan(), whats).cause, Cause::AccessDenied);
}

#[test]
fn a_refused_node_is_told_by_the_kubelet_where_the_audit_log_has_no_reason() {
    let mut whats = started();
    let ObservedEvent::Audit(audit) = audit("create", "nodes", 422, "system:node:x", "") else {
        unreachable!("it is an audit event")
    };
    let bare = ObservedEvent::Audit(Audit {
        message: None,
        ..audit
    });
    whats.extend([accepted(), bare]);
    assert!(
        told(&plan(), whats.clone())
            .because
            .ends_with("422, without a reason")
    );
    whats.push(kubelet(&format!(
        "E1121 11:27:33.888033     282 kubelet_node_status.go:93] Unable to register node \"{NAME}\" with API server: \
         Node \"{NAME}\" is invalid: metadata.labels: Invalid value: \"has/slash\": a valid label must be (e.g. 'MyValue')"
    )));
    let diagnosis = told(&plan(), whats);
    assert_eq!(
        diagnosis.because,
        "the API server refuses the Node object: metadata.labels: Invalid value: \"has/slash\": a valid label must be"
    );
    assert!(diagnosis.remedy.contains("--node-labels"));
}
