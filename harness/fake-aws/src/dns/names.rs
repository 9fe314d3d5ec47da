//! What the names of AWS, of the cluster, of the instance and of hosts outside resolve to.

use std::net::Ipv4Addr;

use hickory_proto::rr::RecordType;
use nodejoin_core::plan::{Network, link_local};
use nodejoin_core::vocabulary::outside_name;

use crate::endpoint::HostName;
use crate::world::World;

/// The address of AWS host names in a node, unless a fault refuses connections to their service. Its port 443 leads to
/// the fakes.
pub(super) const SERVICES: Ipv4Addr = link_local::AWS_SERVICES;

/// The address of names outside in a node. Its ports 80 and 443 lead to the fakes, which refuse the requests that the
/// scenario does not answer: only a request has a URL.
pub(super) const OUTSIDE: Ipv4Addr = link_local::OUTSIDE;

/// The result of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Resolution {
    Address(Ipv4Addr),
    Pointer(String),
    /// The name exists and has no record of this type.
    Empty,
    /// The name belongs to a host outside, which the fakes stand for.
    Outside,
    /// The same for a record type other than A.
    OutsideEmpty,
    /// The name does not exist.
    Missing,
}

/// Resolves a name in lower case and without its final dot.
#[must_use]
pub(super) fn resolve(world: &World, name: &str, record: RecordType) -> Resolution {
    if let Some(address) = address(world, name) {
        return if record == RecordType::A {
            Resolution::Address(address)
        } else {
            Resolution::Empty
        };
    }
    if name == reversed(world.instance.private_ip) {
        let pointer = || Resolution::Pointer(world.instance.private_dns_name.clone());
        return if record == RecordType::PTR {
            pointer()
        } else {
            Resolution::Empty
        };
    }
    match (leads_outside(world, name), record) {
        (true, RecordType::A) => Resolution::Outside,
        (true, _) => Resolution::OutsideEmpty,
        (false, _) => Resolution::Missing,
    }
}

/// Whether only the fakes can refuse a request to this name. In an open network, another resolver knows it.
fn leads_outside(world: &World, name: &str) -> bool {
    match world.network {
        Network::Isolated => outside_name::is_outside(name) && !is_search(world, name),
        Network::Open => false,
    }
}

fn address(world: &World, name: &str) -> Option<Ipv4Addr> {
    let instance = &world.instance;
    match HostName::parse(name) {
        Some(HostName::Emulated(endpoint)) => return Some(world.address_of(endpoint.service)),
        Some(HostName::NotEmulated(_) | HostName::Resource(_)) => return Some(SERVICES),
        None if world.answers_host(name) => return Some(OUTSIDE),
        None => {}
    }
    if world.is_endpoint(name) {
        return Some(*world.control_plane.ip());
    }
    if world
        .http_proxy
        .as_ref()
        .is_some_and(|proxy| proxy.host() == name)
    {
        return Some(OUTSIDE);
    }
    let own = [&instance.private_dns_name, &instance.host_name];
    own.iter()
        .any(|own| own.eq_ignore_ascii_case(name))
        .then_some(instance.private_ip)
}

fn reversed(ip: Ipv4Addr) -> String {
    let [a, b, c, d] = ip.octets();
    format!("{d}.{c}.{b}.{a}.in-addr.arpa")
}

/// Whether a resolver derived the name from another query: by appending the search domain, or by removing it from one
/// of this world's names. Instance names belong to the domain and are never derived.
pub(super) fn is_search(world: &World, name: &str) -> bool {
    let domain = world.region.private_domain();
    let without_domain = name.strip_suffix(&domain).and_then(|rest| rest.strip_suffix('.'));
    match without_domain {
        Some(rest) => !rest.starts_with("ip-"),
        None => address(world, &format!("{name}.{domain}")).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use nodejoin_core::plan::fault::{Effect, Fault, Service};

    use super::*;
    use crate::testing::world;

    #[test]
    fn a_service_that_refuses_connections_has_an_address_of_its_own() {
        let refused = Fault {
            effect: Effect::Refuse,
            ..crate::testing::fault(Service::Eks)
        };
        let world = World {
            faults: vec![refused],
            ..world().0
        };
        let address = |name: &str| resolve(&world, name, RecordType::A);
        let own = link_local::of_refused(Service::Eks);
        assert_ne!(own, SERVICES);
        let table = [
            ("eks.eu-west-1.amazonaws.com", own),
            ("eks.eu-west-1.api.aws", own),
            ("sts.eu-west-1.amazonaws.com", SERVICES),
            ("kms.eu-west-1.amazonaws.com", SERVICES),
        ];
        for (name, expected) in table {
            assert_eq!(address(name), Resolution::Address(expected), "{name}");
        }
    }
}
