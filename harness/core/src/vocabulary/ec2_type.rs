//! Real figures of EC2 instance types, from a data file that travels inside the program.

use std::collections::HashMap;
use std::sync::LazyLock;

/// One type per line, after comments that name the columns.
const DATA: &str = include_str!("../../data/instance-types.tsv");

/// The figures of a type, as in the data file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ec2Type {
    pub name: &'static str,
    /// `nitro`, `xen`, or `-` on bare metal.
    pub hypervisor: &'static str,
    /// Separated by commas.
    pub architectures: &'static str,
    pub vcpus: &'static str,
    pub cores: &'static str,
    pub memory_mib: &'static str,
    pub default_card: &'static str,
    /// Limit of interfaces per network card, separated by commas.
    pub cards: &'static str,
    pub ipv4_addresses: &'static str,
    pub ipv6_addresses: &'static str,
    pub bare_metal: bool,
    pub current: bool,
}

impl Ec2Type {
    fn read(line: &'static str) -> Option<Self> {
        let columns: Vec<&'static str> = line.split('\t').collect();
        let &[
            name,
            hypervisor,
            architectures,
            vcpus,
            cores,
            memory_mib,
            default_card,
            cards,
            ipv4_addresses,
            ipv6_addresses,
            bare,
            age,
        ] = columns.as_slice()
        else {
            return None;
        };
        let (bare_metal, current) = (bare == "bare", age == "current");
        Some(Self {
            name,
            hypervisor,
            architectures,
            vcpus,
            cores,
            memory_mib,
            default_card,
            cards,
            ipv4_addresses,
            ipv6_addresses,
            bare_metal,
            current,
        })
    }

    /// The limit of network interfaces on all cards.
    #[must_use]
    pub fn interfaces(&self) -> u32 {
        self.cards
            .split(',')
            .filter_map(|card| card.parse::<u32>().ok())
            .sum()
    }

    /// Pods of a node whose pods get addresses of the VPC, from the interfaces of the default network card.
    #[must_use]
    pub fn max_pods(&self) -> Option<u32> {
        let card: usize = self.default_card.parse().ok()?;
        let interfaces: u32 = self.cards.split(',').nth(card)?.parse().ok()?;
        let addresses: u32 = self.ipv4_addresses.parse().ok()?;
        // The first address of an interface is its own; two pods use the host's network.
        Some(interfaces * (addresses - 1) + 2)
    }
}

/// All types. Parsed once: every DescribeInstances looks up a type.
pub static EC2_TYPES: LazyLock<Vec<Ec2Type>> = LazyLock::new(|| {
    let lines = DATA.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(Ec2Type::read).collect()
});

static BY_NAME: LazyLock<HashMap<&str, &Ec2Type>> =
    LazyLock::new(|| EC2_TYPES.iter().map(|one| (one.name, one)).collect());

/// A type by its name.
#[must_use]
pub fn ec2_type(name: &str) -> Option<&'static Ec2Type> {
    BY_NAME.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_those_of_eks() {
        for (name, expected) in [("m5.large", 29), ("t3.medium", 17), ("m5.24xlarge", 737)] {
            assert_eq!(
                ec2_type(name).and_then(Ec2Type::max_pods),
                Some(expected),
                "{name}"
            );
        }
    }

    #[test]
    fn every_line_of_the_data_file_is_read() {
        let lines = DATA.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!((EC2_TYPES.len(), BY_NAME.len()), (lines, lines));
        assert!(lines > 1_000);
    }
}
