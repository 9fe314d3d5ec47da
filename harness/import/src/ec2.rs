//! Outputs of `aws ec2` and `aws autoscaling`, and the launch template data that CloudFormation shares with them.

use std::collections::BTreeMap;

use nodejoin_core::plan::Tokens;

use crate::architecture;
use crate::error::ImportError;
use crate::group_refusals::{Spelling, notes_of_template};
use crate::instance_values::{InstanceValues, misspelt_size};
use crate::machine::{FileFormat, LaunchTemplateVersion, Machine, ManagedNodeGroup, Traits};
use crate::reading::Reading;
use crate::text::from_base64;
use crate::tree::Tree;
use crate::words::{CLUSTER_TAG, ami_id, arn_parts, family_of_image, stand_ins_of_image, version_of_image};

/// The word in the first version of a launch template that Rancher creates, because templates cannot be empty.
const PLACEHOLDER: &str = "placeholder";

/// `aws ec2 describe-launch-template-versions`.
pub(crate) fn launch_template_versions(versions: &[Tree]) -> Reading {
    read_versions(FileFormat::LaunchTemplateVersions, versions)
}

/// One version of that output. The input of `create-launch-template` and the output of `get-launch-template-data` have
/// the same field, and neither a number nor an id.
pub(crate) fn launch_template_version(version: &Tree) -> Reading {
    let is_version = ["VersionNumber", "LaunchTemplateId"]
        .iter()
        .any(|key| version.get(key).is_some());
    let format = match is_version {
        true => FileFormat::LaunchTemplateVersions,
        false => FileFormat::LaunchTemplateData,
    };
    read_versions(format, std::slice::from_ref(version))
}

fn read_versions(format: FileFormat, versions: &[Tree]) -> Reading {
    let mut reading = Reading::of(format);
    for version in versions {
        let template = version
            .text_at(&["LaunchTemplateName"])
            .or_else(|| version.text_at(&["LaunchTemplateId"]))
            .unwrap_or_else(|| "launch-template".to_owned());
        let name = match version.text_at(&["VersionNumber"]) {
            Some(number) => format!("{template}/{number}"),
            None => template,
        };
        reading.add(&name, version_machine(&name, version));
    }
    reading
}

fn version_machine(name: &str, version: &Tree) -> Result<Machine, ImportError> {
    let data = version.get("LaunchTemplateData").unwrap_or(version);
    let mut machine = launch_template(name, data)?;
    let text = machine.user_data.as_deref().map(String::from_utf8_lossy);
    if text.is_some_and(|text| text.trim() == PLACEHOLDER) {
        return Err(ImportError::PlaceholderVersion {
            machine: name.to_owned(),
            hint: "give the version that the node group uses: `aws ec2 describe-launch-template-versions --versions N`"
                .to_owned(),
        });
    }
    if let Some(group) = &mut machine.managed {
        let text = |key| version.text_at(&[key]);
        if let Some((id, number)) = text("LaunchTemplateId").zip(text("VersionNumber")) {
            group.launch_template = Some(LaunchTemplateVersion { id, number });
        }
    }
    if version.get("DefaultVersion").is_some_and(Tree::is_true) {
        machine
            .notes
            .push("the default version of the launch template".to_owned());
    }
    Ok(machine)
}

/// The data of a launch template, whose user data is base64.
pub(crate) fn launch_template(name: &str, data: &Tree) -> Result<Machine, ImportError> {
    let mut machine = Machine {
        name: name.to_owned(),
        line: data.line(),
        traits: traits(data),
        ..Machine::default()
    };
    if let Some(field) = data.get("UserData").filter(|field| field.text() != Some("")) {
        let text = field.text().unwrap_or_default();
        machine.line = field.line();
        machine.user_data = Some(from_base64(text, field.line())?).filter(|bytes| !bytes.is_empty());
    }
    machine.problems.extend(refused_values(data));
    add_type(&mut machine.traits, data);
    add_managed(&mut machine, data, Spelling::Pascal);
    Ok(machine)
}

/// What EC2 refuses of the AMI, the instance type, the metadata options and the instance profile.
fn refused_values(data: &Tree) -> Vec<String> {
    let text = |path: &[&str]| data.at(path).and_then(Tree::text);
    let values = InstanceValues {
        image: text(&["ImageId"]),
        instance_type: text(&["InstanceType"]),
        http_tokens: text(&["MetadataOptions", "HttpTokens"]),
        profile_name: text(&["IamInstanceProfile", "Name"]),
    };
    values.problems()
}

