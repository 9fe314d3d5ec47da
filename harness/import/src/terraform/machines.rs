//! The machines of a plan or state.

use std::collections::BTreeMap;

use nodejoin_core::plan::Tokens;

use super::file::TerraformFile;
use super::group_checks::check_values;
use super::resource::TerraformResource;
use super::role::role;
use super::user_data::user_data;
use super::{cluster, groups};
use crate::adopt::Stated;
use crate::architecture::{add_arm64_type, is_for_arm64};
use crate::ec2::{add_managed, names_cluster, not_a_node, tokens, volumes};
use crate::error::ImportError;
use crate::group_refusals::Spelling;
use crate::instance_values::InstanceValues;
use crate::machine::{Machine, Traits};
use crate::reading::Reading;
use crate::text;
use crate::tree::Tree;
use crate::words::{ami_id, arn_parts, family_of_image, stand_ins_of_image, texts, version_of_image};

/// The argument with the instance profile.
const PROFILE: &str = "iam_instance_profile";

/// Adds every machine of the file.
pub(super) fn add(file: &TerraformFile<'_>, reading: &mut Reading) {
    for template in file.of_kind(&["aws_launch_template"]) {
        add_template(file, template, reading);
    }
    for group in file.of_kind(&["aws_eks_node_group"]) {
        if group.values.items_at(&["launch_template"]).is_empty() {
            reading.add(&group.address, Ok(group_machine(file, None, group)));
        }
    }
    for configuration in file.of_kind(&["aws_launch_configuration"]) {
        add_configuration(file, configuration, reading);
    }
    for instance in file.of_kind(&["aws_instance"]) {
        reading.add(&instance.address, instance_machine(file, instance));
    }
}

/// Adds the groups whose launch template or launch configuration is outside of the file. `known`: those for which the
/// file itself tells more, by their addresses.
pub(super) fn add_outside(
    file: &TerraformFile<'_>,
    known: &BTreeMap<String, ImportError>,
    reading: &mut Reading,
) {
    for group in file.of_kind(&["aws_eks_node_group", "aws_autoscaling_group"]) {
        let known = known.get(&group.address).cloned();
        if let Some(error) = known.or_else(|| groups::outside(file, group)) {
            reading.add(&group.address, Err(error));
        }
    }
}

/// A launch template of several node groups is a machine for each of them, and one for each part of its Auto Scaling
/// groups whose instances differ.
fn add_template(file: &TerraformFile<'_>, template: &TerraformResource<'_>, reading: &mut Reading) {
    let groups = groups::of_template(file, "aws_eks_node_group", template);
    let scaling = groups::of_template(file, "aws_autoscaling_group", template);
    let parts = match scaling.is_empty() && !groups.is_empty() {
        true => Vec::new(),
        false => parts(file, template, &scaling),
    };
    let is_one = groups.len() + parts.len() == 1;
    for group in &groups {
        let name = if is_one { &template.address } else { &group.address };
        let checked = groups::check(template, group).and_then(|()| user_data(file, template));
        let machine = checked.map(|bytes| Machine {
            name: name.clone(),
            user_data: bytes,
            ..group_machine(file, Some(template), group)
        });
        reading.add(name, machine);
    }
    for part in &parts {
        let name = name_of_part(template, part, is_one);
        let machine = template_machine(file, template, part);
        reading.add(name, machine.map(|machine| named(machine, name)));
    }
}

/// A launch configuration is a machine for each part of its Auto Scaling groups whose instances differ.
fn add_configuration(file: &TerraformFile<'_>, configuration: &TerraformResource<'_>, reading: &mut Reading) {
    let scaling = groups::of_configuration(file, configuration);
    let parts = parts(file, configuration, &scaling);
    for part in &parts {
        let name = name_of_part(configuration, part, parts.len() == 1);
        let machine = configuration_machine(file, configuration, part);
        reading.add(name, machine.map(|machine| named(machine, name)));
    }
}

/// The parts of the Auto Scaling groups that start instances from a resource.
fn parts<'f, 'a>(
    file: &TerraformFile<'_>,
    resource: &TerraformResource<'_>,
    scaling: &[&'f TerraformResource<'a>],
) -> Vec<Vec<&'f TerraformResource<'a>>> {
    let bytes = user_data(file, resource).ok().flatten();
    groups::parts(scaling, bytes.as_deref())
}

