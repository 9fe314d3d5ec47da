//! Rancher: the node groups of an EKSClusterConfig.

use nodejoin_core::plan::aws::IpFamily;

use crate::error::ImportError;
use crate::group_values::GroupValues;
use crate::instance_types::max_pods;
use crate::known_fields::KnownFields;
use crate::machine::{AmiFamily, CapacityType, FileFormat, Imported, Machine, ManagedNodeGroup, Traits};
use crate::reading::Reading;
use crate::text::beginning;
use crate::tree::Tree;
use crate::words::{list, texts};

/// Words that Rancher demands in user data.
const DEMANDED: &str = "Content-Type: multipart/mixed";
/// Why the AMI is one of AL2023 (eks-operator fb28a54c, cb550c15).
const AMI_TYPE: &str = "Rancher chooses the AMI type, one of AL2023: its eks-operator does since v1.9.0, with `gpu` since v1.10.1, and chose \
                        one of AL2 before (`--with 'image: al2'`)";

const NODE_GROUP: KnownFields = KnownFields {
    place: "a node group of an EKSClusterConfig",
    consequence: "kubectl refuses it, and other clients lose it",
    fields: &[&[
        "arm",
        "desiredSize",
        "diskSize",
        "ec2SshKey",
        "gpu",
        "imageId",
        "instanceType",
        "labels",
        "launchTemplate",
        "maxSize",
        "minSize",
        "name",
        "nodeRole",
        "nodegroupName",
        "requestSpotInstances",
        "resourceTags",
        "spotInstanceTypes",
        "subnets",
        "tags",
        "userData",
        "version",
    ]],
    elsewhere: None,
};

/// Whether a manifest is an EKSClusterConfig.
pub(crate) fn is_manifest(document: &Tree) -> bool {
    document
        .text_at(&["apiVersion"])
        .is_some_and(|api| api.starts_with("eks.cattle.io/"))
}

/// Reads an EKSClusterConfig.
pub(crate) fn read(document: &Tree) -> Result<Imported, ImportError> {
    let mut reading = Reading::of(FileFormat::Rancher);
    let spec = document.get("spec").unwrap_or(document);
    for (index, group) in spec.items_at(&["nodeGroups"]).iter().enumerate() {
        let name = ["nodegroupName", "name"]
            .iter()
            .find_map(|key| group.text_at(&[key]))
            .unwrap_or_else(|| index.to_string());
        reading.add(&name, machine(&name, spec, group));
    }
    reading.finish("no `nodeGroups` are in it", "add a node group")
}

fn machine(name: &str, spec: &Tree, group: &Tree) -> Result<Machine, ImportError> {
    let mut notes = Vec::new();
    NODE_GROUP.check(group, &mut notes)?;
    if let Some(template) = group.text_at(&["launchTemplate", "id"]) {
        return Err(ImportError::InLaunchTemplate {
            line: group.line(),
            owner: format!("node group `{name}`"),
            template,
        });
    }
    let text = group.text_at(&["userData"]);
    if let Some(text) = text.as_deref().filter(|text| !text.contains(DEMANDED)) {
        return Err(ImportError::Invalid {
            line: group.get("userData").and_then(Tree::line),
            column: None,
            problem: format!(
                "Rancher rejects the user data of node group `{name}`, which begins with `{}`",
                beginning(text)
            ),
            hint: format!("write it as a MIME message whose header has `{DEMANDED}`"),
        });
    }
    let mut machine = Machine {
        name: name.to_owned(),
        line: group.get("userData").unwrap_or(group).line(),
        user_data: text.map(String::into_bytes),
        traits: traits(spec, group),
        notes,
        problems: values(spec, group).problems(),
        ..Machine::default()
    };
    if machine.traits.ami_id.is_none() {
        machine.traits.ami_family = Some(AmiFamily::Al2023);
        machine.notes.push(AMI_TYPE.to_owned());
        machine.managed = Some(managed(name, &machine, group));
    }
    Ok(machine)
}

fn traits(spec: &Tree, group: &Tree) -> Traits {
    let mut traits = Traits {
        ami_id: group.text_at(&["imageId"]),
        instance_type: instance_type(group),
        is_spot: is_spot(group),
        region: spec.text_at(&["region"]),
        role: group.text_at(&["nodeRole"]),
        tags: texts(group.get("resourceTags")),
        labels: texts(group.get("labels")),
        ..Traits::default()
    };
    traits.cluster.name = spec.text_at(&["displayName"]);
    if spec.text_at(&["ipFamily"]).as_deref() == Some("ipv6") {
        traits.cluster.ip_family = Some(IpFamily::Ipv6);
    }
    traits.cluster.version = group
        .text_at(&["version"])
        .or_else(|| spec.text_at(&["kubernetesVersion"]));
    traits
}

/// What the group states in the words of EKS. Rancher chooses its AMI type.
fn values(spec: &Tree, group: &Tree) -> GroupValues {
    let is_true = |key: &str| group.get(key).is_some_and(Tree::is_true);
    let ami_type = match (is_true("arm"), is_true("gpu")) {
        (true, _) => "AL2023_ARM_64_STANDARD",
        (false, true) => "AL2023_x86_64_NVIDIA",
        (false, false) => "AL2023_x86_64_STANDARD",
    };
    let instance_types = match &spot_types(group)[..] {
        [] => group.text_at(&["instanceType"]).into_iter().collect(),
        types => types.to_vec(),
    };
    GroupValues {
        ami_type: group.get("imageId").is_none().then(|| ami_type.to_owned()),
        version: group.text_at(&["version"]),
        cluster_version: spec.text_at(&["kubernetesVersion"]),
        instance_types,
        labels: texts(group.get("labels")),
        role: group.text_at(&["nodeRole"]),
        ..GroupValues::default()
    }
}

/// The types of spot instances, for which Rancher does not read `instanceType`.
fn spot_types(group: &Tree) -> Vec<String> {
    let types = list(group.items_at(&["spotInstanceTypes"]));
    types.into_iter().filter(|_| is_spot(group)).collect()
}

fn is_spot(group: &Tree) -> bool {
    group.get("requestSpotInstances").is_some_and(Tree::is_true)
}

/// Of several types, the one with the fewest pods: EKS takes its number for all nodes.
fn instance_type(group: &Tree) -> Option<String> {
    let types = spot_types(group);
    let smallest = types.iter().min_by_key(|name| max_pods(name).unwrap_or(u32::MAX));
    smallest.cloned().or_else(|| group.text_at(&["instanceType"]))
}

fn managed(name: &str, machine: &Machine, group: &Tree) -> ManagedNodeGroup {
    let of_spot = spot_types(group);
    let types = match of_spot.is_empty() {
        true => machine.traits.instance_type.iter().cloned().collect(),
        false => of_spot,
    };
    ManagedNodeGroup {
        name: Some(name.to_owned()),
        labels: machine.traits.labels.clone(),
        taints: Vec::new(),
        capacity_type: Some(if is_spot(group) {
            CapacityType::Spot
        } else {
            CapacityType::OnDemand
        }),
        instance_types: types,
        ..ManagedNodeGroup::default()
    }
}
