//! Node groups and Auto Scaling groups that use a launch template.

use super::address::{index_of, without_indexes};
use super::file::TerraformFile;
use super::references::ReferenceTarget;
use super::resource::TerraformResource;
use crate::architecture::{self, is_arm64_ami_type};
use crate::ec2::{self, add_group_tags, add_group_type, check_overrides};
use crate::error::ImportError;
use crate::group_refusals::{GroupWithTemplate, Spelling};
use crate::machine::{CapacityType, LaunchTemplateVersion, Machine, ManagedNodeGroup, StartedBy};
use crate::scaling_groups;
use crate::tree::Tree;
use crate::words::{capacity_type, family_of_ami_type, list, taint, texts};

/// Where a group names its launch template.
const TEMPLATE: &[&[&str]] = &[
    &["launch_template", "0"],
    &[
        "mixed_instances_policy",
        "0",
        "launch_template",
        "0",
        "launch_template_specification",
        "0",
    ],
];

/// Where an Auto Scaling group has its instance types.
const OVERRIDES: &[&str] = &["mixed_instances_policy", "0", "launch_template", "0", "override"];

/// The argument of an Auto Scaling group with its launch configuration.
const CONFIGURATION: &str = "launch_configuration";

/// The keys by which a group names its launch template, each with the attribute of the template that it has.
const TEMPLATE_KEYS: [(&str, &str); 4] = [
    ("id", "id"),
    ("launch_template_id", "id"),
    ("name", "name"),
    ("launch_template_name", "name"),
];

/// The arguments of a group that can refer to its launch template.
const TEMPLATE_ARGUMENTS: &[&[&str]] = &[
    &["launch_template", "0", "id"],
    &["launch_template", "0", "name"],
    &["launch_template", "0", "version"],
    &[
        "mixed_instances_policy",
        "0",
        "launch_template",
        "0",
        "launch_template_specification",
        "0",
        "launch_template_id",
    ],
    &[
        "mixed_instances_policy",
        "0",
        "launch_template",
        "0",
        "launch_template_specification",
        "0",
        "launch_template_name",
    ],
];

/// The groups of this kind that start instances from the template.
pub(super) fn of_template<'f, 'a>(
    file: &'f TerraformFile<'a>,
    kind: &str,
    template: &TerraformResource<'_>,
) -> Vec<&'f TerraformResource<'a>> {
    let kinds = [kind];
    let groups = file.of_kind(&kinds);
    groups.filter(|group| uses(file, group, template)).collect()
}

/// The Auto Scaling groups that start instances from the launch configuration.
pub(super) fn of_configuration<'f, 'a>(
    file: &'f TerraformFile<'a>,
    configuration: &TerraformResource<'_>,
) -> Vec<&'f TerraformResource<'a>> {
    let groups = file.of_kind(&["aws_autoscaling_group"]);
    groups
        .filter(|group| starts_from(file, group, configuration))
        .collect()
}

/// Whether an Auto Scaling group starts instances from the launch configuration.
fn starts_from(
    file: &TerraformFile<'_>,
    group: &TerraformResource<'_>,
    configuration: &TerraformResource<'_>,
) -> bool {
    match group.text(&[CONFIGURATION]) {
        Some(name) => ["name", "id"]
            .iter()
            .any(|key| configuration.text(&[key]).as_ref() == Some(&name)),
        None => {
            template_reference(group).is_none() && refers(file, group, &[&[CONFIGURATION]], configuration)
        }
    }
}

/// The error for a group that names a launch template or a launch configuration which the file does not have.
pub(super) fn outside(file: &TerraformFile<'_>, group: &TerraformResource<'_>) -> Option<ImportError> {
    // It shows a group that another file has.
    if is_data_source(group) {
        return None;
    }
    match template_reference(group) {
        Some(reference) => outside_template(file, group, reference),
        None => outside_configuration(file, group),
    }
}

