//! The machines of a template.

use std::collections::BTreeMap;

use super::groups::StackGroup;
use super::reference::{cluster_property, is_cluster};
use super::template::{Template, invalid};
use crate::adopt::Stated;
use crate::ec2::{add_managed, key_and_value, not_a_node, traits};
use crate::error::ImportError;
use crate::machine::{AmiFamily, ClusterTraits, Machine, STAND_IN_AMI, StandIn, System, Traits};
use crate::reading::Reading;
use crate::text::{from_base64, joins};
use crate::tree::{Tree, TreeValue};
use crate::words::{authentication_mode, dns_ip, family_of_image, stand_in_ami, version_of_image};

/// What is wrong with a file without machines, and what to give instead.
pub(super) const NOTHING: &str = "no resource of it starts machines with user data";
pub(super) const NOTHING_HINT: &str = "give the template of `AWS::EC2::LaunchTemplate`, `AWS::AutoScaling::LaunchConfiguration`, \
     `AWS::EC2::Instance` or `AWS::EKS::Nodegroup`; each nested stack is a template of its own";

/// Adds the machines of a template; `prefix` begins their names.
pub(super) fn add(template: &Template<'_>, prefix: &str, reading: &mut Reading) {
    let groups = StackGroup::all(template);
    for (id, resource) in template.resources() {
        find_missing(template, &groups, id, resource);
    }
    for (id, resource) in template.resources() {
        let name = format!("{prefix}{id}");
        if id.starts_with("Fn::") {
            reading.add(&name, Err(loop_of_resources(id, resource)));
            continue;
        }
        match is_created(template, resource) {
            Ok(true) => add_resource(template, &groups, (id, resource), &name, reading),
            Ok(false) => {}
            Err(error) => reading.add(&name, Err(error)),
        }
    }
    reading.notes.append(&mut template.notes.borrow_mut());
}

/// `Fn::ForEach`, which a transform of CloudFormation replaces by resources.
fn loop_of_resources(id: &str, resource: &Tree) -> ImportError {
    invalid(
        resource,
        format!("`{id}` stands for resources that CloudFormation makes of it"),
        "give the template that it makes: `aws cloudformation get-template --template-stage Processed`",
    )
}

/// Finds what the user data of a machine lacks, before the first value ends its evaluation.
fn find_missing(template: &Template<'_>, groups: &[StackGroup<'_>], id: &str, resource: &Tree) {
    let properties = resource.get("Properties").filter(|_| is_machine(resource));
    let Some(properties) = properties else { return };
    let data = properties.get("LaunchTemplateData").unwrap_or(properties);
    let is_absent = matches!(is_created(template, resource), Ok(false));
    let is_windows = is_windows(template, &users(template, groups, id, properties), data);
    if let Some(field) = data.get("UserData").filter(|_| !is_absent && !is_windows) {
        template.find_missing(field);
    }
}

/// Whether the condition of a machine's resource holds.
fn is_created(template: &Template<'_>, resource: &Tree) -> Result<bool, ImportError> {
    match resource.get("Condition").filter(|_| is_machine(resource)) {
        Some(name) => template.condition(name),
        None => Ok(true),
    }
}

fn is_machine(resource: &Tree) -> bool {
    let kind = resource.text_at(&["Type"]).unwrap_or_default();
    [
        "AWS::EC2::LaunchTemplate",
        "AWS::AutoScaling::LaunchConfiguration",
        "AWS::EC2::Instance",
        "AWS::EKS::Nodegroup",
    ]
    .contains(&kind.as_str())
}

