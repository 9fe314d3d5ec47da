//! The role of an instance profile or of a node group, its trust and its policies.

use super::groups::{PROFILE, instance_profile};
use super::resource::{PulumiResource, PulumiStack};
use crate::role_rights::{RoleRights, trusts_ec2};
use crate::tree::json;

const ROLE: &str = "aws:iam/role:Role";
const ATTACHMENT: &str = "aws:iam/rolePolicyAttachment:RolePolicyAttachment";
/// Resources that give roles further policies.
const POLICIES: [&str; 6] = [
    "aws:iam/rolePolicy:RolePolicy",
    "aws:iam/policyAttachment:PolicyAttachment",
    "aws:iam/rolePoliciesExclusive:RolePoliciesExclusive",
    "aws:iam/rolePolicyAttachmentsExclusive:RolePolicyAttachmentsExclusive",
    "aws-native:iam:RolePolicy",
    "aws-native:iam:ManagedPolicy",
];

/// The role of the resource's instance profile, if the stack has both, and what the stack states about it.
pub(super) fn role(stack: &PulumiStack<'_>, resource: &PulumiResource<'_>) -> Option<(String, RoleRights)> {
    let named = instance_profile(resource);
    let is_profile = |profile: &&PulumiResource<'_>| match &named {
        Some(named) => ["arn", "name", "id"]
            .iter()
            .any(|key| profile.text(&[key]).as_ref() == Some(named)),
        None => resource.depends_on(PROFILE, profile),
    };
    let profile = stack
        .of_kind("aws:iam/instanceProfile:InstanceProfile")
        .find(is_profile)?;
    let mut roles = stack.of_kind(ROLE);
    let Some(role) = roles.find(|role| profile.refers(&["role"], role, &["name", "id", "arn"])) else {
        return Some((profile.text(&["role"])?, RoleRights::default()));
    };
    let stated = role.text(&["arn"]).or_else(|| role.text(&["name"]));
    let rights = rights(stack, role);
    Some((stated.or_else(|| profile.text(&["role"]))?, rights))
}

/// What the stack states about the role of a node group.
pub(super) fn group_rights(stack: &PulumiStack<'_>, group: &PulumiResource<'_>) -> RoleRights {
    let mut roles = stack.of_kind(ROLE);
    let role = roles.find(|role| group.refers(&["nodeRoleArn"], role, &["arn"]));
    role.map(|role| rights(stack, role)).unwrap_or_default()
}

fn rights(stack: &PulumiStack<'_>, role: &PulumiResource<'_>) -> RoleRights {
    RoleRights {
        trusts_ec2: trust(role),
        policies: policies(stack, role),
        ..RoleRights::default()
    }
}

fn trust(role: &PulumiResource<'_>) -> Option<bool> {
    match role
        .inputs
        .get("assumeRolePolicy")
        .filter(|policy| policy.is_map())
    {
        Some(document) => trusts_ec2(document),
        None => trusts_ec2(&json(&role.text(&["assumeRolePolicy"])?).ok()?),
    }
}

/// The policies that the stack attaches to a role, if all of them are managed ones.
fn policies(stack: &PulumiStack<'_>, role: &PulumiResource<'_>) -> Option<Vec<String>> {
    let has_own = !role.is_empty("inlinePolicies");
    let mut more = POLICIES.iter().flat_map(|kind| stack.of_kind(kind));
    if has_own || more.any(|policy| is_for(policy, role) != Some(false)) {
        return None;
    }
    let attached = stack
        .of_kind(ATTACHMENT)
        .filter_map(|attachment| match is_for(attachment, role) {
            Some(false) => None,
            Some(true) => Some(attachment.text(&["policyArn"])),
            None => Some(None),
        });
    attached.chain(role.texts("managedPolicyArns")).collect()
}

/// Whether a policy is one of the role. `None`: the stack does not tell.
fn is_for(policy: &PulumiResource<'_>, role: &PulumiResource<'_>) -> Option<bool> {
    if policy.text(&["role"]).is_some() {
        return Some(policy.refers(&["role"], role, &["name", "id", "arn"]));
    }
    match policy.depends_on("role", role) {
        true => Some(true),
        // The value of another resource is another role.
        false => policy.depends_on_any("role").then_some(false),
    }
}
