//! The policies of roles, as far as a file attaches them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{SCRIPT, base64, machine};
use crate::adopt;

/// A resource of Terraform.
fn resource(kind: &str, name: &str, values: Value) -> Value {
    json!({"address": format!("{kind}.{name}"), "type": kind, "name": name, "values": values})
}

/// A resource of Pulumi, whose id is its name.
fn pulumi(kind: &str, name: &str, inputs: Value) -> Value {
    json!({"urn": format!("urn:pulumi:dev::p::{kind}::{name}"), "type": kind, "inputs": inputs, "outputs": {"id": name}})
}

#[test]
fn a_policy_that_the_file_may_attach_is_not_missed() {
    let report_of = |role: Value, more: Vec<Value>, written: Value| {
        let mut values = json!({"name": "nodes"});
        values
            .as_object_mut()
            .unwrap()
            .extend(role.as_object().unwrap().clone());
        let template = json!({"name": "w", "image_id": "ami-0123456789abcdef0", "iam_instance_profile": [{"name": "p"}],
            "user_data": base64(SCRIPT)});
        let cni = json!({"role": "nodes", "policy_arn": "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"});
        let mut resources = vec![
            resource("aws_launch_template", "w", template),
            resource(
                "aws_iam_instance_profile",
                "p",
                json!({"name": "p", "role": "nodes"}),
            ),
            resource("aws_iam_role", "r", values),
            resource("aws_iam_role_policy_attachment", "a", cni),
        ];
        resources.extend(more);
        let changes = json!([{"address": "aws_iam_role.r",
            "change": {"actions": ["create"], "after_unknown": {"inline_policy": true, "managed_policy_arns": true}}}]);
        let own = json!({"address": "aws_iam_role.r", "expressions": written});
        let text = json!({"format_version": "1.2", "planned_values": {"root_module": {"resources": resources}},
            "resource_changes": changes, "configuration": {"root_module": {"resources": [own]}}});
        let trial = adopt(&machine(&text.to_string()), &BTreeMap::new()).unwrap();
        trial
            .report
            .iter()
            .map(|line| format!("{}\n", line.text))
            .collect::<String>()
    };
    let none = || json!({});
    let note = "this file attaches no policy to the role";
    // The provider computes attributes that nothing sets.
    assert!(report_of(none(), Vec::new(), none()).contains(note));
    let of_role = |kind: &str, values: Value| vec![resource(kind, "x", values)];
    for (role, more, written) in [
        (
            none(),
            Vec::new(),
            json!({"managed_policy_arns": {"references": ["var.arns"]}}),
        ),
        (json!({"inline_policy": [{"name": "x"}]}), Vec::new(), none()),
        (
            none(),
            of_role("aws_iam_role_policy", json!({"role": "nodes"})),
            none(),
        ),
        (
            none(),
            of_role("aws_iam_policy_attachment", json!({"roles": ["nodes"]})),
            none(),
        ),
        (
            none(),
            of_role(
                "aws_iam_role_policy_attachments_exclusive",
                json!({"role_name": "nodes"}),
            ),
            none(),
        ),
        // One whose ARN or role is known after apply.
        (
            none(),
            of_role("aws_iam_role_policy_attachment", json!({"role": "nodes"})),
            none(),
        ),
        (
            none(),
            of_role(
                "aws_iam_role_policy_attachment",
                json!({"policy_arn": "arn:aws:iam::aws:policy/X"}),
            ),
            none(),
        ),
    ] {
        let found = report_of(role, more.clone(), written);
        assert!(!found.contains(note), "{more:?} {found}");
    }
}

#[test]
fn a_role_has_the_policies_that_the_stack_attaches() {
    const TEMPLATE: &str = "aws:ec2/launchTemplate:LaunchTemplate";
    const PROFILE: &str = "aws:iam/instanceProfile:InstanceProfile";
    /// In place of a value that is known after the update only.
    const UNKNOWN: &str = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
    const ROLE: &str = "aws:iam/role:Role";
    const ATTACHMENT: &str = "aws:iam/rolePolicyAttachment:RolePolicyAttachment";
    let arn = |name: &str| format!("arn:aws:iam::aws:policy/{name}");
    let trust = json!({"Statement": [{"Effect": "Allow", "Principal": {"Service": "eks.amazonaws.com"}}]});
    let of = |role: Value, more: Vec<Value>| {
        let mut inputs = json!({"name": "nodes", "assumeRolePolicy": trust.to_string()});
        inputs
            .as_object_mut()
            .unwrap()
            .extend(role.as_object().unwrap().clone());
        let mut resources = vec![
            pulumi(
                TEMPLATE,
                "lt",
                json!({"userData": base64(SCRIPT), "imageId": "ami-1", "iamInstanceProfile": {"name": "p"}}),
            ),
            pulumi(PROFILE, "p", json!({"name": "p", "role": "nodes"})),
            pulumi(ROLE, "nodes", inputs),
        ];
        resources.extend(more);
        let text = json!({"version": 3, "deployment": {"resources": resources}});
        machine(&text.to_string()).traits.role_rights
    };
    let attachment = |role: &str| {
        pulumi(
            ATTACHMENT,
            "a",
            json!({"role": role, "policyArn": arn("AmazonEKSWorkerNodePolicy")}),
        )
    };
    let managed = json!({"managedPolicyArns": [arn("AmazonEKS_CNI_Policy")]});
    let both = of(managed.clone(), vec![attachment("nodes"), attachment("other")]);
    assert_eq!(both.trusts_ec2, Some(false));
    assert_eq!(
        both.policies.unwrap(),
        [arn("AmazonEKSWorkerNodePolicy"), arn("AmazonEKS_CNI_Policy")]
    );
    let policy = |role: &str| pulumi("aws:iam/rolePolicy:RolePolicy", "x", json!({"role": role}));
    assert!(of(managed.clone(), vec![policy("other")]).policies.is_some());
    let unknown = |dependencies: Value| {
        let mut attachment = attachment(UNKNOWN);
        attachment["propertyDependencies"] = json!({"role": dependencies});
        attachment
    };
    let urn = |name: &str| format!("urn:pulumi:dev::p::{ROLE}::{name}");
    let attached = of(
        json!({}),
        vec![unknown(json!([urn("nodes")])), unknown(json!([urn("x")]))],
    );
    assert_eq!(attached.policies.unwrap(), [arn("AmazonEKSWorkerNodePolicy")]);
    for (role, more) in [
        (json!({"managedPolicyArns": UNKNOWN}), Vec::new()),
        (json!({"managedPolicyArns": [UNKNOWN]}), Vec::new()),
        (
            json!({"inlinePolicies": [{"name": "x", "policy": "{}"}]}),
            Vec::new(),
        ),
        (managed.clone(), vec![policy("nodes")]),
        (managed.clone(), vec![policy(UNKNOWN)]),
        (managed.clone(), vec![unknown(json!([]))]),
    ] {
        let rights = of(role, more.clone());
        assert_eq!(rights.policies, None, "{more:?}");
    }
}
