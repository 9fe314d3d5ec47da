//! What the properties of a machine state: its user data and its traits.

use std::collections::BTreeMap;

use super::groups::StackGroup;
use super::reference::{cluster_property, is_cluster};
use super::role::add_role;
use super::template::{Template, invalid};
use crate::adopt::Stated;
use crate::architecture::{add_arm64_type, is_for_arm64};
use crate::ec2::traits;
use crate::error::ImportError;
use crate::instance_values::{InstanceValues, RESOLVE};
use crate::machine::{AmiFamily, ClusterTraits, Machine, STAND_IN_AMI, StandIn, System, Traits};
use crate::text::from_base64;
use crate::tree::{Tree, TreeValue};
use crate::words::{authentication_mode, dns_ip, family_of_image, stand_in_ami, version_of_image};

/// A machine of launch template data or of similar properties.
pub(super) fn read(
    template: &Template<'_>,
    users: &[&StackGroup<'_>],
    data: &Tree,
) -> Result<Machine, ImportError> {
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
        let plain = machine.user_data.as_deref().unwrap_or_default();
        machine.problems.extend(template.unbraced_names(field, plain));
        let (stack, mut notes) = template.stack(machine.user_data.as_deref());
        machine.stack = stack;
        machine.notes.append(&mut notes);
    }
    Ok(machine)
}

/// `Fn::Base64` of a text, or base64. Empty text and `AWS::NoValue` count as no user data.
fn user_data(template: &Template<'_>, field: &Tree) -> Result<Vec<u8>, ImportError> {
    if let Some(plain) = field.get("Fn::Base64") {
        template.check_substituted(plain)?;
        return Ok(template.text_of(field)?.into_bytes());
    }
    let value = template.evaluate(field)?;
    if value.is_null() || value.text() == Some("") {
        return Ok(Vec::new());
    }
    let value = template.text_of(&value)?;
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

/// Whether the machine is for Windows, as far as it shows without the values that the user data needs: no value makes
/// nodejoin start such a machine.
pub(super) fn is_windows(template: &Template<'_>, users: &[&StackGroup<'_>], data: &Tree) -> bool {
    let family = base(template, data).traits.ami_family;
    let has_script = || {
        data.get("UserData")
            .is_some_and(|field| contains(template, field, "<powershell>"))
    };
    family == Some(AmiFamily::Windows) || users.iter().any(|group| group.is_windows()) || has_script()
}

/// Whether a text of a value contains a word. Of `Fn::If`, the value counts that its condition chooses.
pub(super) fn contains(template: &Template<'_>, tree: &Tree, word: &str) -> bool {
    match &tree.value {
        TreeValue::Scalar { text, .. } => text.to_ascii_lowercase().contains(word),
        TreeValue::List(items) => items.iter().any(|item| contains(template, item, word)),
        TreeValue::Map(entries) => match &entries[..] {
            [(name, argument)] if name == "Fn::If" => chosen_contains(template, argument, word),
            _ => entries.iter().any(|(_, value)| contains(template, value, word)),
        },
    }
}

/// Without the value of its condition, both values of `Fn::If` count.
fn chosen_contains(template: &Template<'_>, argument: &Tree, word: &str) -> bool {
    let [condition, yes, no] = argument.items() else {
        return false;
    };
    match template.condition(condition) {
        Ok(true) => contains(template, yes, word),
        Ok(false) => contains(template, no, word),
        Err(_) => contains(template, yes, word) && contains(template, no, word),
    }
}

/// What properties state besides the user data.
pub(super) fn base(template: &Template<'_>, properties: &Tree) -> Machine {
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
        let name = template.image_name(image);
        traits.ami_family = name.as_deref().and_then(family_of_image);
        traits.image_version = name.as_deref().and_then(version_of_image);
        traits.image_name = name;
        traits.ami_id = Some(STAND_IN_AMI.to_owned());
        traits.stand_ins.extend([stand_in_ami()]);
    }
    traits.cluster = cluster(template, &mut traits.stand_ins);
    Machine {
        line: properties.line(),
        problems: problems(template, properties, &known),
        traits,
        ..Machine::default()
    }
}

/// What EC2 refuses. `known`: the properties without functions.
fn problems(template: &Template<'_>, properties: &Tree, known: &Tree) -> Vec<String> {
    let field = properties.get("ImageId");
    let is_literal = field.is_some_and(|field| field.text().is_some());
    let name = field.and_then(|field| template.image_name(field));
    // A parameter of the template can have the value of one of SSM.
    let image = name.map(|name| match is_literal {
        true => name,
        false => format!("{RESOLVE}{name}"),
    });
    let values = InstanceValues {
        image: image.as_deref(),
        instance_type: known.get("InstanceType").and_then(Tree::text),
        http_tokens: known.at(&["MetadataOptions", "HttpTokens"]).and_then(Tree::text),
        profile_name: known.at(&["IamInstanceProfile", "Name"]).and_then(Tree::text),
    };
    values.problems()
}

/// Whether instances with these properties have no instance profile. A function in place of the properties can add one.
pub(super) fn is_without_profile(properties: &Tree) -> bool {
    let mut keys = properties.entries().iter().map(|(key, _)| key);
    !keys.any(|key| key == "IamInstanceProfile" || key.starts_with("Fn::"))
}

/// Whether properties name an AMI for arm64, as far as the template tells.
pub(super) fn has_arm64_image(template: &Template<'_>, properties: &Tree) -> bool {
    let image = properties.get("ImageId");
    let name = image.and_then(|image| template.image_name(image));
    name.is_some_and(|name| is_for_arm64(&name))
}

/// Gives a machine without an instance type one on which its AMI starts.
pub(super) fn add_type(template: &Template<'_>, properties: &Tree, traits: &mut Traits) {
    if has_arm64_image(template, properties) {
        add_arm64_type(traits);
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
pub(super) fn add_named_cluster(template: &Template<'_>, machine: &mut Machine) {
    if clusters(template).len() < 2 {
        return;
    }
    if let Some(name) = named_cluster(machine) {
        add_cluster(template, &name, machine);
    }
}

/// The name of the cluster that the group or the user data of a machine names.
pub(super) fn named_cluster(machine: &Machine) -> Option<String> {
    let user_data = machine.user_data.as_deref().unwrap_or_default();
    let stated = machine.traits.cluster.name.clone();
    stated.or_else(|| Stated::of(user_data).name)
}

/// Adds the cluster of a template with this name.
pub(super) fn add_cluster(template: &Template<'_>, name: &str, machine: &mut Machine) {
    if let [resource] = clusters_with_name(template, name)[..] {
        let own = cluster_traits(template, resource, &mut machine.traits.stand_ins);
        machine.traits.cluster = std::mem::take(&mut machine.traits.cluster).or(&own);
    }
}

fn clusters_with_name<'a>(template: &Template<'a>, name: &str) -> Vec<&'a Tree> {
    let is_named = |resource: &&Tree| template.cluster_name(resource) == name;
    clusters(template).into_iter().filter(is_named).collect()
}

impl Template<'_> {
    /// Whether the template defines a cluster with this name.
    pub(super) fn has_cluster(&self, name: &str) -> bool {
        !clusters_with_name(self, name).is_empty()
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