/// An AMI for arm64 does not start on the default type.
fn add_type(traits: &mut Traits, data: &Tree) {
    let image = data.text_at(&["ImageId"]);
    if image.is_some_and(|image| architecture::is_for_arm64(&image)) {
        architecture::add_arm64_type(traits);
    }
}

/// Gives the nodes of a managed node group the first of its instance types, or the default of EKS, on which an AMI for
/// arm64 does not start.
pub(crate) fn add_group_type(traits: &mut Traits, instance_types: &[String], is_arm64: bool) {
    if traits.instance_type.is_some() {
        return;
    }
    match instance_types.first() {
        Some(first) => traits.instance_type = Some(first.clone()),
        None if is_arm64 => architecture::add_arm64_type(traits),
        None => traits.instance_type = Some(architecture::GROUP_INSTANCE_TYPE.to_owned()),
    }
}

/// A launch template without an AMI works in a managed node group only, where EKS adds the AMI and its own part. `data`
/// is what the template states.
pub(crate) fn add_managed(machine: &mut Machine, data: &Tree, spelling: Spelling) {
    if machine.traits.ami_id.is_none() && machine.managed.is_none() {
        let tags = &machine.traits.tags;
        machine.managed = Some(ManagedNodeGroup {
            name: tags.get("eks:nodegroup-name").cloned(),
            launch_template: Some(LaunchTemplateVersion::stand_in()),
            ..ManagedNodeGroup::default()
        });
        machine.notes.push(
            "the launch template names no AMI: EKS adds its own part to the user data in a managed node group"
                .to_owned(),
        );
        machine.notes.append(&mut notes_of_template(data, spelling));
    }
}

/// `aws ec2 describe-instance-attribute --attribute userData`.
pub(crate) fn instance_attribute(document: &Tree) -> Reading {
    let mut reading = Reading::of(FileFormat::InstanceAttribute);
    let name = document
        .text_at(&["InstanceId"])
        .unwrap_or_else(|| "instance".to_owned());
    let machine = match document.at(&["UserData", "Value"]) {
        Some(field) => from_base64(field.text().unwrap_or_default(), field.line()).map(|bytes| Machine {
            name: name.clone(),
            line: field.line(),
            user_data: Some(bytes).filter(|bytes| !bytes.is_empty()),
            ..Machine::default()
        }),
        None => Ok(Machine {
            name: name.clone(),
            line: document.line(),
            ..Machine::default()
        }),
    };
    reading.add(&name, machine);
    reading
}

/// The error for outputs of `aws` that describe machines without their user data.
pub(crate) fn without_user_data(document: &Tree) -> Option<ImportError> {
    const VERSIONS: &str =
        "aws ec2 describe-launch-template-versions --launch-template-name NAME --versions N";
    let (key, command, next) = [
        (
            "Reservations",
            "aws ec2 describe-instances",
            "aws ec2 describe-instance-attribute --attribute userData --instance-id ID",
        ),
        ("LaunchTemplates", "aws ec2 describe-launch-templates", VERSIONS),
        (
            "AutoScalingGroups",
            "aws autoscaling describe-auto-scaling-groups",
            VERSIONS,
        ),
        ("nodegroup", "aws eks describe-nodegroup", VERSIONS),
    ]
    .into_iter()
    .find(|(key, ..)| {
        // A file of another tool may have this key, too.
        let is_of_aws = |value: &Tree| *key != "nodegroup" || value.get("nodegroupName").is_some();
        document
            .get(key)
            .is_some_and(|value| value.text().is_none() && is_of_aws(value))
    })?;
    Some(ImportError::NoMachine {
        format: format!("the output of `{command}`"),
        why: format!("`{key}` has no user data"),
        hint: format!("give the output of `{next}`"),
    })
}

/// Whether a document is what `--launch-template-data` or `run-instances` takes.
pub(crate) fn is_instance_data(document: &Tree) -> bool {
    const KEYS: [&str; 6] = [
        "BlockDeviceMappings",
        "IamInstanceProfile",
        "ImageId",
        "InstanceType",
        "MetadataOptions",
        "TagSpecifications",
    ];
    let is_data = KEYS.iter().any(|key| document.get(key).is_some());
    is_data && document.get("UserData").and_then(Tree::text).is_some()
}

