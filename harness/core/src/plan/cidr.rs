//! IPv4 networks, as far as scenarios need them.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// An IPv4 network, such as `192.168.0.0/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    network: u32,
    bits: u8,
}

/// A text that is not an IPv4 network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an IPv4 network such as `192.168.0.0/16`")]
pub struct InvalidCidr(String);

impl Cidr {
    /// The network of this size around an address.
    #[must_use]
    pub fn around(address: Ipv4Addr, bits: u8) -> Self {
        let bits = bits.min(32);
        Self {
            network: u32::from(address) & mask(bits),
            bits,
        }
    }

    /// Whether the address is in the network.
    #[must_use]
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        u32::from(address) & mask(self.bits) == self.network
    }

    /// Whether all of the other network is in this one.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.bits <= other.bits && other.network & mask(self.bits) == self.network
    }

    /// The address so many places after the network's own, kept inside the network.
    #[must_use]
    pub fn address(&self, offset: u32) -> Ipv4Addr {
        Ipv4Addr::from(self.network | (offset & !mask(self.bits)))
    }

    /// How many addresses it has, at most `u32::MAX`.
    #[must_use]
    pub fn size(&self) -> u32 {
        (!mask(self.bits)).saturating_add(1)
    }

    /// Whether AWS keeps the address for itself: the first four of a subnet and its last.
    #[must_use]
    pub fn is_reserved(&self, address: Ipv4Addr) -> bool {
        let offset = u32::from(address) - self.network;
        offset < 4 || offset == self.size() - 1
    }
}

impl FromStr for Cidr {
    type Err = InvalidCidr;

    fn from_str(text: &str) -> Result<Self, InvalidCidr> {
        let invalid = || InvalidCidr(text.to_owned());
        let (address, bits) = text.split_once('/').ok_or_else(invalid)?;
        let address: Ipv4Addr = address.parse().map_err(|_| invalid())?;
        let bits: u8 = bits.parse().map_err(|_| invalid())?;
        if bits > 32 || u32::from(address) & !mask(bits) != 0 {
            return Err(invalid());
        }
        Ok(Self::around(address, bits))
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.network), self.bits)
    }
}

fn mask(bits: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_parse_and_contain() {
        for text in ["192.168.0.0/16", "0.0.0.0/0", "10.1.2.3/32"] {
            assert_eq!(text.parse::<Cidr>().unwrap().to_string(), text);
        }
        for text in ["192.168.0.0", "192.168.0.1/16", "1.2.3.4/33", "x/8", ""] {
            assert!(text.parse::<Cidr>().is_err(), "{text}");
        }
        let network: Cidr = "192.168.32.0/19".parse().unwrap();
        assert!(network.contains(Ipv4Addr::new(192, 168, 40, 16)));
        assert!(!network.contains(Ipv4Addr::new(192, 168, 64, 1)));
        assert!("192.168.0.0/16".parse::<Cidr>().unwrap().covers(&network));
        assert!(!network.covers(&"192.168.0.0/16".parse().unwrap()));
        assert_eq!(network.address(10), Ipv4Addr::new(192, 168, 32, 10));
        assert!(network.is_reserved(Ipv4Addr::new(192, 168, 32, 3)));
        assert!(network.is_reserved(Ipv4Addr::new(192, 168, 63, 255)));
        assert!(!network.is_reserved(Ipv4Addr::new(192, 168, 63, 254)));
    }
}
