//! The machines of a stack or preview.

use std::collections::BTreeMap;

use nodejoin_core::plan::Tokens;

use super::group_checks::check_values;
use super::groups::INSTANCE;
use super::resource::{PulumiResource, PulumiStack};
use super::role::role;
use super::{cluster, groups};
use crate::architecture::{add_arm64_type, is_for_arm64};
use crate::ec2::{add_managed, not_a_node, tokens};
use crate::error::ImportError;
use crate::group_refusals::Spelling;
use crate::instance_values::InstanceValues;
use crate::machine::{Machine, StartedBy, Traits};
use crate::reading::Reading;
use crate::terraform::encoded_once;
use crate::text::{from_base64, joins};
use crate::words::{ami_id, arn_parts, family_of_image, stand_ins_of_image, texts, version_of_image};

const TEMPLATE: &str = "aws:ec2/launchTemplate:LaunchTemplate";
const CONFIGURATION: &str = "aws:ec2/launchConfiguration:LaunchConfiguration";

/// Adds every machine of the stack.
pub(super) fn add(stack: &PulumiStack<'_>, reading: &mut Reading) {
    for resource in &stack.resources {
        let name = resource.name();
        match resource.kind.as_str() {
            TEMPLATE => add_template(stack, resource, reading),
            CONFIGURATION => add_configuration(stack, resource, reading),
            INSTANCE => reading.add(&name, instance_machine(stack, resource)),
            groups::NODE_GROUP if resource.inputs.get("launchTemplate").is_none() => {
                let mut machine = base(stack, resource);
                describe_group(stack, resource, None, &mut machine);
                reading.add(&name, Ok(machine));
            }
            groups::NODE_GROUP | groups::SCALING_GROUP => {
                if let Some(error) = groups::outside(stack, [TEMPLATE, CONFIGURATION], resource) {
                    reading.add(&name, Err(error));
                }
            }
            _ => {}
        }
    }
}

/// A launch template of several node groups is a machine for each of them, and one for each part of its Auto Scaling
/// groups whose instances differ.
fn add_template(stack: &PulumiStack<'_>, template: &PulumiResource<'_>, reading: &mut Reading) {
    let name = template.name();
    let machine = with_user_data(stack, template);
    let groups = groups::of_template(stack, groups::NODE_GROUP, template);
    let scaling = groups::of_template(stack, groups::SCALING_GROUP, template);
    let parts = match scaling.is_empty() && !groups.is_empty() {
        true => Vec::new(),
        false => parts(&machine, &scaling),
    };
    let is_one = groups.len() + parts.len() == 1;
    for group in groups {
        let described = machine.clone().and_then(|mut machine| {
            groups::check(template, group)?;
            describe_group(stack, group, Some(template), &mut machine);
            Ok(machine)
        });
        reading.add(&name, described);
    }
    for part in &parts {
        let described = machine.clone().map(|mut machine| {
            describe_alone(stack, template, part, &mut machine);
            named(machine, part, is_one)
        });
        reading.add(&name, described);
    }
}

/// A launch configuration is a machine for each part of its Auto Scaling groups whose instances differ.
fn add_configuration(stack: &PulumiStack<'_>, configuration: &PulumiResource<'_>, reading: &mut Reading) {
    let groups = stack.of_kind(groups::SCALING_GROUP);
    let scaling: Vec<_> = groups
        .filter(|group| groups::starts_from(group, configuration))
        .collect();
    let machine = with_user_data(stack, configuration);
    let parts = parts(&machine, &scaling);
    for part in &parts {
        let described = machine.clone().map(|mut machine| {
            machine.traits.is_without_profile = groups::is_without_profile(configuration);
            for group in part {
                groups::describe_scaling(group, &mut machine);
            }
            surround(stack, configuration, None, &mut machine.traits);
            named(machine, part, parts.len() == 1)
        });
        reading.add(&configuration.name(), described);
    }
}

