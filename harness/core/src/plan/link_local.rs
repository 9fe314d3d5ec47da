//! Link-local addresses: those that AWS serves in every VPC, and those that the harness adds next to them.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::vocabulary::service::Service;

/// The instance metadata service over IPv4.
pub const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);

/// The instance metadata service over IPv6.
pub const METADATA_IPV6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// The resolver of the VPC.
pub const RESOLVER: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 253);

/// The address of every AWS host name in a node: the harness redirects it to the fake services.
pub const AWS_SERVICES: Ipv4Addr = Ipv4Addr::new(169, 254, 171, 1);

/// The address of every host outside in a node: the harness redirects its ports of HTTP and HTTPS to the fake services.
pub const OUTSIDE: Ipv4Addr = Ipv4Addr::new(169, 254, 171, 2);

/// The last part of the first address that [`of_refused`] returns.
const FIRST_REFUSED: u8 = 16;

/// The address of a service whose connections a fault refuses: a rule for it concerns this service only. The metadata
/// service has its own anyway.
#[must_use]
pub fn of_refused(service: Service) -> Ipv4Addr {
    let [a, b, c, _] = AWS_SERVICES.octets();
    match service {
        Service::Imds => METADATA,
        _ => Ipv4Addr::new(a, b, c, FIRST_REFUSED + service as u8),
    }
}

/// An address without a host, as text for command lines. A route through it leads nowhere.
pub const UNREACHABLE: &str = "169.254.171.254";