fn outside_template(
    file: &TerraformFile<'_>,
    group: &TerraformResource<'_>,
    reference: &Tree,
) -> Option<ImportError> {
    let own = || file.of_kind(&["aws_launch_template"]);
    if own().any(|template| uses(file, group, template)) {
        return None;
    }
    let (line, owner) = (group.values.line(), owner(group));
    let mut keys = TEMPLATE_KEYS.iter();
    match keys.find_map(|(key, _)| reference.text_at(&[*key])) {
        Some(template) => Some(ImportError::InLaunchTemplate {
            line,
            owner,
            template,
        }),
        // One of several can be the one that the group means.
        None if own().next().is_some() => None,
        None => Some(ImportError::in_unknown_template(line, owner, "apply")),
    }
}

fn outside_configuration(file: &TerraformFile<'_>, group: &TerraformResource<'_>) -> Option<ImportError> {
    let name = group.text(&[CONFIGURATION])?;
    let mut own = file.of_kind(&["aws_launch_configuration"]);
    if own.any(|configuration| starts_from(file, group, configuration)) {
        return None;
    }
    let line = group.values.line();
    Some(ImportError::in_launch_configuration(line, owner(group), &name))
}

fn is_data_source(group: &TerraformResource<'_>) -> bool {
    group.address.contains(&format!("data.{}.", group.kind))
}

/// A group in a message.
fn owner(group: &TerraformResource<'_>) -> String {
    let what = match group.kind.as_str() {
        "aws_eks_node_group" => "node group",
        _ => "Auto Scaling group",
    };
    format!("{what} `{}`", group.address)
}

fn template_reference<'a>(group: &TerraformResource<'a>) -> Option<&'a Tree> {
    TEMPLATE.iter().find_map(|path| group.values.at(path))
}

fn uses(file: &TerraformFile<'_>, group: &TerraformResource<'_>, template: &TerraformResource<'_>) -> bool {
    let Some(reference) = template_reference(group) else {
        return false;
    };
    let mut known = TEMPLATE_KEYS
        .iter()
        .filter_map(|(key, attribute)| Some((reference.text_at(&[key])?, attribute)))
        .peekable();
    if known.peek().is_some() {
        return known.any(|(value, attribute)| template.text(&[attribute]) == Some(value));
    }
    refers(file, group, TEMPLATE_ARGUMENTS, template)
}

/// Whether a group means a template whose id is unknown until apply.
fn refers(
    file: &TerraformFile<'_>,
    group: &TerraformResource<'_>,
    arguments: &[&[&str]],
    template: &TerraformResource<'_>,
) -> bool {
    match ReferenceTarget::of(file, group, arguments, &template.kind) {
        ReferenceTarget::Known(address) => address == template.address,
        ReferenceTarget::Unclear => false,
        ReferenceTarget::Unnamed => is_counterpart(file, group, template),
    }
}

/// Whether the template is the only one of the group's module, or the one with the group's key: modules create one for
/// each group.
fn is_counterpart(
    file: &TerraformFile<'_>,
    group: &TerraformResource<'_>,
    template: &TerraformResource<'_>,
) -> bool {
    let kinds = [template.kind.as_str()];
    let addresses: Vec<&str> = file
        .of_kind(&kinds)
        .filter(|other| other.module() == group.module())
        .map(|other| other.address.as_str())
        .collect();
    if addresses == [template.address.as_str()] {
        return true;
    }
    let plain = without_indexes(&template.address);
    let index = index_of(&group.address);
    template.module() == group.module()
        && addresses.iter().all(|other| without_indexes(other) == plain)
        && !index.is_empty()
        && index == index_of(&template.address)
}

/// Whether the group's mixed instances are spot instances alone.
pub(super) fn is_all_spot(group: &TerraformResource<'_>) -> bool {
    let path = ["mixed_instances_policy", "0", "instances_distribution", "0"];
    let keys = [
        "on_demand_base_capacity",
        "on_demand_percentage_above_base_capacity",
    ];
    ec2::is_all_spot(group.values.at(&path), keys)
}

/// The first instance type of the group's mixed instances: it takes precedence over that of its launch template.
pub(super) fn instance_type(group: &TerraformResource<'_>) -> Option<String> {
    let mut overrides = group.values.items_at(OVERRIDES).iter();
    overrides.find_map(|one| one.text_at(&["instance_type"]))
}

