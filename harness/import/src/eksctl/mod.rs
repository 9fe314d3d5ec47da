//! eksctl: the node groups of a ClusterConfig.
//!
//! | file | content |
//! | --- | --- |
//! | `group.rs` | what a node group states |
//! | `labels.rs` | its labels and taints |
//! | `fields.rs`, `refusals.rs` | what eksctl refuses |
//! | `render.rs` | the user data of each AMI family |
//! | `bottlerocket.rs` | the settings of Bottlerocket |
//! | `cloud_config.rs` | the cloud-config of self-managed AL2 and Ubuntu nodes |

mod bottlerocket;
mod cloud_config;
mod fields;
mod group;
mod labels;
mod refusals;
mod render;

use nodejoin_core::plan::aws::IpFamily;

use crate::adopt::filled;
use crate::eks::STAND_IN_IPV6;
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
        if is_open(text) {
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
    let cluster = with_ipv6(own.clone().or(input.cluster)).or(&ClusterTraits::stand_in_at(here));
    let is_on_outpost = document.text_at(&["outpost", "controlPlaneOutpostARN"]).is_some();
    for (key, is_managed) in [("nodeGroups", false), ("managedNodeGroups", true)] {
        for (index, tree) in document.items_at(&[key]).iter().enumerate() {
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
    let hint = match is_auto_mode {
        true => "nodes of EKS Auto Mode have no user data: add a node group",
        false => "add a node group: Fargate profiles have no user data",
    };
    reading.finish("no `nodeGroups` or `managedNodeGroups` are in it", hint)
}

/// Whether a text has a name in place of a value, such as `${NAME}` or `<name>`.
fn is_open(text: &str) -> bool {
    let has_both =
        |begin: &str, end: &str| text.split_once(begin).is_some_and(|(_, rest)| rest.contains(end));
    text.contains("${") || has_both("<", ">") || has_both("{{", "}}")
}

fn cluster(document: &Tree) -> ClusterTraits {
    let network = |key: &str| document.text_at(&["kubernetesNetworkConfig", key]);
    let service_cidr = network("serviceIPv6CIDR").or_else(|| network("serviceIPv4CIDR"));
    ClusterTraits {
        name: document.text_at(&["metadata", "name"]),
        version: document.text_at(&["metadata", "version"]),
        dns_ip: service_cidr.as_deref().and_then(dns_ip),
        service_cidr,
        ip_family: is_ipv6(document).then_some(IpFamily::Ipv6),
        authentication_mode: document
            .text_at(&["accessConfig", "authenticationMode"])
            .as_deref()
            .and_then(authentication_mode),
        ..ClusterTraits::default()
    }
}

/// eksctl reads the family in any case.
fn is_ipv6(document: &Tree) -> bool {
    let family = document.text_at(&["kubernetesNetworkConfig", "ipFamily"]);
    family.is_some_and(|family| family.eq_ignore_ascii_case("IPv6"))
}

/// EKS chooses the network of services in an IPv6 cluster: a stand-in takes its place.
fn with_ipv6(mut cluster: ClusterTraits) -> ClusterTraits {
    if cluster.ip_family == Some(IpFamily::Ipv6) && cluster.service_cidr.is_none() {
        cluster.dns_ip = dns_ip(STAND_IN_IPV6);
        cluster.service_cidr = Some(STAND_IN_IPV6.to_owned());
    }
    cluster
}