fn add_resource(
    template: &Template<'_>,
    groups: &[StackGroup<'_>],
    (id, resource): (&str, &Tree),
    name: &str,
    reading: &mut Reading,
) {
    let Some(properties) = resource.get("Properties") else {
        return;
    };
    let named = |mut machine: Machine| {
        add_named_cluster(template, &mut machine);
        Machine {
            name: name.to_owned(),
            literals: template.literals.borrow().clone(),
            ..machine
        }
    };
    match resource.text_at(&["Type"]).unwrap_or_default().as_str() {
        "AWS::EC2::LaunchTemplate" => {
            for (group, machine) in templates(template, groups, id, properties) {
                let name = group.map_or_else(|| name.to_owned(), |group| format!("{name}/{group}"));
                let named = machine.map(|machine| Machine {
                    name: name.clone(),
                    ..named(machine)
                });
                reading.add(&name, named);
            }
        }
        "AWS::AutoScaling::LaunchConfiguration" => {
            let machine = configuration(template, groups, id, properties);
            reading.add(name, machine.map(named));
        }
        "AWS::EC2::Instance" => reading.add(name, instance(template, properties).map(named)),
        "AWS::EKS::Nodegroup" => {
            let group = groups
                .iter()
                .find(|group| group.name == id && !group.has_template());
            if let Some(group) = group {
                let mut machine = base(template, properties);
                let checked = group.check(template).map(|()| {
                    group.describe(&mut machine);
                    named(machine)
                });
                reading.add(name, checked);
            }
        }
        _ => {}
    }
}

/// The groups that start instances from a launch template or a launch configuration.
fn users<'g, 'a>(
    template: &Template<'_>,
    groups: &'g [StackGroup<'a>],
    id: &str,
    properties: &Tree,
) -> Vec<&'g StackGroup<'a>> {
    let name = properties
        .get("LaunchTemplateName")
        .and_then(|name| template.text_of(name).ok());
    let users = groups.iter();
    users.filter(|group| group.starts(id, name.as_deref())).collect()
}

/// Whether the machine is for Windows, as far as it shows without the values that the user data needs: no value makes
/// nodejoin start such a machine.
fn is_windows(template: &Template<'_>, users: &[&StackGroup<'_>], data: &Tree) -> bool {
    let family = base(template, data).traits.ami_family;
    let has_script = || {
        data.get("UserData")
            .is_some_and(|field| contains(field, "<powershell>"))
    };
    family == Some(AmiFamily::Windows) || users.iter().any(|group| group.is_windows()) || has_script()
}

/// Whether a text of a value contains a word.
fn contains(tree: &Tree, word: &str) -> bool {
    match &tree.value {
        TreeValue::Scalar { text, .. } => text.to_ascii_lowercase().contains(word),
        TreeValue::List(items) => items.iter().any(|item| contains(item, word)),
        TreeValue::Map(entries) => entries.iter().any(|(_, value)| contains(value, word)),
    }
}

/// The name of its group, if there are several, and a machine.
type GroupMachine<'g> = (Option<&'g str>, Result<Machine, ImportError>);

/// A launch template of several groups is a machine for each of them.
fn templates<'g>(
    template: &Template<'_>,
    groups: &'g [StackGroup<'_>],
    id: &str,
    properties: &Tree,
) -> Vec<GroupMachine<'g>> {
    let data = properties.get("LaunchTemplateData").unwrap_or(properties);
    let users = users(template, groups, id, properties);
    let machine = match read(template, &users, data) {
        Ok(machine) => machine,
        Err(error) => return vec![(None, Err(error))],
    };
    if users.is_empty() {
        let mut machine = machine;
        add_managed(&mut machine);
        return vec![(None, Ok(machine))];
    }
    let with_group = |group: &&'g StackGroup<'_>| {
        let name = (users.len() > 1).then_some(group.name);
        (name, of_group(template, group, data, machine.clone()))
    };
    users.iter().map(with_group).collect()
}