/// The name of the resource, or of the first group if there are several machines of it.
fn name_of_part<'f>(
    resource: &'f TerraformResource<'_>,
    part: &[&'f TerraformResource<'_>],
    is_one: bool,
) -> &'f str {
    let group = part.first().filter(|_| !is_one);
    group.map_or(resource.address.as_str(), |group| group.address.as_str())
}

fn named(machine: Machine, name: &str) -> Machine {
    Machine {
        name: name.to_owned(),
        ..machine
    }
}

/// A machine of a launch template that no node group of the file uses. `scaling`: the Auto Scaling groups that do.
fn template_machine(
    file: &TerraformFile<'_>,
    template: &TerraformResource<'_>,
    scaling: &[&TerraformResource<'_>],
) -> Result<Machine, ImportError> {
    let mut machine = base(file, template);
    machine.user_data = user_data(file, template)?;
    for group in scaling {
        groups::describe_scaling(&mut machine, group);
    }
    machine.traits.is_spot |= !scaling.is_empty() && scaling.iter().all(|group| groups::is_all_spot(group));
    let of_group = scaling.iter().find_map(|group| groups::instance_type(group));
    machine.traits.instance_type = of_group.or(machine.traits.instance_type);
    // A managed node group gives its nodes a profile itself.
    machine.traits.is_without_profile = !scaling.is_empty() && is_without_profile(template);
    if scaling.is_empty() && !template.is_unknown("image_id") {
        add_managed(&mut machine, template.values, Spelling::Snake);
    }
    let cluster = named_cluster(file, &machine);
    surround(file, template, cluster.as_deref(), &mut machine.traits);
    Ok(machine)
}

/// A machine of a node group, without its user data.
fn group_machine(
    file: &TerraformFile<'_>,
    template: Option<&TerraformResource<'_>>,
    group: &TerraformResource<'_>,
) -> Machine {
    let resource = template.unwrap_or(group);
    let mut machine = base(file, resource);
    groups::describe(&mut machine, group, has_arm64_image(file, resource));
    check_values(file, template, group, &mut machine);
    let has_ami = machine.traits.ami_id.is_some()
        || template.is_some_and(|template| template.is_unknown("image_id"))
        || group.text(&["ami_type"]).as_deref() == Some("CUSTOM");
    if has_ami {
        machine.traits.leave_group_to_eks();
    } else {
        machine.managed = Some(groups::managed(&machine, group));
    }
    let name = group.text(&["cluster_name"]);
    surround(file, resource, name.as_deref(), &mut machine.traits);
    machine
}

fn configuration_machine(
    file: &TerraformFile<'_>,
    configuration: &TerraformResource<'_>,
    scaling: &[&TerraformResource<'_>],
) -> Result<Machine, ImportError> {
    let mut machine = base(file, configuration);
    machine.user_data = user_data(file, configuration)?;
    machine.traits.is_without_profile = is_without_profile(configuration);
    for group in scaling {
        groups::describe_scaling(&mut machine, group);
    }
    let cluster = named_cluster(file, &machine);
    surround(file, configuration, cluster.as_deref(), &mut machine.traits);
    Ok(machine)
}

/// Most instances of a file are not nodes: one without signs of a cluster is not tried.
fn instance_machine(
    file: &TerraformFile<'_>,
    instance: &TerraformResource<'_>,
) -> Result<Machine, ImportError> {
    let mut machine = base(file, instance);
    machine.user_data = user_data(file, instance)?;
    machine.traits.tags = texts(instance.values.get("tags"));
    let is_alone = instance.values.items_at(&["launch_template"]).is_empty();
    machine.traits.is_without_profile = is_alone && is_without_profile(instance);
    let bytes = machine.user_data.clone().unwrap_or_default();
    let content = String::from_utf8_lossy(&bytes);
    let tags = &machine.traits.tags;
    if !names_cluster(tags) && !text::joins(&content) {
        return Err(not_a_node(instance.values, tags));
    }
    let cluster = named_cluster(file, &machine);
    surround(file, instance, cluster.as_deref(), &mut machine.traits);
    Ok(machine)
}

/// The cluster of the file that the user data names.
fn named_cluster(file: &TerraformFile<'_>, machine: &Machine) -> Option<String> {
    let name = Stated::of(machine.user_data.as_deref().unwrap_or_default()).name?;
    let is_named = |cluster: TerraformResource<'_>| cluster.text(&["name"]).as_ref() == Some(&name);
    file.clusters().any(is_named).then_some(name)
}

/// Adds what the file tells about the cluster, the region of the resource's provider if nothing else names one, and an
/// instance type on which the resource's AMI starts if the file states none.
pub(super) fn surround(
    file: &TerraformFile<'_>,
    resource: &TerraformResource<'_>,
    cluster: Option<&str>,
    traits: &mut Traits,
) {
    cluster::describe(file, cluster, traits);
    traits.region = traits.region.take().or_else(|| file.region(resource));
    if has_arm64_image(file, resource) {
        add_arm64_type(traits);
    }
}

/// What the resource itself states.
fn base(file: &TerraformFile<'_>, resource: &TerraformResource<'_>) -> Machine {
    let field = ["user_data_base64", "user_data"]
        .iter()
        .find_map(|key| resource.values.get(key));
    Machine {
        name: resource.address.clone(),
        line: field.unwrap_or(resource.values).line(),
        problems: problems(resource),
        traits: traits(file, resource),
        ..Machine::default()
    }
}

/// What EC2 refuses.
fn problems(resource: &TerraformResource<'_>) -> Vec<String> {
    let image = image(resource);
    let tokens = resource.values.at(&["metadata_options", "0", "http_tokens"]);
    let values = InstanceValues {
        image: image.as_deref(),
        instance_type: resource.values.get("instance_type").and_then(Tree::text),
        http_tokens: tokens.and_then(Tree::text),
        profile_name: profile_name(resource),
    };
    values.problems()
}

/// The value of the argument that takes the name of an instance profile alone. That of a launch configuration takes an
/// ARN, too.
fn profile_name<'a>(resource: &TerraformResource<'a>) -> Option<&'a str> {
    let of_template = resource.values.at(&[PROFILE, "0", "name"]);
    let of_instance = resource.values.get(PROFILE);
    let of_instance = of_instance.filter(|_| resource.kind == "aws_instance");
    of_template.or(of_instance)?.text()
}