/// The data of one launch template, a launch configuration, or the input of a command that encodes the user data
/// itself: `aws ec2 run-instances` and `aws autoscaling create-launch-configuration`.
pub(crate) fn instance_data(document: &Tree) -> Reading {
    if is_launch_configuration(document) {
        return launch_configurations(std::slice::from_ref(document));
    }
    let has = |key: &str| document.get(key).is_some();
    let name = document.text_at(&["LaunchConfigurationName"]);
    let (format, name) = match name {
        Some(name) => (FileFormat::CreateLaunchConfiguration, name),
        None if has("MinCount") || has("MaxCount") => (FileFormat::RunInstances, "instance".to_owned()),
        None => return launch_template_data(std::slice::from_ref(document)),
    };
    let mut traits = traits(document);
    traits.instance_profile = traits
        .instance_profile
        .or_else(|| document.text_at(&["IamInstanceProfile"]));
    add_type(&mut traits, document);
    let machine = Machine {
        name: name.clone(),
        line: document.get("UserData").and_then(Tree::line),
        user_data: document.text_at(&["UserData"]).map(String::into_bytes),
        traits,
        problems: refused_values(document),
        ..Machine::default()
    };
    let mut reading = Reading::of(format);
    reading.add(&name, Ok(machine));
    reading
}

/// A list that `--query` prints: launch configurations, or the data of launch templates.
pub(crate) fn instance_data_list(documents: &[Tree]) -> Reading {
    match documents.iter().any(is_launch_configuration) {
        true => launch_configurations(documents),
        false => launch_template_data(documents),
    }
}

fn launch_template_data(documents: &[Tree]) -> Reading {
    const NAME: &str = "launch-template";
    let mut reading = Reading::of(FileFormat::LaunchTemplateData);
    for document in documents {
        reading.add(NAME, launch_template(NAME, document));
    }
    reading
}

/// Whether a document is a launch configuration that exists: an input to create one has neither of these keys.
fn is_launch_configuration(document: &Tree) -> bool {
    ["LaunchConfigurationARN", "CreatedTime"]
        .iter()
        .any(|key| document.get(key).is_some())
        && document.get("LaunchConfigurationName").is_some()
}

/// `aws autoscaling describe-launch-configurations`.
pub(crate) fn launch_configurations(configurations: &[Tree]) -> Reading {
    let mut reading = Reading::of(FileFormat::LaunchConfigurations);
    for configuration in configurations {
        let name = configuration
            .text_at(&["LaunchConfigurationName"])
            .unwrap_or_else(|| "launch-configuration".to_owned());
        let machine = launch_template(&name, configuration).map(|mut machine| {
            // A launch configuration always names an AMI: EKS adds nothing.
            machine.managed = None;
            machine.traits.instance_profile = configuration.text_at(&["IamInstanceProfile"]);
            let arn = configuration
                .text_at(&["LaunchConfigurationARN"])
                .unwrap_or_default();
            (machine.traits.region, machine.traits.account) = arn_parts(&arn);
            machine
        });
        reading.add(&name, machine);
    }
    reading
}

/// What launch template data states besides the user data.
pub(crate) fn traits(data: &Tree) -> Traits {
    let options = data.get("MetadataOptions");
    let image = data.text_at(&["ImageId"]);
    let option = |key: &str| options.and_then(|options| options.text_at(&[key]));
    Traits {
        ami_family: image.as_deref().and_then(family_of_image),
        ami_id: image.as_deref().map(ami_id),
        image_name: image.clone(),
        instance_type: data.text_at(&["InstanceType"]),
        instance_profile: data
            .text_at(&["IamInstanceProfile", "Arn"])
            .or_else(|| data.text_at(&["IamInstanceProfile", "Name"])),
        tags: instance_tags(data.items_at(&["TagSpecifications"])),
        volumes: volumes(
            data.items_at(&["BlockDeviceMappings"]),
            ["DeviceName", "Ebs", "VolumeSize"],
        ),
        http_tokens: option("HttpTokens").as_deref().and_then(tokens),
        hop_limit: option("HttpPutResponseHopLimit").and_then(|limit| limit.parse().ok()),
        http_endpoint: option("HttpEndpoint").map(|state| state == "enabled"),
        metadata_tags: option("InstanceMetadataTags").map(|state| state == "enabled"),
        image_version: image.as_deref().and_then(version_of_image),
        stand_ins: stand_ins_of_image(image.as_deref()),
        is_spot: is_spot(data),
        ..Traits::default()
    }
}

/// Whether a launch template or a launch configuration requests spot instances.
fn is_spot(data: &Tree) -> bool {
    let market = data.text_at(&["InstanceMarketOptions", "MarketType"]);
    market.as_deref() == Some("spot") || data.get("SpotPrice").is_some()
}