/// The machine of a launch template in one of its groups.
fn of_group(
    template: &Template<'_>,
    group: &StackGroup<'_>,
    data: &Tree,
    mut machine: Machine,
) -> Result<Machine, ImportError> {
    if group.is_node_group() {
        group.check(template)?;
        group.check_with(template, data)?;
        group.describe(&mut machine);
        return Ok(machine);
    }
    group.describe_scaling(&mut machine);
    machine.traits.instance_type = group.instance_type().or(machine.traits.instance_type.take());
    if machine.traits.ami_id.is_none() {
        machine.problems.push(format!(
            "EC2 starts no instance of the launch template: it names no AMI, and the Auto Scaling group {} adds none; set `ImageId`",
            group.name
        ));
    }
    Ok(machine)
}

fn configuration(
    template: &Template<'_>,
    groups: &[StackGroup<'_>],
    id: &str,
    properties: &Tree,
) -> Result<Machine, ImportError> {
    let users = users(template, groups, id, properties);
    let mut machine = read(template, &users, properties)?;
    for group in users {
        group.describe_scaling(&mut machine);
    }
    Ok(machine)
}

/// An instance without signs of a cluster is not tried.
fn instance(template: &Template<'_>, properties: &Tree) -> Result<Machine, ImportError> {
    let mut machine = read(template, &[], properties)?;
    let tags = template.evaluate_known(properties);
    machine.traits.tags = tags
        .items_at(&["Tags"])
        .iter()
        .filter_map(key_and_value)
        .collect();
    let bytes = machine.user_data.clone().unwrap_or_default();
    let is_node_of_windows = machine.system == System::Windows && contains(properties, "start-eksbootstrap");
    if joins(&String::from_utf8_lossy(&bytes)) || is_node_of_windows {
        return Ok(machine);
    }
    Err(not_a_node(properties))
}

/// A machine of launch template data or of similar properties.
fn read(template: &Template<'_>, users: &[&StackGroup<'_>], data: &Tree) -> Result<Machine, ImportError> {
    let mut machine = base(template, data);
    if is_windows(template, users, data) {
        machine.system = System::Windows;
        return Ok(machine);
    }
    if let Some(field) = data.get("UserData") {
        machine.line = field.line();
        template.is_noting.set(true);
        let bytes = user_data(template, field);
        template.is_noting.set(false);
        machine.user_data = Some(bytes?).filter(|bytes| !bytes.is_empty());
        let (stack, mut notes) = template.stack(machine.user_data.as_deref());
        machine.stack = stack;
        machine.notes.append(&mut notes);
    }
    Ok(machine)
}

/// `Fn::Base64` of a text, or base64.
fn user_data(template: &Template<'_>, field: &Tree) -> Result<Vec<u8>, ImportError> {
    if let Some(plain) = field.get("Fn::Base64") {
        template.check_substituted(plain)?;
        return Ok(template.text_of(field)?.into_bytes());
    }
    let value = template.text_of(field)?;
    let is_plain = ["Fn::Sub", "Fn::Join"]
        .iter()
        .any(|function| field.get(function).is_some());
    // A function that returns `Fn::Base64`, such as `Fn::If`, has left plain text.
    if field.is_map() && !is_plain && crate::text::is_user_data(value.as_bytes()) {
        return Ok(value.into_bytes());
    }
    if value.trim_start().starts_with("#!") || is_plain && crate::text::is_user_data(value.as_bytes()) {
        return Err(invalid(
            field,
            "the user data is not base64".to_owned(),
            "write it as `Fn::Base64`, or `!Base64` in YAML",
        ));
    }
    from_base64(&value, field.line())
}

