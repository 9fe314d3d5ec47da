//! Real figures of EC2 instance types, from a data file that travels inside the program.

use std::collections::HashMap;
use std::sync::LazyLock;

/// One type per line, after comments that name the columns.
const DATA: &str = include_str!("../../data/instance-types.tsv");

/// The figures of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ec2Type {
    pub name: String,
    /// `nitro` or `xen`; `None` on bare metal.
    pub hypervisor: Option<String>,
    pub architectures: Vec<String>,
    pub vcpus: u32,
    /// `None` if EC2 does not report them.
    pub cores: Option<u32>,
    pub memory_mib: u64,
    pub default_card: usize,
    /// Limit of interfaces of each network card.
    pub cards: Vec<u32>,
    pub ipv4_addresses: u32,
    pub ipv6_addresses: u32,
    pub bare_metal: bool,
    pub current: bool,
    /// The GPUs; `None` for a type without one.
    pub gpus: Option<Gpus>,
}

/// The GPUs of an instance type, all of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpus {
    pub manufacturer: String,
    pub name: String,
    /// 0 for a part of a GPU.
    pub count: u32,
    /// Memory of one GPU, or of the part.
    pub memory_mib: u64,
    pub total_memory_mib: u64,
}

impl Gpus {
    fn read(column: &str) -> Option<Self> {
        let columns: Vec<&str> = column.split(':').collect();
        let &[manufacturer, name, count, memory_mib, total_memory_mib] = columns.as_slice() else {
            return None;
        };
        Some(Self {
            manufacturer: manufacturer.to_owned(),
            name: name.to_owned(),
            count: count.parse().ok()?,
            memory_mib: memory_mib.parse().ok()?,
            total_memory_mib: total_memory_mib.parse().ok()?,
        })
    }
}

impl Ec2Type {
    /// Reads a line of the data file, in which `-` stands for nothing.
    fn read(line: &str) -> Option<Self> {
        let columns: Vec<&str> = line.split('\t').collect();
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
            gpus,
        ] = columns.as_slice()
        else {
            return None;
        };
        let gpus = match gpus {
            "-" => None,
            gpus => Some(Gpus::read(gpus)?),
        };
        let cards: Result<Vec<u32>, _> = cards.split(',').map(str::parse).collect();
        Some(Self {
            name: name.to_owned(),
            hypervisor: (hypervisor != "-").then(|| hypervisor.to_owned()),
            architectures: architectures.split(',').map(str::to_owned).collect(),
            vcpus: vcpus.parse().ok()?,
            cores: cores.parse().ok(),
            memory_mib: memory_mib.parse().ok()?,
            default_card: default_card.parse().ok()?,
            cards: cards.ok()?,
            ipv4_addresses: ipv4_addresses.parse().ok()?,
            ipv6_addresses: ipv6_addresses.parse().ok()?,
            bare_metal: bare == "bare",
            current: age == "current",
            gpus,
        })
    }

    /// The limit of network interfaces on all cards.
    #[must_use]
    pub fn interfaces(&self) -> u32 {
        self.cards.iter().sum()
    }

    /// Pods of a node whose pods get addresses of the VPC, from the interfaces of the default network card.
    #[must_use]
    pub fn max_pods(&self) -> Option<u32> {
        let interfaces = self.cards.get(self.default_card)?;
        // The first address of an interface is its own; two pods use the host's network.
        Some(interfaces * (self.ipv4_addresses.checked_sub(1)?) + 2)
    }
}

/// All types. Parsed once: every DescribeInstances looks up a type.
pub static EC2_TYPES: LazyLock<Vec<Ec2Type>> = LazyLock::new(|| {
    let lines = DATA.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(Ec2Type::read).collect()
});

static BY_NAME: LazyLock<HashMap<&str, &Ec2Type>> =
    LazyLock::new(|| EC2_TYPES.iter().map(|one| (one.name.as_str(), one)).collect());

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
    fn pods_are_those_of_the_default_card() {
        let table: [(&str, &[u32], u32); 5] = [
            ("i7ie.48xlarge", &[15], 737),
            ("i7ie.metal-48xl", &[15], 737),
            ("i8ge.48xlarge", &[24], 1178),
            ("i8ge.metal-48xl", &[24], 1178),
            ("i7ie.24xlarge", &[15], 737),
        ];
        for (name, cards, pods) in table {
            let found = ec2_type(name).unwrap();
            assert_eq!(
                (found.cards.as_slice(), found.max_pods()),
                (cards, Some(pods)),
                "{name}"
            );
        }
    }

    #[test]
    fn every_line_of_the_data_file_is_read() {
        let lines = DATA.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!((EC2_TYPES.len(), BY_NAME.len()), (lines, lines));
        assert!(lines > 1_400);
        for name in [
            "r9g.large",
            "t8i.micro",
            "i3.metal",
            "g3s.xlarge",
            "p2.xlarge",
            "f1.2xlarge",
        ] {
            assert!(ec2_type(name).is_some(), "{name}");
        }
    }
}
