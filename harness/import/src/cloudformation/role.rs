//! The role of an instance profile, its trust and its policies.

use super::template::Template;
use crate::machine::{StandIn, Traits};
use crate::role_rights::{RoleRights, trusts_ec2};
use crate::tree::Tree;

/// Resources that give roles further policies.
const POLICIES: [&str; 3] = [
    "AWS::IAM::Policy",
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::RolePolicy",
];

/// Adds the role of the instance profile, if the template defines both.
pub(super) fn add_role(template: &Template<'_>, properties: &Tree, traits: &mut Traits) {
    let Some(field) = properties.get("IamInstanceProfile") else {
        return;
    };
    let places = [field.get("Arn"), field.get("Name"), Some(field)];
    let profile = places
        .into_iter()
        .flatten()
        .find_map(|place| template.referred(place));
    let role = profile.and_then(|profile| profile.at(&["Properties", "Roles", "0"]));
    let Some(role) = role else { return };
    traits.role = template.text_of(role).ok().filter(|name| !name.is_empty());
    let resource = template.referred(role);
    let has_name = resource.is_none_or(|resource| resource.at(&["Properties", "RoleName"]).is_some());
    if let (Some(name), false) = (&traits.role, has_name) {
        traits
            .stand_ins
            .insert(format!("role {name}"), StandIn::OnlyInAws);
    }
    let properties = resource.and_then(|resource| resource.get("Properties"));
    traits.role_rights = RoleRights {
        trusts_ec2: properties.and_then(|properties| trust(template, properties)),
        policies: properties.and_then(|properties| policies(template, properties, traits.role.as_deref())),
    };
}

fn trust(template: &Template<'_>, properties: &Tree) -> Option<bool> {
    let policy = properties.get("AssumeRolePolicyDocument")?;
    trusts_ec2(&template.evaluate(policy).ok()?)
}

/// The policies of a role with this name, if it has managed ones alone.
fn policies(template: &Template<'_>, properties: &Tree, name: Option<&str>) -> Option<Vec<String>> {
    let has_own = properties.get("Policies").is_some();
    let mut resources = template.resources().iter();
    let has_more = resources.any(|(_, resource)| {
        let kind = resource.text_at(&["Type"]).unwrap_or_default();
        POLICIES.contains(&kind.as_str()) && may_be_for(template, resource, name)
    });
    if has_own || has_more {
        return None;
    }
    let arns = template.evaluate(properties.get("ManagedPolicyArns")?).ok()?;
    let arns = arns.items().iter().map(|arn| arn.text().map(str::to_owned));
    arns.collect()
}

/// Whether a policy can be one of the role with this name.
fn may_be_for(template: &Template<'_>, policy: &Tree, name: Option<&str>) -> bool {
    let properties = policy.get("Properties");
    let mut roles = ["Roles", "RoleName"]
        .iter()
        .filter_map(|key| properties?.get(key));
    roles.any(|roles| match template.evaluate(roles) {
        Ok(known) if known.items().is_empty() => known.text() == name,
        Ok(known) => known.items().iter().any(|item| item.text() == name),
        Err(_) => true,
    })
}
