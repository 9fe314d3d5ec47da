//! The cluster of a machine, and the roles that may join it.

use super::file::TerraformFile;
use super::resource::TerraformResource;
use crate::machine::{ClusterTraits, Traits};
use crate::tree::yaml;
use crate::words::{arn_parts, authentication_mode, dns_ip};
use nodejoin_core::plan::aws::IpFamily;

/// Adds what the file tells about the cluster: the one with this name, or the only one.
pub(super) fn describe(file: &TerraformFile<'_>, name: Option<&str>, traits: &mut Traits) {
    let clusters: Vec<_> = file.clusters().collect();
    let names: Vec<_> = clusters.iter().map(|cluster| cluster.text(&["name"])).collect();
    let found = match name {
        Some(name) => names.iter().position(|one| one.as_deref() == Some(name)),
        None => (1..names.len())
            .all(|index| names[index] == names[0])
            .then_some(0),
    };
    traits.cluster.name = name.map(str::to_owned);
    let Some(cluster) = found.and_then(|index| clusters.get(index)) else {
        return;
    };
    let (region, account) = arn_parts(&cluster.text(&["arn"]).unwrap_or_default());
    traits.region = traits.region.take().or(region);
    traits.account = traits.account.take().or(account);
    let own = ClusterTraits {
        node_roles: node_roles(file),
        ..cluster_traits(cluster)
    };
    traits.cluster = std::mem::take(&mut traits.cluster).or(&own);
}

fn cluster_traits(cluster: &TerraformResource<'_>) -> ClusterTraits {
    let network = |key: &str| cluster.text(&["kubernetes_network_config", "0", key]);
    let is_ipv6 = network("ip_family").as_deref() == Some("ipv6");
    let service_cidr = network(if is_ipv6 {
        "service_ipv6_cidr"
    } else {
        "service_ipv4_cidr"
    });
    ClusterTraits {
        name: cluster.text(&["name"]),
        endpoint: cluster.text(&["endpoint"]),
        certificate_authority: cluster.text(&["certificate_authority", "0", "data"]),
        dns_ip: service_cidr.as_deref().and_then(dns_ip),
        service_cidr,
        version: cluster.text(&["version"]),
        ip_family: network("ip_family").map(|_| if is_ipv6 { IpFamily::Ipv6 } else { IpFamily::Ipv4 }),
        authentication_mode: cluster
            .text(&["access_config", "0", "authentication_mode"])
            .as_deref()
            .and_then(authentication_mode),
        node_roles: Vec::new(),
    }
}

/// Roles of access entries for nodes, and of `aws-auth`.
fn node_roles(file: &TerraformFile<'_>) -> Vec<String> {
    let is_of_nodes = |entry: &&TerraformResource<'_>| {
        ["EC2_LINUX", "EC2_WINDOWS", "EC2"].contains(&entry.text(&["type"]).unwrap_or_default().as_str())
    };
    let entries = file.of_kind(&["aws_eks_access_entry"]).filter(is_of_nodes);
    let mut roles: Vec<String> = entries
        .filter_map(|entry| entry.text(&["principal_arn"]))
        .collect();
    let maps = [
        "kubernetes_config_map",
        "kubernetes_config_map_v1",
        "kubernetes_config_map_v1_data",
    ];
    for map in file.of_kind(&maps) {
        if map.text(&["metadata", "0", "name"]).as_deref() == Some("aws-auth") {
            roles.extend(mapped_roles(&map.text(&["data", "mapRoles"]).unwrap_or_default()));
        }
    }
    roles.dedup();
    roles
}

/// The roles that `mapRoles` of `aws-auth` maps to nodes.
pub(crate) fn mapped_roles(text: &str) -> Vec<String> {
    let documents = yaml(text).unwrap_or_default();
    let entries = documents.iter().flat_map(|document| document.items());
    let of_nodes = entries.filter(|entry| {
        let groups = entry.items_at(&["groups"]).iter();
        groups
            .filter_map(|group| group.text())
            .any(|group| group == "system:nodes")
    });
    of_nodes.filter_map(|entry| entry.text_at(&["rolearn"])).collect()
}
