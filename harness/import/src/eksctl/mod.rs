//! eksctl: the node groups of a ClusterConfig.
//!
//! | file | content |
//! | --- | --- |
//! | `group.rs` | what a node group states |
//! | `fields.rs`, `refusals.rs` | what eksctl refuses |
//! | `render.rs` | the user data of each AMI family |
//! | `cloud_config.rs` | the cloud-config of self-managed AL2 and Ubuntu nodes |

mod cloud_config;
mod fields;
mod group;
mod refusals;
mod render;

use crate::adopt::filled;
use crate::error::ImportError;
use crate::input::Import;
use crate::machine::{ClusterTraits, FileFormat, Imported};
use crate::reading::Reading;
use crate::tree::Tree;
use crate::words::{authentication_mode, dns_ip};
use group::EksctlGroup;

/// Whether a manifest is a ClusterConfig.
pub(crate) fn is_manifest(document: &Tree) -> bool {
    document
        .text_at(&["apiVersion"])
        .is_some_and(|api| api.starts_with("eksctl.io/"))
}

/// Reads a ClusterConfig.
pub(crate) fn read(input: &Import<'_>, document: &Tree) -> Result<Imported, ImportError> {
    // eksctl fills in nothing itself: people render such files with envsubst.
    let document = &document.with_texts(&|text| filled(text, input.set));
    if let Some(name) = document.at(&["metadata", "name"]) {
        let text = name.text().unwrap_or_default();
        if text.contains("${") {
            return Err(ImportError::Invalid {
                line: name.line(),
                column: name.line().map(|_| name.column),
                problem: format!("`metadata.name` is `{text}`, which is not filled in"),
                hint: "give the values of its names: `--set NAME=VALUE`".to_owned(),
            });
        }
    }
    let mut reading = Reading::of(FileFormat::Eksctl);
    reading.notes.push(
        "rendered as eksctl does: the launch template of the group has the true user data (`aws ec2 \
         describe-launch-template-versions`)"
            .to_owned(),
    );
    fields::check_config(document, &mut reading.notes)?;
    let own = cluster(document);
    let region = document.text_at(&["metadata", "region"]);
    let here = region.as_deref().and_then(|region| region.parse().ok());
    let cluster = own
        .clone()
        .or(input.cluster)
        .or(&ClusterTraits::stand_in_at(here));
    for (key, is_managed) in [("nodeGroups", false), ("managedNodeGroups", true)] {
        for (index, tree) in document.items_at(&[key]).iter().enumerate() {
            let group = EksctlGroup::of(tree, is_managed, &cluster);
            let name = tree.text_at(&["name"]).unwrap_or_else(|| index.to_string());
            let machine = group.machine(&format!("{key}/{name}")).map(|mut machine| {
                machine.traits.region.clone_from(&region);
                machine.traits.cluster = own.clone().or(input.cluster);
                machine
            });
            reading.add(&format!("{key}/{name}"), machine);
        }
    }
    let is_auto_mode = document
        .at(&["autoModeConfig", "enabled"])
        .is_some_and(Tree::is_true);
    let hint = match is_auto_mode {
        true => "nodes of EKS Auto Mode have no user data: add a node group",
        false => "add a node group: Fargate profiles have no user data",
    };
    reading.finish("no `nodeGroups` or `managedNodeGroups` are in it", hint)
}

fn cluster(document: &Tree) -> ClusterTraits {
    let service_cidr = document.text_at(&["kubernetesNetworkConfig", "serviceIPv4CIDR"]);
    ClusterTraits {
        name: document.text_at(&["metadata", "name"]),
        version: document.text_at(&["metadata", "version"]),
        dns_ip: service_cidr.as_deref().and_then(dns_ip),
        service_cidr,
        authentication_mode: document
            .text_at(&["accessConfig", "authenticationMode"])
            .as_deref()
            .and_then(authentication_mode),
        ..ClusterTraits::default()
    }
}