/// The EBS volumes of block device mappings, without the root volume of Amazon Linux and Ubuntu. `keys`: those of the
/// device's name, of the volume, and of its size in GiB.
pub(crate) fn volumes(mappings: &[Tree], [device, ebs, size]: [&str; 3]) -> BTreeMap<String, u32> {
    const ROOTS: [&str; 3] = ["/dev/xvda", "/dev/sda1", "/dev/sda"];
    // What EC2 gives a volume without a size or snapshot does not matter: such a mapping is invalid.
    const NO_SIZE: u32 = 1;
    let volume = |mapping: &Tree| {
        let name = mapping.text_at(&[device])?;
        let volume = mapping.get(ebs)?;
        let volume = volume.items().first().unwrap_or(volume);
        let size = volume.text_at(&[size]).unwrap_or_default();
        let digits: String = size.chars().take_while(char::is_ascii_digit).collect();
        let is_root = ROOTS.contains(&name.as_str());
        (!is_root).then(|| (name, digits.parse().unwrap_or(NO_SIZE)))
    };
    mappings.iter().filter_map(volume).collect()
}

/// The value of `HttpTokens`.
pub(crate) fn tokens(text: &str) -> Option<Tokens> {
    match text {
        "required" => Some(Tokens::Required),
        "optional" => Some(Tokens::Optional),
        _ => None,
    }
}

fn instance_tags(specifications: &[Tree]) -> BTreeMap<String, String> {
    let of_instances = specifications
        .iter()
        .filter(|specification| specification.text_at(&["ResourceType"]).as_deref() == Some("instance"));
    of_instances
        .flat_map(|specification| specification.items_at(&["Tags"]))
        .filter_map(key_and_value)
        .collect()
}

/// A tag as AWS' APIs write it.
pub(crate) fn key_and_value(tag: &Tree) -> Option<(String, String)> {
    Some((
        tag.text_at(&["Key"])?,
        tag.text_at(&["Value"]).unwrap_or_default(),
    ))
}

/// Adds the tags of an Auto Scaling group: those that it gives to its instances, and the others. `keys`: those of a
/// tag's key, of its value, and of whether instances get it.
pub(crate) fn add_group_tags(traits: &mut Traits, tags: &[Tree], [key, value, propagates]: [&str; 3]) {
    for tag in tags {
        let entry = tag
            .text_at(&[key])
            .map(|key| (key, tag.text_at(&[value]).unwrap_or_default()));
        traits.has_unknown_tags |= entry.is_none();
        match tag
            .text_at(&[propagates])
            .map(|word| word.to_ascii_lowercase())
            .as_deref()
        {
            Some("true") => traits.tags.extend(entry),
            Some("false") => traits.lost_tags.extend(entry),
            _ => traits.has_unknown_tags = true,
        }
    }
}

/// Adds what EC2 refuses of the instance types of a mixed group. Some can have a launch template of their own, and so
/// another AMI. `keys`: those of a type and of its launch template.
pub(crate) fn check_overrides(machine: &mut Machine, overrides: &[Tree], [name, template]: [&str; 2]) {
    let names = overrides.iter().filter_map(|one| one.text_at(&[name]));
    for problem in names.filter_map(|name| misspelt_size(&name)) {
        if !machine.problems.contains(&problem) {
            machine.problems.push(problem);
        }
    }
    let is_given = |tree: &Tree| !tree.items().is_empty() || !tree.entries().is_empty();
    if overrides
        .iter()
        .any(|one| one.get(template).is_some_and(is_given))
    {
        machine.traits.image_name = None;
    }
}

/// Whether an Auto Scaling group starts spot instances alone, by the distribution of its mixed instances. `base` and
/// `above`: the keys of the number of on-demand instances, which is 0 by default, and of their share above it, which is
/// 100 by default.
pub(crate) fn is_all_spot(distribution: Option<&Tree>, [base, above]: [&str; 2]) -> bool {
    let number = |key: &str| distribution.and_then(|distribution| distribution.text_at(&[key]));
    let is_zero = |number: String| number == "0";
    number(above).is_some_and(is_zero) && number(base).is_none_or(is_zero)
}

/// Whether a tag of an instance names a cluster.
pub(crate) fn names_cluster(tags: &BTreeMap<String, String>) -> bool {
    tags.keys().any(|key| key.starts_with(CLUSTER_TAG))
}

/// Most instances of a file are not nodes: one without signs of a cluster is not tried. `tags` are its own.
pub(crate) fn not_a_node(instance: &Tree, tags: &BTreeMap<String, String>) -> ImportError {
    ImportError::OutOfScope {
        line: instance.line(),
        what: "an instance that is not a node",
        why: match names_cluster(tags) {
            true => "its user data calls no bootstrap program",
            false => "its user data calls no bootstrap program, and no tag names a cluster",
        },
        hint: "if it is a node, give its user data as a file",
    }
}
