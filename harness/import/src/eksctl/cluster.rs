//! The cluster of a ClusterConfig.

use nodejoin_core::plan::aws::IpFamily;

use crate::eks::STAND_IN_IPV6;
use crate::machine::ClusterTraits;
use crate::tree::Tree;
use crate::words::{authentication_mode, dns_ip, service_network};

/// The cluster, as far as the file states it.
pub(super) fn cluster(document: &Tree) -> ClusterTraits {
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
pub(super) fn is_ipv6(document: &Tree) -> bool {
    let family = document.text_at(&["kubernetesNetworkConfig", "ipFamily"]);
    family.is_some_and(|family| family.eq_ignore_ascii_case("IPv6"))
}

/// EKS chooses the network of services in an IPv6 cluster: a stand-in takes its place.
pub(super) fn with_ipv6(mut cluster: ClusterTraits) -> ClusterTraits {
    if cluster.ip_family == Some(IpFamily::Ipv6) && cluster.service_cidr.is_none() {
        cluster.dns_ip = dns_ip(STAND_IN_IPV6);
        cluster.service_cidr = Some(STAND_IN_IPV6.to_owned());
    }
    cluster
}

/// The network of services that the DNS address of a group belongs to, for a file that does not state it.
pub(super) fn network_of(group: &Tree) -> ClusterTraits {
    let dns = group.text_at(&["clusterDNS"]);
    let network = dns.as_deref().and_then(service_network);
    ClusterTraits {
        service_cidr: network.map(str::to_owned),
        ..ClusterTraits::default()
    }
}