/// What properties state besides the user data.
fn base(template: &Template<'_>, properties: &Tree) -> Machine {
    let known = template.evaluate_known(properties);
    let mut traits = traits(&known);
    if traits.instance_profile.is_none() {
        traits.instance_profile = known.text_at(&["IamInstanceProfile"]);
    }
    traits.region = template.pseudo("AWS::Region");
    traits.account = traits.account.or_else(|| template.place.account.clone());
    traits.stand_ins.extend(template.stand_ins());
    add_role(template, properties, &mut traits);
    // An AMI that only CloudFormation knows is an AMI.
    let image = properties.get("ImageId").filter(|_| traits.ami_id.is_none());
    if let Some(image) = image.filter(|image| template.evaluate(image).is_err()) {
        traits.ami_family = image.text().and_then(family_of_image);
        traits.image_version = image.text().and_then(version_of_image);
        traits.ami_id = Some(STAND_IN_AMI.to_owned());
        traits.stand_ins.extend([stand_in_ami()]);
    }
    traits.cluster = cluster(template, &mut traits.stand_ins);
    Machine {
        line: properties.line(),
        traits,
        ..Machine::default()
    }
}

/// The role of the instance profile, if the template defines both.
fn add_role(template: &Template<'_>, properties: &Tree, traits: &mut Traits) {
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
    let has_name = template
        .referred(role)
        .is_none_or(|resource| resource.at(&["Properties", "RoleName"]).is_some());
    if let (Some(name), false) = (&traits.role, has_name) {
        traits
            .stand_ins
            .insert(format!("role {name}"), StandIn::OnlyInAws);
    }
}

/// The cluster of the template, if it has one only.
fn cluster(template: &Template<'_>, stand_ins: &mut BTreeMap<String, StandIn>) -> ClusterTraits {
    match clusters(template)[..] {
        [resource] => cluster_traits(template, resource, stand_ins),
        _ => ClusterTraits::default(),
    }
}

fn clusters<'a>(template: &Template<'a>) -> Vec<&'a Tree> {
    let resources = template.resources().iter().map(|(_, resource)| resource);
    resources.filter(|resource| is_cluster(resource)).collect()
}

/// Adds the one of several clusters that the group or the user data of a machine names.
fn add_named_cluster(template: &Template<'_>, machine: &mut Machine) {
    let clusters = clusters(template);
    if clusters.len() < 2 {
        return;
    }
    let user_data = machine.user_data.as_deref().unwrap_or_default();
    let stated = machine.traits.cluster.name.clone();
    let Some(name) = stated.or_else(|| Stated::of(user_data).name) else {
        return;
    };
    let is_named = |resource: &&Tree| template.cluster_name(resource) == name;
    let named: Vec<&Tree> = clusters.into_iter().filter(is_named).collect();
    if let [resource] = named[..] {
        let own = cluster_traits(template, resource, &mut machine.traits.stand_ins);
        machine.traits.cluster = std::mem::take(&mut machine.traits.cluster).or(&own);
    }
}

fn cluster_traits(
    template: &Template<'_>,
    resource: &Tree,
    stand_ins: &mut BTreeMap<String, StandIn>,
) -> ClusterTraits {
    let property = |name: &str| cluster_property(resource, name).map(|tree| template.evaluate_known(tree));
    let text = |tree: Option<Tree>, keys: &[&str]| {
        let tree = tree?;
        keys.iter().find_map(|key| tree.text_at(&[key]))
    };
    let cidr = text(
        property("KubernetesNetworkConfig"),
        &["ServiceIpv4Cidr", "serviceIpv4Cidr"],
    );
    let name = template.cluster_name(resource);
    let stated = cluster_property(resource, "Name").and_then(Tree::text);
    if Some(&name) == ClusterTraits::stand_in().name.as_ref() && stated != Some(name.as_str()) {
        stand_ins.insert(format!("cluster name {name}"), StandIn::NotStated);
    }
    ClusterTraits {
        name: Some(name),
        version: property("Version").and_then(|tree| tree.text().map(str::to_owned)),
        dns_ip: cidr.as_deref().and_then(dns_ip),
        service_cidr: cidr,
        authentication_mode: text(
            property("AccessConfig"),
            &["AuthenticationMode", "authenticationMode"],
        )
        .as_deref()
        .and_then(authentication_mode),
        ..ClusterTraits::default()
    }
}
