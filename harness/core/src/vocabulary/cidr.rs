//! IPv4 networks as AWS uses them for VPCs, subnets and services.

use std::borrow::Cow;
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use ipnet::Ipv4Net;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Addresses at the start of a subnet that AWS reserves; the last one is reserved, too.
const RESERVED_AT_START: u32 = 4;

/// An IPv4 network, such as `192.168.0.0/16`. Its address has no bits beyond the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cidr(Ipv4Net);

/// An invalid IPv4 network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid IPv4 network `{0}`: expected a network such as `192.168.0.0/16`")]
pub struct InvalidCidr(String);

impl Cidr {
    /// The network with this prefix length that contains the address; longer prefixes count as 32.
    #[must_use]
    pub fn around(address: Ipv4Addr, prefix_length: u8) -> Self {
        Self(Ipv4Net::new_assert(address, prefix_length.min(32)).trunc())
    }

    /// Whether the address is in the network.
    #[must_use]
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        self.0.contains(&address)
    }

    /// Whether the other network is part of this one.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.0.contains(&other.0)
    }

    /// The address at this offset, modulo the size of the network.
    #[must_use]
    pub fn address(&self, offset: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.0.network()) | (offset & u32::from(self.0.hostmask())))
    }

    /// Number of addresses, at most `u32::MAX`.
    #[must_use]
    pub fn size(&self) -> u32 {
        u32::from(self.0.hostmask()).saturating_add(1)
    }

    /// Whether AWS reserves the address: the first four of a subnet and its last. Addresses outside of the subnet are
    /// not reserved.
    #[must_use]
    pub fn is_reserved(&self, address: Ipv4Addr) -> bool {
        let offset = u32::from(address).wrapping_sub(u32::from(self.0.network()));
        self.contains(address) && (offset < RESERVED_AT_START || address == self.0.broadcast())
    }
}

impl FromStr for Cidr {
    type Err = InvalidCidr;

    fn from_str(text: &str) -> Result<Self, InvalidCidr> {
        let parsed: Option<Ipv4Net> = text.parse().ok();
        parsed
            .filter(|network| *network == network.trunc())
            .map(Self)
            .ok_or_else(|| InvalidCidr(text.to_owned()))
    }
}

impl TryFrom<String> for Cidr {
    type Error = InvalidCidr;

    fn try_from(text: String) -> Result<Self, InvalidCidr> {
        text.parse()
    }
}

impl From<Cidr> for String {
    fn from(cidr: Cidr) -> Self {
        cidr.to_string()
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl JsonSchema for Cidr {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Cidr".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "ipv4-network" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cidr(text: &str) -> Cidr {
        text.parse().unwrap()
    }

    #[test]
    fn only_networks_without_host_bits_are_valid() {
        for text in ["192.168.0.0/16", "0.0.0.0/0", "10.1.2.3/32"] {
            assert_eq!(cidr(text).to_string(), text);
        }
        for text in ["192.168.0.0", "192.168.0.1/16", "1.2.3.4/33", "x/8", ""] {
            assert!(text.parse::<Cidr>().is_err(), "{text}");
        }
    }

    #[test]
    fn networks_contain_addresses_and_networks() {
        let network = cidr("192.168.32.0/19");
        assert!(network.contains(Ipv4Addr::new(192, 168, 40, 16)));
        assert!(!network.contains(Ipv4Addr::new(192, 168, 64, 1)));
        assert!(cidr("192.168.0.0/16").covers(&network));
        assert!(!network.covers(&cidr("192.168.0.0/16")));
        assert_eq!(network.address(10), Ipv4Addr::new(192, 168, 32, 10));
        assert_eq!(network.size(), 8192);
        assert_eq!(cidr("0.0.0.0/0").size(), u32::MAX);
    }

    #[test]
    fn aws_reserves_the_first_four_addresses_and_the_last() {
        let network = cidr("192.168.32.0/19");
        for (address, is_reserved) in [
            ("192.168.32.0", true),
            ("192.168.32.3", true),
            ("192.168.32.4", false),
            ("192.168.63.254", false),
            ("192.168.63.255", true),
        ] {
            assert_eq!(
                network.is_reserved(address.parse().unwrap()),
                is_reserved,
                "{address}"
            );
        }
    }

    #[test]
    fn an_address_below_the_network_is_not_reserved() {
        let network = cidr("192.168.32.0/19");
        for address in ["0.0.0.0", "192.168.31.255", "192.168.64.0", "255.255.255.255"] {
            assert!(!network.is_reserved(address.parse().unwrap()), "{address}");
        }
    }
}
