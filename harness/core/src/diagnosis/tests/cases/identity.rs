//! Who the node is to the authenticator and to the API server.

use super::*;
use crate::observation::{MappingProblem, TokenRejection};
use crate::plan::RoleMapping;
use crate::plan::access_entry::{AccessEntry, AccessEntryFile, AccessEntryType};
use crate::plan::aws::AuthenticationMode as Mode;

const ROLE: &str = "arn:aws:iam::111122223333:role/demo-role";

fn unmapped(name: &'static str) -> Case {
    let reason = format!("ARN is not mapped: {ROLE}");
    Case::new(name, after_start([refused(RejectionKind::NotMapped, &reason)]))
}

fn with_rows(name: &'static str, arns: &[&str]) -> Case {
    let row = |arn: &&str| RoleMapping {
        rolearn: (*arn).to_owned(),
        ..RoleMapping::default()
    };
    let rows = arns.iter().map(row).collect();
    unmapped(name).plan(|plan| plan.cluster.aws_auth = rows)
}

/// Sets the mode, and gives the role an access entry of this type; a mode with entries alone keeps the row of
/// `aws-auth`.
fn with_entry(case: Case, mode: Mode, entry: Option<AccessEntryType>) -> Case {
    case.plan(|plan| {
        let entry = entry.map(|entry_type| AccessEntryFile {
            role: Some("demo-role".into()),
            entry_type,
            ..AccessEntryFile::default()
        });
        let entry = entry.map(|file| AccessEntry::of(file, &plan.account, &plan.region));
        plan.cluster.access_entries = entry.into_iter().collect();
        plan.cluster.authentication_mode = mode;
        if mode != Mode::Api {
            plan.cluster.aws_auth.clear();
        }
    })
}

fn as_user(groups: &[&str]) -> ObservedEvent {
    token_accepted("builder", groups)
}

fn without_groups(name: &'static str) -> Case {
    Case::new(
        name,
        after_start([
            as_user(&["builders"]),
            audit("create", "nodes", 403, "builder", "nodes is forbidden"),
        ]),
    )
}

fn not_modified(node: &str, claimed: &str) -> String {
    format!("nodes \"{claimed}\" is forbidden: node \"{node}\" is not allowed to modify node \"{claimed}\"")
}

fn name_refused(name: &'static str, node: &str, claimed: &str) -> Case {
    let message = not_modified(node, claimed);
    let user = format!("system:node:{node}");
    Case::new(
        name,
        after_token([audit("create", "nodes", 403, &user, &message)]),
    )
}

fn for_another_cluster(name: &'static str) -> Case {
    let reason = "sts getCallerIdentity failed: error from AWS (expected 200, got 403)";
    Case::new(name, after_start([refused(RejectionKind::Signature, reason)]))
}

fn expired(name: &'static str, message: &str) -> Case {
    Case::new(name, after_start([refused(RejectionKind::Expired, message)]))
}

fn roles() -> Vec<Case> {
    let unread = "mapRoles: did not find expected ',' or ']' at line 3 column 1";
    let unread = MappingProblem::UnreadableRows(vec![unread.to_owned()]);
    let refused_for = |problem| {
        let rejection = TokenRejection::new(RejectionKind::NotMapped, "the authenticator's message");
        after_start([refused_with(rejection.with_problem(problem))])
    };
    let linux = Some(AccessEntryType::Ec2Linux);
    vec![
        unmapped("role without a row"),
        with_rows("aws-auth without rows", &[]),
        with_rows(
            "row of a similar name",
            &["arn:aws:iam::1:role/other", "arn:aws:iam::1:role/demo-roel"],
        ),
        with_rows(
            "row with a path",
            &["arn:aws:iam::111122223333:role/path/demo-role"],
        ),
        Case::new("aws-auth that cannot be parsed", refused_for(unread)),
        with_entry(unmapped("entry in the mode CONFIG_MAP"), Mode::ConfigMap, linux),
        with_entry(unmapped("nothing in the mode CONFIG_MAP"), Mode::ConfigMap, None),
        with_entry(unmapped("row in the mode API"), Mode::Api, None),
        with_entry(unmapped("nothing in the mode API"), Mode::Api, None)
            .plan(|plan| plan.cluster.aws_auth.clear()),
        with_entry(
            unmapped("nothing in the mode API_AND_CONFIG_MAP"),
            Mode::ApiAndConfigMap,
            None,
        ),
        with_entry(
            Case::new(
                "entry of a deleted role",
                refused_for(MappingProblem::EntryOfDeletedRole),
            ),
            Mode::Api,
            linux,
        ),
    ]
}

