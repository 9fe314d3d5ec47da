//! The cluster of a machine.

use super::access::access;
use super::file::TerraformFile;
use super::resource::TerraformResource;
use crate::machine::{ClusterTraits, Traits};
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
        // Access to a cluster of another file.
        if clusters.is_empty() {
            traits.cluster.access = access(file, name);
        }
        return;
    };
    let (region, account) = arn_parts(&cluster.text(&["arn"]).unwrap_or_default());
    traits.region = traits.region.take().or(region);
    traits.account = traits.account.take().or(account);
    let own = ClusterTraits {
        access: access(file, cluster.text(&["name"]).as_deref().or(name)),
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
        ..ClusterTraits::default()
    }
}
