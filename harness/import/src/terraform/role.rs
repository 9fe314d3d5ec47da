//! The role of an instance profile or of a node group, its trust and its policies.

use super::file::TerraformFile;
use super::references::ReferenceTarget;
use super::resource::TerraformResource;
use crate::role_rights::{RoleRights, allowed_actions, trusts_ec2};
use crate::tree::json;

const ROLE: &str = "aws_iam_role";
const ATTACHMENT: [&str; 1] = ["aws_iam_role_policy_attachment"];
/// A resource with a policy that is inside of its role.
const INLINE: [&str; 1] = ["aws_iam_role_policy"];
/// Resources that give roles further policies.
const POLICIES: [&str; 5] = [
    "aws_iam_policy_attachment",
    "aws_iam_role_policies_exclusive",
    "aws_iam_role_policy_attachments_exclusive",
    "awscc_iam_role_policy",
    "awscc_iam_managed_policy",
];
/// Arguments of a role with policies.
const OWN_POLICIES: [&str; 2] = ["inline_policy", "managed_policy_arns"];

/// The role of an instance profile with this name or ARN, by its ARN or name, and what the file states about it.
pub(super) fn role(file: &TerraformFile<'_>, profile: &str) -> Option<(String, RoleRights)> {
    let mut profiles = file.of_kind(&["aws_iam_instance_profile"]);
    let found = profiles.find(|one| {
        ["arn", "name", "id"]
            .iter()
            .any(|key| one.text(&[key]).as_deref() == Some(profile))
    })?;
    let name = found.text(&["role"])?;
    let mut roles = file.of_kind(&[ROLE]);
    let Some(role) = roles.find(|role| is_named(role, &name)) else {
        return Some((name, RoleRights::default()));
    };
    let rights = rights(file, role);
    let stated = role.text(&["arn"]).or_else(|| role.text(&["name"]));
    Some((stated.unwrap_or(name), rights))
}

/// What the file states about the role of a node group, whose ARN can be known after apply only.
pub(super) fn group_rights(file: &TerraformFile<'_>, group: &TerraformResource<'_>) -> RoleRights {
    let mut roles = file.of_kind(&[ROLE]);
    let role = match group.text(&["node_role_arn"]) {
        Some(stated) => roles.find(|role| is_named(role, &stated)),
        None => match ReferenceTarget::of(file, group, &[&["node_role_arn"]], ROLE) {
            ReferenceTarget::Known(address) => roles.find(|role| role.address == address),
            ReferenceTarget::Unclear | ReferenceTarget::Unnamed => None,
        },
    };
    role.map(|role| rights(file, role)).unwrap_or_default()
}

fn rights(file: &TerraformFile<'_>, role: &TerraformResource<'_>) -> RoleRights {
    let (policies, actions) = policies(file, role).unzip();
    RoleRights {
        trusts_ec2: trust(role),
        policies,
        actions: actions.unwrap_or_default(),
    }
}

fn trust(role: &TerraformResource<'_>) -> Option<bool> {
    let policy = json(&role.text(&["assume_role_policy"])?).ok()?;
    trusts_ec2(&policy)
}

/// Whether this is a name of the role. A reference of Crossplane names the manifest, whose name is the id here.
fn is_named(role: &TerraformResource<'_>, name: &str) -> bool {
    let mut names = ["name", "id", "arn"].iter().filter_map(|key| role.text(&[key]));
    names.any(|one| one == name)
}

/// The managed policies that the file attaches to a role, and the actions that the policies inside of the role allow,
/// if the file creates the role and attaches no others.
fn policies(file: &TerraformFile<'_>, role: &TerraformResource<'_>) -> Option<(Vec<String>, Vec<String>)> {
    let may_be_for = |resource: &&TerraformResource<'_>| {
        let named = resource.text(&["role"]);
        named.is_none_or(|name| is_named(role, &name))
    };
    let is_read = role.address.contains("data.aws_iam_role.");
    let is_open = OWN_POLICIES.iter().any(|argument| file.may_set(role, argument));
    let has_more = file.of_kind(&POLICIES).any(|policy| may_be_for(&policy));
    if is_read || is_open || has_more {
        return None;
    }
    let inside = role.values.items_at(&["inline_policy"]).iter();
    let inside = inside.map(|block| block.text_at(&["policy"]));
    let beside = file.of_kind(&INLINE).filter(may_be_for);
    let beside = beside.map(|policy| {
        let document = policy.text(&["policy"])?;
        policy.text(&["role"]).map(|_| document)
    });
    let actions = inside
        .chain(beside)
        .map(|document| allowed_actions(&json(&document?).ok()?));
    let actions: Option<Vec<Vec<String>>> = actions.collect();
    let attached = file.of_kind(&ATTACHMENT).filter(may_be_for);
    let attached = attached.map(|attachment| {
        let arn = attachment.text(&["policy_arn"])?;
        attachment.text(&["role"]).map(|_| arn)
    });
    let own = role.values.items_at(&["managed_policy_arns"]).iter();
    let own = own.map(|arn| arn.text().map(str::to_owned));
    Some((attached.chain(own).collect::<Option<_>>()?, actions?.concat()))
}