/// Whether the file states that instances of the resource have no instance profile.
fn is_without_profile(resource: &TerraformResource<'_>) -> bool {
    let unknown = resource.unknown.and_then(|unknown| unknown.get(PROFILE));
    let is_unknown = unknown.is_some_and(|field| field.is_true() || !field.items().is_empty());
    let is_stated = resource.values.entries().iter().any(|(key, _)| key == PROFILE);
    let has_profile = resource.text(&[PROFILE]).is_some() || !resource.values.items_at(&[PROFILE]).is_empty();
    is_stated && !is_unknown && !has_profile
}

fn traits(file: &TerraformFile<'_>, resource: &TerraformResource<'_>) -> Traits {
    let image = image(resource);
    let option = |key: &str| resource.text(&["metadata_options", "0", key]);
    let is_enabled = |key: &str| option(key).map(|state| state == "enabled");
    let profile = ["arn", "name"]
        .iter()
        .find_map(|key| resource.text(&[PROFILE, "0", key]))
        .or_else(|| resource.text(&[PROFILE]));
    let role = profile.as_deref().and_then(|profile| role(file, profile));
    let (role, role_rights) = role.unzip();
    let (region, account) = arn_parts(&resource.text(&["arn"]).unwrap_or_default());
    let (_, account_of_profile) = arn_parts(profile.as_deref().unwrap_or_default());
    let launch_configuration_default =
        (resource.kind == "aws_launch_configuration").then_some(Tokens::Optional);
    let name = image.as_deref().and_then(|image| image_name(file, image));
    let names = || [&image, &name].into_iter().flatten();
    Traits {
        ami_family: names().find_map(|name| family_of_image(name)),
        ami_id: image.as_deref().map(ami_id),
        stand_ins: stand_ins_of_image(image.as_deref()),
        image_version: names().find_map(|name| version_of_image(name)),
        image_name: name.clone().or_else(|| image.clone()),
        instance_type: resource.text(&["instance_type"]),
        is_spot: resource
            .text(&["instance_market_options", "0", "market_type"])
            .as_deref()
            == Some("spot")
            || resource.text(&["spot_price"]).is_some(),
        region: resource.text(&["region"]).or(region),
        account: account.or(account_of_profile),
        instance_profile: profile.filter(|_| role.is_none()),
        role,
        role_rights: role_rights.unwrap_or_default(),
        has_unknown_tags: specifications_of_instances(resource).any(|one| one.get("tags").is_none()),
        tags: instance_tags(resource),
        volumes: volumes_of(resource),
        http_tokens: option("http_tokens")
            .as_deref()
            .and_then(tokens)
            .or(launch_configuration_default),
        hop_limit: option("http_put_response_hop_limit").and_then(|limit| limit.parse().ok()),
        http_endpoint: is_enabled("http_endpoint"),
        metadata_tags: is_enabled("instance_metadata_tags"),
        ..Traits::default()
    }
}

