//! eksctl: the node groups of a ClusterConfig.
//!
//! | file | content |
//! | --- | --- |
//! | `cluster.rs` | the cluster |
//! | `group.rs` | what a node group states |
//! | `labels.rs` | its labels and taints |
//! | `fields.rs`, `refusals.rs` | what eksctl refuses |
//! | `bottlerocket.rs` | the settings of Bottlerocket |
//! | `cloud_config.rs` | the cloud-config of self-managed AL2 and Ubuntu nodes |
//! | `render.rs` | the user data of each AMI family |
//! | `machines.rs` | the machine of a node group |

mod bottlerocket;
mod cloud_config;
mod cluster;
mod fields;
mod group;
mod labels;
mod machines;
mod refusals;
mod render;

use crate::adopt::filled;
use crate::error::ImportError;
use crate::input::Import;
use crate::machine::{ClusterTraits, FileFormat, Imported};
use crate::reading::Reading;
use crate::tree::Tree;
use cluster::{cluster, network_of, with_ipv6};
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
    let known = with_ipv6(own.clone().or(input.cluster));
    let made = ClusterTraits::stand_in_at(here);
    let is_on_outpost = document.text_at(&["outpost", "controlPlaneOutpostARN"]).is_some();
    for (key, is_managed) in [("nodeGroups", false), ("managedNodeGroups", true)] {
        for (index, tree) in document.items_at(&[key]).iter().enumerate() {
            let cluster = known.clone().or(&network_of(tree)).or(&made);
            let group = EksctlGroup {
                tree,
                is_managed,
                cluster: &cluster,
                is_on_outpost,
            };
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
    let has_hybrid_nodes = !document
        .items_at(&["remoteNetworkConfig", "remoteNodeNetworks"])
        .is_empty();
    let hint = match (is_auto_mode, has_hybrid_nodes) {
        (true, _) => "nodes of EKS Auto Mode have no user data: add a node group",
        (false, true) => "add a node group: hybrid nodes run outside of EC2, and join by another nodeadm",
        (false, false) => "add a node group: Fargate profiles have no user data",
    };
    reading.finish("no `nodeGroups` or `managedNodeGroups` are in it", hint)
}
