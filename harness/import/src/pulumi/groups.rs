//! Node groups and Auto Scaling groups that use a launch template, and the role of an instance profile.

use super::resource::{PulumiResource, PulumiStack};
use crate::architecture::is_arm64_ami_type;
use crate::ec2::{self, add_group_tags, add_group_type};
use crate::error::ImportError;
use crate::group_refusals::{GroupWithTemplate, Spelling};
use crate::machine::{CapacityType, LaunchTemplateVersion, Machine, ManagedNodeGroup, StartedBy, Traits};
use crate::words::{capacity_type, family_of_ami_type, list, taint, texts};

pub(super) const NODE_GROUP: &str = "aws:eks/nodeGroup:NodeGroup";
pub(super) const SCALING_GROUP: &str = "aws:autoscaling/group:Group";

/// Where a group names its launch template.
const TEMPLATE: &[&[&str]] = &[
    &["launchTemplate"],
    &[
        "mixedInstancesPolicy",
        "launchTemplate",
        "launchTemplateSpecification",
    ],
];
/// The keys by which a group names its launch template, each with the attribute of the template that it has.
const TEMPLATE_KEYS: [(&str, &str); 4] = [
    ("id", "id"),
    ("launchTemplateId", "id"),
    ("name", "name"),
    ("launchTemplateName", "name"),
];
/// The input of an instance or launch template with its instance profile.
const PROFILE: &str = "iamInstanceProfile";

/// The groups of this kind that start instances from the template.
pub(super) fn of_template<'s, 'a>(
    stack: &'s PulumiStack<'a>,
    kind: &str,
    template: &PulumiResource<'_>,
) -> Vec<&'s PulumiResource<'a>> {
    stack
        .of_kind(kind)
        .filter(|group| uses(group, template))
        .collect()
}

/// The error for a group that names a launch template which the stack does not have.
pub(super) fn outside(
    stack: &PulumiStack<'_>,
    kind_of_template: &str,
    group: &PulumiResource<'_>,
) -> Option<ImportError> {
    let path = template_path(group)?;
    let template = TEMPLATE_KEYS
        .iter()
        .find_map(|(key, _)| group.text(&[path, &[*key]].concat()))?;
    if stack.of_kind(kind_of_template).any(|own| uses(group, own)) {
        return None;
    }
    let what = match group.kind.as_str() {
        NODE_GROUP => "node group",
        _ => "Auto Scaling group",
    };
    Some(ImportError::InLaunchTemplate {
        line: group.inputs.line(),
        owner: format!("{what} `{}`", group.name()),
        template,
    })
}

