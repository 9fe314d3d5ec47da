//! The role of an instance profile or of a node group, its trust and its policies.

use super::template::Template;
use crate::cluster_access::role_name;
use crate::machine::{StandIn, Traits};
use crate::role_rights::{RoleRights, allowed_actions, trusts_ec2};
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
    traits.role_rights = rights(template, resource, traits.role.as_deref());
}

/// What the template states about the role of a node group. `field`: its `NodeRole`.
pub(super) fn group_rights(template: &Template<'_>, field: &Tree) -> RoleRights {
    let arn = template.text_of(field).unwrap_or_default();
    let name = role_name(&arn).filter(|name| !name.is_empty());
    rights(template, template.referred(field), name)
}

/// What a template states about a role with this name.
fn rights(template: &Template<'_>, role: Option<&Tree>, name: Option<&str>) -> RoleRights {
    let properties = role.and_then(|role| role.get("Properties"));
    let found = properties.and_then(|properties| policies(template, properties, name));
    let (policies, actions) = found.unzip();
    RoleRights {
        trusts_ec2: properties.and_then(|properties| trust(template, properties)),
        policies,
        actions: actions.unwrap_or_default(),
    }
}

fn trust(template: &Template<'_>, properties: &Tree) -> Option<bool> {
    let policy = properties.get("AssumeRolePolicyDocument")?;
    trusts_ec2(&template.evaluate(policy).ok()?)
}

/// The managed policies that the template attaches to a role with this name, and the actions that the policies inside
/// of the role allow, if it attaches no others.
fn policies(
    template: &Template<'_>,
    properties: &Tree,
    name: Option<&str>,
) -> Option<(Vec<String>, Vec<String>)> {
    let mut resources = template.resources().iter();
    let has_more = resources.any(|(_, resource)| {
        let kind = resource.text_at(&["Type"]).unwrap_or_default();
        POLICIES.contains(&kind.as_str()) && may_be_for(template, resource, name)
    });
    if has_more {
        return None;
    }
    let own = list(template, properties.get("Policies"))?;
    let own = own
        .iter()
        .map(|policy| allowed_actions(policy.get("PolicyDocument")?));
    let own: Option<Vec<Vec<String>>> = own.collect();
    let arns = list(template, properties.get("ManagedPolicyArns"))?;
    let arns = arns.iter().map(|arn| arn.text().map(str::to_owned));
    Some((arns.collect::<Option<_>>()?, own?.concat()))
}

/// The items of a list; none if it is missing. `None`: the list is not known.
fn list(template: &Template<'_>, field: Option<&Tree>) -> Option<Vec<Tree>> {
    let Some(field) = field else {
        return Some(Vec::new());
    };
    let value = template.evaluate(field).ok()?;
    let is_known = value.is_null() || !value.is_map();
    is_known.then(|| value.items().to_vec())
}

/// Whether a policy can be one of the role with this name.
fn may_be_for(template: &Template<'_>, policy: &Tree, name: Option<&str>) -> bool {
    let properties = policy.get("Properties");
    let mut roles = ["Roles", "RoleName"]
        .iter()
        .filter_map(|key| properties?.get(key));
    roles.any(|roles| match (template.evaluate(roles), name) {
        (Ok(known), Some(_)) if known.items().is_empty() => known.text() == name,
        (Ok(known), Some(_)) => known.items().iter().any(|item| item.text() == name),
        (Err(_), _) | (_, None) => true,
    })
}
