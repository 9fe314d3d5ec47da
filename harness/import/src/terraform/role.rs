//! The role of an instance profile, its trust and its policies.

use super::file::TerraformFile;
use super::resource::TerraformResource;
use crate::role_rights::{RoleRights, trusts_ec2};
use crate::tree::json;

const ATTACHMENT: [&str; 1] = ["aws_iam_role_policy_attachment"];
/// Resources that give roles further policies.
const POLICIES: [&str; 2] = ["aws_iam_role_policy", "aws_iam_policy_attachment"];

/// The role of an instance profile with this name or ARN, by its ARN or name, and what the file states about it.
pub(super) fn role(file: &TerraformFile<'_>, profile: &str) -> Option<(String, RoleRights)> {
    let mut profiles = file.of_kind(&["aws_iam_instance_profile"]);
    let found = profiles.find(|one| {
        ["arn", "name", "id"]
            .iter()
            .any(|key| one.text(&[key]).as_deref() == Some(profile))
    })?;
    let name = found.text(&["role"])?;
    let mut roles = file.of_kind(&["aws_iam_role"]);
    // A reference of Crossplane names the manifest, whose name is the id here.
    let is_role = |role: &&TerraformResource<'_>| {
        let mut names = ["name", "id"].iter().filter_map(|key| role.text(&[key]));
        names.any(|one| one == name)
    };
    let Some(role) = roles.find(is_role) else {
        return Some((name, RoleRights::default()));
    };
    let rights = RoleRights {
        trusts_ec2: trust(role),
        policies: policies(file, role, &name),
    };
    let stated = role.text(&["arn"]).or_else(|| role.text(&["name"]));
    Some((stated.unwrap_or(name), rights))
}

fn trust(role: &TerraformResource<'_>) -> Option<bool> {
    let policy = json(&role.text(&["assume_role_policy"])?).ok()?;
    trusts_ec2(&policy)
}

/// The policies of a role with this name, if the file creates the role and all of them are managed ones.
fn policies(file: &TerraformFile<'_>, role: &TerraformResource<'_>, name: &str) -> Option<Vec<String>> {
    let may_be_for = |resource: &&TerraformResource<'_>| {
        let role = resource.text(&["role"]);
        role.is_none_or(|role| role == name)
    };
    let is_read = role.address.contains("data.aws_iam_role.");
    let has_own = !role.values.items_at(&["inline_policy"]).is_empty();
    let has_more = file.of_kind(&POLICIES).any(|policy| may_be_for(&policy));
    if is_read || has_own || has_more {
        return None;
    }
    let attached = file.of_kind(&ATTACHMENT).filter(may_be_for);
    let attached = attached.map(|attachment| {
        let arn = attachment.text(&["policy_arn"])?;
        attachment.text(&["role"]).map(|_| arn)
    });
    let own = role.values.items_at(&["managed_policy_arns"]).iter();
    let own = own.map(|arn| arn.text().map(str::to_owned));
    attached.chain(own).collect()
}