/// The inputs of a group with its launch template.
fn template_path(group: &PulumiResource<'_>) -> Option<&'static [&'static str]> {
    let mut paths = TEMPLATE.iter().copied();
    paths.find(|path| group.inputs.at(path).is_some())
}

fn uses(group: &PulumiResource<'_>, template: &PulumiResource<'_>) -> bool {
    let Some(path) = template_path(group) else {
        return false;
    };
    let value = |key: &str| group.text(&[path, &[key]].concat());
    let mut known = TEMPLATE_KEYS
        .iter()
        .filter_map(|(key, attribute)| Some((value(key)?, attribute)))
        .peekable();
    if known.peek().is_some() {
        return known.any(|(value, attribute)| template.text(&[attribute]) == Some(value));
    }
    path.first()
        .is_some_and(|input| group.depends_on(input, template))
}

/// Whether the mixed instances of an Auto Scaling group are spot instances alone.
pub(super) fn is_all_spot(group: &PulumiResource<'_>) -> bool {
    let path = ["mixedInstancesPolicy", "instancesDistribution"];
    let keys = ["onDemandBaseCapacity", "onDemandPercentageAboveBaseCapacity"];
    ec2::is_all_spot(group.inputs.at(&path), keys)
}

/// Adds the tags that an Auto Scaling group gives its instances, and the first type of its mixed instances, which takes
/// precedence over that of its launch template.
pub(super) fn describe_scaling(group: &PulumiResource<'_>, machine: &mut Machine) {
    machine.started_by = StartedBy::ScalingGroups;
    let traits = &mut machine.traits;
    let tags = group.inputs.items_at(&["tags"]);
    add_group_tags(traits, tags, ["key", "value", "propagateAtLaunch"]);
    let overrides = ["mixedInstancesPolicy", "launchTemplate", "overrides"];
    let mut overrides = group.inputs.items_at(&overrides).iter();
    if let Some(instance_type) = overrides.find_map(|one| one.text_at(&["instanceType"])) {
        traits.instance_type = Some(instance_type);
    }
}

/// Adds what a node group states about its nodes. `has_arm64_image`: its launch template names an AMI for arm64.
pub(super) fn describe(group: &PulumiResource<'_>, traits: &mut Traits, has_arm64_image: bool) {
    let ami_type = group.text(&["amiType"]).unwrap_or_default();
    traits.ami_family = traits.ami_family.or_else(|| family_of_ami_type(&ami_type));
    traits.labels = texts(group.inputs.get("labels"));
    traits.taints = group
        .inputs
        .items_at(&["taints"])
        .iter()
        .filter_map(taint)
        .collect();
    traits.role = group.text(&["nodeRoleArn"]);
    traits.cluster.version = group.text(&["version"]);
    let instance_types = list(group.inputs.items_at(&["instanceTypes"]));
    let is_arm64 = has_arm64_image || is_arm64_ami_type(&ami_type);
    add_group_type(traits, &instance_types, is_arm64);
    let capacity = group.text(&["capacityType"]).as_deref().and_then(capacity_type);
    traits.is_spot = capacity == Some(CapacityType::Spot);
}

/// Checks that a node group and its launch template do not exclude each other. EKS has accepted a group that exists.
///
/// # Errors
/// EKS refuses the group.
pub(super) fn check(template: &PulumiResource<'_>, group: &PulumiResource<'_>) -> Result<(), ImportError> {
    match group.exists() {
        true => Ok(()),
        false => GroupWithTemplate::of(template.inputs, group.inputs, Spelling::Camel).check(&group.name()),
    }
}

/// What EKS puts into its own part of the user data.
pub(super) fn managed(traits: &Traits, group: &PulumiResource<'_>) -> ManagedNodeGroup {
    let launch_template = group.inputs.get("launchTemplate");
    ManagedNodeGroup {
        name: group.text(&["nodeGroupName"]),
        labels: traits.labels.clone(),
        taints: traits.taints.clone(),
        capacity_type: group.text(&["capacityType"]).as_deref().and_then(capacity_type),
        instance_types: list(group.inputs.items_at(&["instanceTypes"])),
        launch_template: launch_template.map(|_| LaunchTemplateVersion::stand_in()),
    }
}

/// Whether instances of the resource have no instance profile.
pub(super) fn is_without_profile(resource: &PulumiResource<'_>) -> bool {
    resource.inputs.get(PROFILE).is_none() && instance_profile(resource).is_none()
}

/// Name or ARN of the instance profile.
pub(super) fn instance_profile(resource: &PulumiResource<'_>) -> Option<String> {
    let paths = [&[PROFILE, "arn"][..], &[PROFILE, "name"], &[PROFILE]];
    paths.iter().find_map(|path| resource.text(path))
}

/// The role of the resource's instance profile, if the stack has both.
pub(super) fn role(stack: &PulumiStack<'_>, resource: &PulumiResource<'_>) -> Option<String> {
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
    let mut roles = stack.of_kind("aws:iam/role:Role");
    let role = roles.find(|role| profile.refers(&["role"], role, &["name", "id", "arn"]));
    role.and_then(|role| role.text(&["arn"]).or_else(|| role.text(&["name"])))
        .or_else(|| profile.text(&["role"]))
}