/// The volumes of a launch template, or those of an instance or a launch configuration.
fn volumes_of(resource: &TerraformResource<'_>) -> BTreeMap<String, u32> {
    let of = |key: &str| resource.values.items_at(&[key]);
    let mut found = volumes(of("block_device_mappings"), ["device_name", "ebs", "volume_size"]);
    for block in of("ebs_block_device") {
        let size = block.text_at(&["volume_size"]).and_then(|size| size.parse().ok());
        found.extend(block.text_at(&["device_name"]).zip(size));
    }
    found
}

/// A plan omits the tags of one until it knows their keys.
fn specifications_of_instances<'a>(resource: &TerraformResource<'a>) -> impl Iterator<Item = &'a Tree> {
    let specifications = resource.values.items_at(&["tag_specifications"]).iter();
    specifications
        .filter(|specification| specification.text_at(&["resource_type"]).as_deref() == Some("instance"))
}

fn instance_tags(resource: &TerraformResource<'_>) -> BTreeMap<String, String> {
    specifications_of_instances(resource)
        .flat_map(|specification| texts(specification.get("tags")))
        .collect()
}

/// The name of an AMI, or that of its parameter of SSM, if a data source of the file has read it.
fn image_name(file: &TerraformFile<'_>, id: &str) -> Option<String> {
    let mut sources = image_sources(file, id).into_iter();
    sources.find_map(|source| source.text(&["name"]))
}

/// The data sources that have read the id of an AMI.
fn image_sources<'f, 'a>(file: &'f TerraformFile<'a>, id: &str) -> Vec<&'f TerraformResource<'a>> {
    let kinds = [
        ("aws_ami", ["id", "image_id"]),
        ("aws_ssm_parameter", ["value", "insecure_value"]),
    ];
    let mut sources = Vec::new();
    for (kind, attributes) in kinds {
        let has_read = |source: &&TerraformResource<'_>| {
            let mut values = attributes.iter().filter_map(|key| source.text(&[key]));
            values.any(|value| value == id)
        };
        sources.extend(file.of_kind(&[kind]).filter(has_read));
    }
    sources
}

/// The AMI of a launch template, a launch configuration or an instance.
fn image(resource: &TerraformResource<'_>) -> Option<String> {
    ["image_id", "ami"].iter().find_map(|key| resource.text(&[key]))
}

/// Whether the AMI of a resource is one for arm64: by its parameter of SSM, or by a data source that has read it.
fn has_arm64_image(file: &TerraformFile<'_>, resource: &TerraformResource<'_>) -> bool {
    let Some(image) = image(resource) else {
        return false;
    };
    let is_arm64 = |source: &TerraformResource<'_>| {
        let name = source.text(&["name"]);
        name.is_some_and(|name| is_for_arm64(&name))
            || source.text(&["architecture"]).as_deref() == Some("arm64")
    };
    is_for_arm64(&image) || image_sources(file, &image).into_iter().any(is_arm64)
}
