//! The cluster of a machine.

use nodejoin_core::plan::aws::IpFamily;

use super::access::access;
use super::resource::{PulumiResource, PulumiStack};
use crate::machine::{ClusterTraits, Traits};
use crate::words::{arn_parts, authentication_mode, dns_ip};

/// Adds what the stack tells about the cluster: the one with this name, or the only one.
pub(super) fn describe(stack: &PulumiStack<'_>, name: Option<&str>, traits: &mut Traits) {
    let clusters: Vec<_> = stack.of_kind("aws:eks/cluster:Cluster").collect();
    traits.cluster.name = name.map(str::to_owned);
    let found = match (name, &clusters[..]) {
        (Some(name), all) => all
            .iter()
            .find(|cluster| cluster.text(&["name"]).as_deref() == Some(name)),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let Some(cluster) = found else {
        // Access to a cluster of another stack.
        if clusters.is_empty() {
            traits.cluster.access = access(stack, name);
        }
        return;
    };
    let (region, account) = arn_parts(&cluster.text(&["arn"]).unwrap_or_default());
    traits.region = traits.region.take().or(region);
    traits.account = traits.account.take().or(account);
    let own = ClusterTraits {
        access: access(stack, cluster.text(&["name"]).as_deref().or(name)),
        ..cluster_traits(cluster)
    };
    traits.cluster = std::mem::take(&mut traits.cluster).or(&own);
}

fn cluster_traits(cluster: &PulumiResource<'_>) -> ClusterTraits {
    let network = |key: &str| cluster.text(&["kubernetesNetworkConfig", key]);
    let is_ipv6 = network("ipFamily").as_deref() == Some("ipv6");
    let service_cidr = network(if is_ipv6 {
        "serviceIpv6Cidr"
    } else {
        "serviceIpv4Cidr"
    });
    ClusterTraits {
        name: cluster.text(&["name"]),
        endpoint: cluster.text(&["endpoint"]),
        certificate_authority: cluster
            .text(&["certificateAuthority", "data"])
            .or_else(|| cluster.text(&["certificateAuthorities", "0", "data"])),
        dns_ip: service_cidr.as_deref().and_then(dns_ip),
        service_cidr,
        version: cluster.text(&["version"]),
        ip_family: network("ipFamily").map(|_| if is_ipv6 { IpFamily::Ipv6 } else { IpFamily::Ipv4 }),
        authentication_mode: cluster
            .text(&["accessConfig", "authenticationMode"])
            .as_deref()
            .and_then(authentication_mode),
        ..ClusterTraits::default()
    }
}