/// Auto Scaling groups in parts whose instances differ for a scenario with this user data.
pub(super) fn parts<'f, 'a>(
    groups: &[&'f TerraformResource<'a>],
    user_data: Option<&[u8]>,
) -> Vec<Vec<&'f TerraformResource<'a>>> {
    // The group of a data source can be one that the file has itself.
    let (read, own): (Vec<_>, Vec<_>) = groups.iter().copied().partition(|group| is_data_source(group));
    let groups = if own.is_empty() { read } else { own };
    scaling_groups::parts(&groups, user_data, |group: &TerraformResource<'_>| {
        let mut machine = Machine::default();
        describe_scaling(&mut machine, group);
        machine.traits
    })
}

/// Adds what an Auto Scaling group gives its instances.
pub(super) fn describe_scaling(machine: &mut Machine, group: &TerraformResource<'_>) {
    machine.started_by = StartedBy::ScalingGroups;
    // The second one is of old versions of the provider.
    for key in ["tag", "tags"] {
        let tags = group.values.items_at(&[key]);
        add_group_tags(&mut machine.traits, tags, ["key", "value", "propagate_at_launch"]);
    }
    let overrides = group.values.items_at(OVERRIDES);
    check_overrides(
        machine,
        overrides,
        ["instance_type", "launch_template_specification"],
    );
}

/// Adds what a node group states about its nodes. `has_arm64_image`: its launch template names an AMI for arm64.
pub(super) fn describe(machine: &mut Machine, group: &TerraformResource<'_>, has_arm64_image: bool) {
    machine.started_by = StartedBy::NodeGroup;
    let traits = &mut machine.traits;
    traits.labels = texts(group.values.get("labels"));
    traits.taints = group
        .values
        .items_at(&["taint"])
        .iter()
        .filter_map(taint)
        .collect();
    let ami_type = group.text(&["ami_type"]).unwrap_or_default();
    traits.ami_family = traits.ami_family.or_else(|| family_of_ami_type(&ami_type));
    traits.role = group.text(&["node_role_arn"]);
    traits.cluster.version = group.text(&["version"]);
    let instance_types = list(group.values.items_at(&["instance_types"]));
    let is_arm64 = has_arm64_image || is_arm64_ami_type(&ami_type);
    add_group_type(traits, &instance_types, is_arm64);
    let capacity = group.text(&["capacity_type"]).as_deref().and_then(capacity_type);
    traits.is_spot = capacity == Some(CapacityType::Spot);
}

/// What EKS refuses of a new node group that states no instance type.
pub(super) fn missing_type(
    file: &TerraformFile<'_>,
    template: Option<&TerraformResource<'_>>,
    group: &TerraformResource<'_>,
) -> Option<String> {
    let states = |resource: &TerraformResource<'_>, argument: &str| {
        let is_known =
            resource.text(&[argument]).is_some() || !resource.values.items_at(&[argument]).is_empty();
        is_known || file.may_set(resource, argument)
    };
    let of_template = ["instance_type", "instance_requirements"];
    let is_in_template =
        template.is_some_and(|template| of_template.iter().any(|argument| states(template, argument)));
    let is_stated = is_in_template || states(group, "instance_types") || !group.is_created;
    architecture::missing_type(&group.text(&["ami_type"])?).filter(|_| !is_stated)
}

/// Checks that a node group and its launch template do not exclude each other. EKS has accepted a group that exists,
/// and has stated values of its own in it.
///
/// # Errors
/// EKS refuses the group.
pub(super) fn check(
    template: &TerraformResource<'_>,
    group: &TerraformResource<'_>,
) -> Result<(), ImportError> {
    if !group.is_created {
        return Ok(());
    }
    GroupWithTemplate::of(template.values, group.values, Spelling::Snake).check(&group.address)
}

/// What EKS puts into its own part of the user data.
pub(super) fn managed(machine: &Machine, group: &TerraformResource<'_>) -> ManagedNodeGroup {
    ManagedNodeGroup {
        name: group.text(&["node_group_name"]),
        labels: machine.traits.labels.clone(),
        taints: machine.traits.taints.clone(),
        capacity_type: group.text(&["capacity_type"]).as_deref().and_then(capacity_type),
        instance_types: list(group.values.items_at(&["instance_types"])),
        launch_template: template_reference(group).map(|_| LaunchTemplateVersion::stand_in()),
    }
}