/// The parts of the Auto Scaling groups that start instances of a machine.
fn parts<'s, 'a>(
    machine: &Result<Machine, ImportError>,
    scaling: &[&'s PulumiResource<'a>],
) -> Vec<Vec<&'s PulumiResource<'a>>> {
    let bytes = machine
        .as_ref()
        .ok()
        .and_then(|machine| machine.user_data.as_deref());
    groups::parts(scaling, bytes)
}

/// The machine with the name of the first group if there are several of it.
fn named(machine: Machine, part: &[&PulumiResource<'_>], is_one: bool) -> Machine {
    let group = part.first().filter(|_| !is_one);
    let name = group.map_or(machine.name.clone(), |group| group.name());
    Machine { name, ..machine }
}

/// Adds what the stack tells about a machine of a template that no node group uses. `scaling`: the Auto Scaling groups
/// that do.
fn describe_alone(
    stack: &PulumiStack<'_>,
    template: &PulumiResource<'_>,
    scaling: &[&PulumiResource<'_>],
    machine: &mut Machine,
) {
    for group in scaling {
        groups::describe_scaling(group, machine);
    }
    machine.traits.is_spot |= !scaling.is_empty() && scaling.iter().all(|group| groups::is_all_spot(group));
    // A managed node group gives its nodes a profile itself.
    machine.traits.is_without_profile = !scaling.is_empty() && groups::is_without_profile(template);
    if scaling.is_empty() && !names_image(template) {
        add_managed(machine, template.inputs, Spelling::Camel);
    }
    surround(stack, template, None, &mut machine.traits);
}

/// Adds what the stack tells about a machine of a node group.
fn describe_group(
    stack: &PulumiStack<'_>,
    group: &PulumiResource<'_>,
    template: Option<&PulumiResource<'_>>,
    machine: &mut Machine,
) {
    machine.started_by = StartedBy::NodeGroup;
    groups::describe(group, &mut machine.traits, template.is_some_and(has_arm64_image));
    check_values(stack, template, group, machine);
    if template.is_some_and(names_image) || group.text(&["amiType"]).as_deref() == Some("CUSTOM") {
        machine.traits.leave_group_to_eks();
    } else {
        machine.managed = Some(groups::managed(&machine.traits, group));
    }
    let name = group.text(&["clusterName"]);
    let resource = template.unwrap_or(group);
    surround(stack, resource, name.as_deref(), &mut machine.traits);
}

/// The AMI of a launch template, a launch configuration or an instance.
fn image(resource: &PulumiResource<'_>) -> Option<String> {
    resource.text(&["imageId"]).or_else(|| resource.text(&["ami"]))
}

fn has_arm64_image(resource: &PulumiResource<'_>) -> bool {
    image(resource).is_some_and(|image| is_for_arm64(&image))
}

/// Whether a template has an AMI, which may be known after the update only.
fn names_image(template: &PulumiResource<'_>) -> bool {
    template.inputs.get("imageId").is_some()
}

/// Most instances of a stack are not nodes: one without signs of a cluster is not tried.
fn instance_machine(stack: &PulumiStack<'_>, instance: &PulumiResource<'_>) -> Result<Machine, ImportError> {
    let mut machine = with_user_data(stack, instance)?;
    let bytes = machine.user_data.clone().unwrap_or_default();
    let is_alone = instance.inputs.get("launchTemplate").is_none();
    machine.traits.is_without_profile = is_alone && groups::is_without_profile(instance);
    if !joins(&String::from_utf8_lossy(&bytes)) {
        return Err(not_a_node(instance.inputs, &machine.traits.tags));
    }
    surround(stack, instance, None, &mut machine.traits);
    Ok(machine)
}

/// Adds what the stack tells about the cluster, the region of the resource's provider if nothing else names one, and an
/// instance type on which the resource's AMI starts if the stack states none.
fn surround(
    stack: &PulumiStack<'_>,
    resource: &PulumiResource<'_>,
    cluster: Option<&str>,
    traits: &mut Traits,
) {
    cluster::describe(stack, cluster, traits);
    traits.region = traits.region.take().or_else(|| stack.region(resource));
    if has_arm64_image(resource) {
        add_arm64_type(traits);
    }
}

fn with_user_data(stack: &PulumiStack<'_>, resource: &PulumiResource<'_>) -> Result<Machine, ImportError> {
    let mut machine = base(stack, resource);
    let is_plain = resource.kind != TEMPLATE;
    for (key, is_plain) in [("userDataBase64", false), ("userData", is_plain)] {
        let Some(field) = resource.inputs.get(key) else {
            continue;
        };
        machine.line = field.line();
        let text = resource.known(field)?;
        let bytes = match is_plain {
            true => encoded_once(&text),
            false => from_base64(&text, field.line())?,
        };
        machine.user_data = Some(bytes).filter(|bytes| !bytes.is_empty());
    }
    Ok(machine)
}

/// Whether a launch template or a launch configuration requests spot instances.
fn is_spot(resource: &PulumiResource<'_>) -> bool {
    let market = resource.text(&["instanceMarketOptions", "marketType"]);
    market.as_deref() == Some("spot") || resource.text(&["spotPrice"]).is_some()
}

/// What the resource states besides the user data.
fn base(stack: &PulumiStack<'_>, resource: &PulumiResource<'_>) -> Machine {
    let option = |key: &str| resource.text(&["metadataOptions", key]);
    let (region, account) = arn_parts(&resource.text(&["arn"]).unwrap_or_default());
    let profile = groups::instance_profile(resource);
    let (_, account_of_profile) = arn_parts(profile.as_deref().unwrap_or_default());
    let (role, role_rights) = role(stack, resource).unzip();
    let image = image(resource);
    let default_tokens = (resource.kind == CONFIGURATION).then_some(Tokens::Optional);
    let (instance_type, http_tokens) = (resource.text(&["instanceType"]), option("httpTokens"));
    let profile_name = groups::profile_name(resource);
    let values = InstanceValues {
        image: image.as_deref(),
        instance_type: instance_type.as_deref(),
        http_tokens: http_tokens.as_deref(),
        profile_name: profile_name.as_deref(),
    };
    Machine {
        name: resource.name(),
        line: resource.inputs.line(),
        problems: values.problems(),
        traits: Traits {
            ami_family: image.as_deref().and_then(family_of_image),
            ami_id: image.as_deref().map(ami_id),
            image_name: image.clone(),
            image_version: image.as_deref().and_then(version_of_image),
            stand_ins: stand_ins_of_image(image.as_deref()),
            instance_type: resource.text(&["instanceType"]),
            is_spot: is_spot(resource),
            instance_profile: profile.filter(|_| role.is_none()),
            role,
            role_rights: role_rights.unwrap_or_default(),
            region: resource.text(&["region"]).or(region),
            account: account.or(account_of_profile),
            tags: tags(resource),
            http_tokens: option("httpTokens")
                .as_deref()
                .and_then(tokens)
                .or(default_tokens),
            hop_limit: option("httpPutResponseHopLimit").and_then(|limit| limit.parse().ok()),
            ..Traits::default()
        },
        ..Machine::default()
    }
}

/// The tags of an instance: its own, or those that a launch template gives it.
fn tags(resource: &PulumiResource<'_>) -> BTreeMap<String, String> {
    let own = resource.inputs.get("tags").filter(|_| resource.kind == INSTANCE);
    let specifications = resource.inputs.items_at(&["tagSpecifications"]).iter();
    let of_instances =
        specifications.filter(|tags| tags.text_at(&["resourceType"]).as_deref() == Some("instance"));
    let mut tags = texts(own);
    tags.extend(of_instances.flat_map(|specification| texts(specification.get("tags"))));
    tags
}
