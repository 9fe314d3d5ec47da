//! Node groups and Auto Scaling groups that use a launch template, and instance profiles.

use super::resource::{PulumiResource, PulumiStack};
use crate::architecture::{self, is_arm64_ami_type};
use crate::ec2::{self, add_group_tags, add_group_type, check_overrides};
use crate::error::ImportError;
use crate::group_refusals::{GroupWithTemplate, Spelling};
use crate::machine::{CapacityType, LaunchTemplateVersion, Machine, ManagedNodeGroup, StartedBy, Traits};
use crate::scaling_groups;
use crate::words::{capacity_type, family_of_ami_type, list, taint, texts};

pub(super) const NODE_GROUP: &str = "aws:eks/nodeGroup:NodeGroup";
pub(super) const SCALING_GROUP: &str = "aws:autoscaling/group:Group";
pub(super) const INSTANCE: &str = "aws:ec2/instance:Instance";

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
/// The input of an Auto Scaling group with its launch configuration.
const CONFIGURATION: &str = "launchConfiguration";
/// The input of an instance or launch template with its instance profile.
pub(super) const PROFILE: &str = "iamInstanceProfile";

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

/// The error for a group that names a launch template or a launch configuration which the stack does not have.
/// `kinds`: those of launch templates and of launch configurations.
pub(super) fn outside(
    stack: &PulumiStack<'_>,
    kinds: [&str; 2],
    group: &PulumiResource<'_>,
) -> Option<ImportError> {
    let [templates, configurations] = kinds;
    match template_path(group) {
        Some(path) => outside_template(stack, templates, group, path),
        None => outside_configuration(stack, configurations, group),
    }
}

fn outside_template(
    stack: &PulumiStack<'_>,
    kind: &str,
    group: &PulumiResource<'_>,
    path: &[&str],
) -> Option<ImportError> {
    if stack.of_kind(kind).any(|own| uses(group, own)) {
        return None;
    }
    let (line, owner) = (group.inputs.line(), owner(group));
    let mut keys = TEMPLATE_KEYS.iter();
    match keys.find_map(|(key, _)| group.text(&[path, &[*key]].concat())) {
        Some(template) => Some(ImportError::InLaunchTemplate {
            line,
            owner,
            template,
        }),
        // One of several can be the one that the group means.
        None if stack.of_kind(kind).next().is_some() => None,
        None => Some(ImportError::in_unknown_template(line, owner, "the update")),
    }
}

fn outside_configuration(
    stack: &PulumiStack<'_>,
    kind: &str,
    group: &PulumiResource<'_>,
) -> Option<ImportError> {
    let name = group.text(&[CONFIGURATION])?;
    if stack.of_kind(kind).any(|own| starts_from(group, own)) {
        return None;
    }
    let line = group.inputs.line();
    Some(ImportError::in_launch_configuration(line, owner(group), &name))
}

/// Whether an Auto Scaling group starts instances from the launch configuration.
pub(super) fn starts_from(group: &PulumiResource<'_>, configuration: &PulumiResource<'_>) -> bool {
    group.refers(&[CONFIGURATION], configuration, &["name", "id"])
}

/// A group in a message.
fn owner(group: &PulumiResource<'_>) -> String {
    let what = match group.kind.as_str() {
        NODE_GROUP => "node group",
        _ => "Auto Scaling group",
    };
    format!("{what} `{}`", group.name())
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

/// Auto Scaling groups in parts whose instances differ for a scenario with this user data.
pub(super) fn parts<'s, 'a>(
    groups: &[&'s PulumiResource<'a>],
    user_data: Option<&[u8]>,
) -> Vec<Vec<&'s PulumiResource<'a>>> {
    scaling_groups::parts(groups, user_data, |group: &PulumiResource<'_>| {
        let mut machine = Machine::default();
        describe_scaling(group, &mut machine);
        machine.traits
    })
}

/// Adds the tags that an Auto Scaling group gives its instances, and the first type of its mixed instances, which takes
/// precedence over that of its launch template.
pub(super) fn describe_scaling(group: &PulumiResource<'_>, machine: &mut Machine) {
    machine.started_by = StartedBy::ScalingGroups;
    let overrides = ["mixedInstancesPolicy", "launchTemplate", "overrides"];
    let overrides = group.inputs.items_at(&overrides);
    check_overrides(
        machine,
        overrides,
        ["instanceType", "launchTemplateSpecification"],
    );
    let traits = &mut machine.traits;
    let tags = group.inputs.items_at(&["tags"]);
    add_group_tags(traits, tags, ["key", "value", "propagateAtLaunch"]);
    let mut overrides = overrides.iter();
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

/// What EKS refuses of a new node group that states no instance type.
pub(super) fn missing_type(
    group: &PulumiResource<'_>,
    template: Option<&PulumiResource<'_>>,
) -> Option<String> {
    let states = |resource: &PulumiResource<'_>, input: &str| resource.inputs.get(input).is_some();
    let of_template = ["instanceType", "instanceRequirements"];
    let is_in_template =
        template.is_some_and(|template| of_template.iter().any(|input| states(template, input)));
    let is_stated = is_in_template || states(group, "instanceTypes") || group.exists();
    architecture::missing_type(&group.text(&["amiType"])?).filter(|_| !is_stated)
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

/// The value of the input that takes the name of an instance profile alone. That of a launch configuration takes an
/// ARN, too.
pub(super) fn profile_name(resource: &PulumiResource<'_>) -> Option<String> {
    let of_instance = || resource.text(&[PROFILE]).filter(|_| resource.kind == INSTANCE);
    resource.text(&[PROFILE, "name"]).or_else(of_instance)
}
