//! DescribeInstanceTypes: real figures of instance types, from a data file that travels inside the program.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::page;
use crate::http::{QueryParameters, ServiceError};
use crate::wire::xml::Xml;

/// One type per line, after comments that name the columns.
const DATA: &str = include_str!("../../../data/instance-types.tsv");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct InstanceType {
    name: &'static str,
    /// `nitro`, `xen`, or `-` on bare metal.
    hypervisor: &'static str,
    /// Separated by commas.
    architectures: &'static str,
    vcpus: &'static str,
    cores: &'static str,
    memory_mib: &'static str,
    default_card: &'static str,
    /// Limit of interfaces per network card, separated by commas.
    cards: &'static str,
    ipv4_addresses: &'static str,
    ipv6_addresses: &'static str,
    bare_metal: bool,
    current: bool,
}

impl InstanceType {
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

    fn interfaces(&self) -> u32 {
        self.cards
            .split(',')
            .filter_map(|card| card.parse::<u32>().ok())
            .sum()
    }
}

/// Parsed once: every DescribeInstances looks up a type.
static ALL: LazyLock<Vec<InstanceType>> = LazyLock::new(|| {
    let lines = DATA.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(InstanceType::read).collect()
});

static BY_NAME: LazyLock<HashMap<&str, &InstanceType>> =
    LazyLock::new(|| ALL.iter().map(|one| (one.name, one)).collect());

/// The architecture in the identity document and DescribeInstances; `x86_64` for unknown types.
#[must_use]
pub(crate) fn architecture(instance_type: &str) -> &'static str {
    BY_NAME
        .get(instance_type)
        .and_then(|found| found.architectures.rsplit(',').next())
        .unwrap_or("x86_64")
}

/// Writes the response.
///
/// # Errors
/// For types that do not exist.
pub(crate) fn describe(body: Xml, parameters: &QueryParameters) -> Result<Xml, ServiceError> {
    let names = parameters.list("InstanceType");
    let found: Vec<&InstanceType> = ALL
        .iter()
        .filter(|found| names.is_empty() || names.contains(&found.name))
        .collect();
    let missing: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| !found.iter().any(|found| found.name == *name))
        .collect();
    if !missing.is_empty() {
        let message = format!(
            "The following supplied instance types do not exist: [{}]",
            missing.join(", ")
        );
        return Err(ServiceError::new(400, "InvalidInstanceType", message));
    }
    page::write(body, "instanceTypeSet", found, parameters, 5..=100, write)
}

fn write(item: Xml, found: &InstanceType) -> Xml {
    let item = item
        .text("instanceType", found.name)
        .text("currentGeneration", found.current)
        .text("bareMetal", found.bare_metal);
    let item = if found.hypervisor == "-" {
        item
    } else {
        item.text("hypervisor", found.hypervisor)
    };
    item.element("processorInfo", |processor| {
        processor.items(
            "supportedArchitectures",
            found.architectures.split(','),
            |item, name| item.bare(name),
        )
    })
    .element("vCpuInfo", |vcpus| {
        let vcpus = vcpus.text("defaultVCpus", found.vcpus);
        if found.cores == "-" {
            vcpus
        } else {
            vcpus.text("defaultCores", found.cores)
        }
    })
    .element("memoryInfo", |memory| memory.text("sizeInMiB", found.memory_mib))
    .element("networkInfo", |network| {
        network
            .text("maximumNetworkInterfaces", found.interfaces())
            .text("maximumNetworkCards", found.cards.split(',').count())
            .text("defaultNetworkCardIndex", found.default_card)
            .items(
                "networkCards",
                found.cards.split(',').enumerate(),
                |card, (index, interfaces)| {
                    card.text("networkCardIndex", index)
                        .text("maximumNetworkInterfaces", interfaces)
                },
            )
            .text("ipv4AddressesPerInterface", found.ipv4_addresses)
            .text("ipv6AddressesPerInterface", found.ipv6_addresses)
            .text("ipv6Supported", found.ipv6_addresses != "0")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_data_file_is_read() {
        let lines = DATA.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!((ALL.len(), BY_NAME.len()), (lines, lines));
        assert!(lines > 1_000);
    }

    /// Limit of pods: interfaces * (addresses - 1) + 2 of each type in the list of the node image.
    #[test]
    fn figures_give_the_pods_of_eni_max_pods() {
        const LIST: &str = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/images/nodes/al2/rootfs/etc/eks/eni-max-pods.txt"
        ));
        let rows = LIST.lines().filter(|line| !line.starts_with('#'));
        let mut checked = 0;
        for row in rows {
            let (name, pods) = row.split_once(' ').unwrap();
            let found = ALL.iter().find(|found| found.name == name);
            let found = found.unwrap_or_else(|| panic!("{name} is in no row of the data file"));
            let pods: u32 = pods.parse().unwrap();
            let addresses: u32 = found.ipv4_addresses.parse().unwrap();
            assert_eq!(found.interfaces() * (addresses - 1) + 2, pods, "{name}");
            checked += 1;
        }
        assert!(checked > 200, "{checked}");
    }

    #[test]
    fn architectures() {
        assert_eq!(architecture("m5.large"), "x86_64");
        assert_eq!(architecture("m6g.large"), "arm64");
        assert_eq!(architecture("t2.micro"), "x86_64");
        assert_eq!(architecture("z99.large"), "x86_64");
    }
}