fn tokens() -> Vec<Case> {
    vec![
        for_another_cluster("signature of another cluster"),
        for_another_cluster("name and flag without a blank")
            .user_data("#!/bin/bash\n/etc/eks/bootstrap.sh demo--use-max-pods false\n"),
        Case::new(
            "region that is a placeholder",
            after_start([refused(
                RejectionKind::Signature,
                "unexpected hostname: sts.aws_region.amazonaws.com is not an STS host name",
            )]),
        ),
        for_another_cluster("cluster that the user data passes to the script")
            .user_data("#!/bin/bash\n/etc/eks/bootstrap.sh \\\n  'other'\n"),
        for_another_cluster("cluster that the user data assigns")
            .user_data("#!/bin/bash\nCLUSTER_NAME=other\nx\n"),
        expired("presigned URL that expired", "token expired"),
        expired(
            "clock behind",
            "Signature expired: 20261121T184000Z is now earlier than 20261121T185500Z (20261121T190000Z - 5 min.)",
        ),
        expired(
            "clock ahead",
            "Signature not yet current: 20261201T001000Z is still later than 20261201T000500Z (20261201T000000Z + 5 min.)",
        ),
        expired("clock without times", "X-Amz-Date parameter is expired"),
        Case::new(
            "clock of the scenario",
            after_start([call(Service::Ec2, "DescribeInstances", 400, "RequestExpired")]),
        )
        .plan(|plan| plan.instance.clock_ahead_seconds = -1200),
        Case::new(
            "malformed token",
            after_start([refused(
                RejectionKind::Malformed,
                "input token was not properly formatted",
            )]),
        ),
        Case::new(
            "template that cannot be filled",
            after_start([refused(RejectionKind::Template, "failed to find node")]),
        ),
        Case::new(
            "STS that throttles",
            after_start([refused(RejectionKind::Throttled, "Rate exceeded")]),
        ),
        Case::new(
            "authenticator that is down",
            after_start([refused(RejectionKind::Down, "the authenticator is down")]),
        ),
        Case::new(
            "401 without a token",
            after_start([kubelet(
                "E1121 10:00:00.000001     321 reflector.go:138] Failed to list *v1.Node: Unauthorized",
            )]),
        ),
        Case::new(
            "credential plugin without a token",
            after_start([kubelet(
                "E1121 10:00:00.000001     321 reflector.go:138] Failed to list *v1.Node: getting credentials: exec: executable \
                 aws-iam-authenticator not found",
            )]),
        ),
    ]
}

fn names() -> Vec<Case> {
    let registering = format!(
        "E1121 x] Unable to register node \"{NAME}\" with API server: {}",
        not_modified("other", NAME)
    );
    let two_rows = |plan: &mut Plan| plan.cluster.aws_auth.push(plan.cluster.aws_auth[0].clone());
    vec![
        without_groups("row without the group of nodes"),
        without_groups("two rows for one role").plan(two_rows),
        with_entry(
            without_groups("entry of a type for people"),
            Mode::Api,
            Some(AccessEntryType::Standard),
        ),
        Case::new("no groups at all", after_start([as_user(&[])])),
        name_refused("user of another node", "other", NAME),
        name_refused("node called by its instance id", NAME, ID),
        name_refused("node called by its host name", NAME, "ip-192-168-40-16"),
        Case::new("name that aws-auth fixes", after_token([kubelet(&registering)]))
            .plan(|plan| plan.cluster.aws_auth[0].username = "system:node:other".into()),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    [roles(), tokens(), names()].into_iter().flatten().collect()
}
