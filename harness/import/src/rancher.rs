//! Rancher: the node groups of an EKSClusterConfig.

use nodejoin_core::plan::aws::IpFamily;

use crate::error::ImportError;
use crate::machine::{CapacityType, FileFormat, Imported, Machine, ManagedNodeGroup, Traits};
use crate::reading::Reading;
use crate::text::beginning;
use crate::tree::Tree;
use crate::words::{list, texts};

/// Words that Rancher demands in user data.
const DEMANDED: &str = "Content-Type: multipart/mixed";

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
    if let Some(template) = group.text_at(&["launchTemplate", "id"]) {
        return Err(ImportError::Invalid {
            line: group.line(),
            column: None,
            problem: format!("the user data of node group `{name}` is in launch template `{template}`"),
            hint: "give the output of `aws ec2 describe-launch-template-versions --launch-template-id ID`"
                .to_owned(),
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
        ..Machine::default()
    };
    if machine.traits.ami_id.is_none() {
        machine.managed = Some(managed(name, &machine, group));
    }
    Ok(machine)
}

fn traits(spec: &Tree, group: &Tree) -> Traits {
    let mut traits = Traits {
        ami_id: group.text_at(&["imageId"]),
        instance_type: group.text_at(&["instanceType"]),
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

fn managed(name: &str, machine: &Machine, group: &Tree) -> ManagedNodeGroup {
    let is_spot = group.get("requestSpotInstances").is_some_and(Tree::is_true);
    let types = match is_spot {
        true => list(group.items_at(&["spotInstanceTypes"])),
        false => machine.traits.instance_type.iter().cloned().collect(),
    };
    ManagedNodeGroup {
        name: Some(name.to_owned()),
        labels: machine.traits.labels.clone(),
        taints: Vec::new(),
        capacity_type: Some(if is_spot {
            CapacityType::Spot
        } else {
            CapacityType::OnDemand
        }),
        instance_types: types,
        ..ManagedNodeGroup::default()
    }
}
