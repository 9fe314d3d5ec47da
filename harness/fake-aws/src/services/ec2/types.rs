//! DescribeInstanceTypes: real figures of instance types.

use nodejoin_core::plan::InstancePlan;
use nodejoin_core::vocabulary::ec2_type::{EC2_TYPES, Ec2Type, ec2_type};

use super::{filters, page};
use crate::http::{QueryParameters, ServiceError};
use crate::wire::xml::Xml;

/// A type with its figures. A type that is newer than the table has those of another one.
struct NamedType<'a> {
    name: &'a str,
    figures: &'static Ec2Type,
}

/// The figures of an instance's type.
pub(super) fn figures(instance: &InstancePlan) -> Option<&'static Ec2Type> {
    ec2_type(instance.type_like.as_ref().unwrap_or(&instance.instance_type))
}

/// The architecture in the identity document and DescribeInstances; `x86_64` for unknown types.
#[must_use]
pub(crate) fn architecture(instance: &InstancePlan) -> &'static str {
    figures(instance)
        .and_then(|found| found.architectures.rsplit(',').next())
        .unwrap_or("x86_64")
}

/// Writes the response.
///
/// # Errors
/// For types that do not exist, and for unknown filters.
pub(crate) fn describe(
    body: Xml,
    instance: &InstancePlan,
    parameters: &QueryParameters,
) -> Result<Xml, ServiceError> {
    let names = parameters.list("InstanceType");
    let known = EC2_TYPES.iter().map(|figures| NamedType {
        name: figures.name,
        figures,
    });
    let newer = instance.type_like.as_ref().and(figures(instance));
    let newer = newer.map(|figures| NamedType {
        name: &instance.instance_type,
        figures,
    });
    let found: Vec<NamedType<'_>> = known
        .chain(newer)
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
    let filters = filters::read(parameters);
    let mut passed = Vec::new();
    for named in found {
        if filters::pass(&filters, |name| values(&named, name))? {
            passed.push(named);
        }
    }
    page::write(body, "instanceTypeSet", passed, parameters, 5..=100, write)
}

fn values(named: &NamedType<'_>, filter: &str) -> Option<Vec<String>> {
    let found = named.figures;
    let value = match filter {
        "instance-type" => named.name.to_owned(),
        "current-generation" => found.current.to_string(),
        "bare-metal" => found.bare_metal.to_string(),
        "hypervisor" => found.hypervisor.to_owned(),
        "vcpu-info.default-vcpus" => found.vcpus.to_string(),
        "processor-info.supported-architecture" => {
            return Some(found.architectures.split(',').map(str::to_owned).collect());
        }
        _ => return None,
    };
    Some(vec![value])
}

fn write(item: Xml, named: NamedType<'_>) -> Xml {
    let found = named.figures;
    let item = item
        .text("instanceType", named.name)
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
            let found = EC2_TYPES.iter().find(|found| found.name == name);
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
        let of = |name: &str, like: Option<&str>| {
            architecture(&InstancePlan {
                instance_type: name.to_owned(),
                type_like: like.map(str::to_owned),
                ..nodejoin_core::testing::instance()
            })
        };
        assert_eq!(of("m5.large", None), "x86_64");
        assert_eq!(of("m6g.large", None), "arm64");
        assert_eq!(of("t2.micro", None), "x86_64");
        assert_eq!(of("z99.large", None), "x86_64");
        assert_eq!(of("z99g.large", Some("m6g.large")), "arm64");
    }

    #[test]
    fn a_newer_type_has_the_figures_of_the_one_that_it_is_like() {
        let instance = InstancePlan {
            instance_type: "z99.large".to_owned(),
            type_like: Some("m5.large".to_owned()),
            ..nodejoin_core::testing::instance()
        };
        assert_eq!(figures(&instance).map(|found| found.name), Some("m5.large"));
        let unknown = InstancePlan {
            type_like: None,
            ..instance
        };
        assert_eq!(figures(&unknown), None);
    }
}
