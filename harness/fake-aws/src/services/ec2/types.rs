//! DescribeInstanceTypes: real figures of instance types.

use std::borrow::Cow;

use nodejoin_core::plan::InstancePlan;
use nodejoin_core::vocabulary::ec2_type::{EC2_TYPES, Ec2Type, Gpus};

use super::{filters, page};
use crate::http::{QueryParameters, ServiceError};
use crate::wire::xml::Xml;

/// The architecture in the identity document and DescribeInstances; `x86_64` for unknown types.
#[must_use]
pub(crate) fn architecture(instance: &InstancePlan) -> String {
    let figures = instance.type_figures();
    let last = figures.as_ref().and_then(|figures| figures.architectures.last());
    last.map_or("x86_64", String::as_str).to_owned()
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
    let known = EC2_TYPES.iter().map(Cow::Borrowed);
    let newer = instance.type_figures();
    let newer = newer.filter(|figures| matches!(figures, Cow::Owned(_)));
    let found: Vec<Cow<'_, Ec2Type>> = known
        .chain(newer)
        .filter(|found| names.is_empty() || names.contains(&found.name.as_str()))
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

fn values(found: &Ec2Type, filter: &str) -> Option<Vec<String>> {
    let value = match filter {
        "instance-type" => found.name.clone(),
        "current-generation" => found.current.to_string(),
        "bare-metal" => found.bare_metal.to_string(),
        "hypervisor" => found.hypervisor.clone().unwrap_or_else(|| "-".to_owned()),
        "vcpu-info.default-vcpus" => found.vcpus.to_string(),
        "processor-info.supported-architecture" => return Some(found.architectures.clone()),
        _ => return None,
    };
    Some(vec![value])
}

fn write(item: Xml, found: Cow<'_, Ec2Type>) -> Xml {
    let item = item
        .text("instanceType", &found.name)
        .text("currentGeneration", found.current)
        .text("bareMetal", found.bare_metal);
    let item = match &found.hypervisor {
        None => item,
        Some(hypervisor) => item.text("hypervisor", hypervisor),
    };
    let item = item
        .element("processorInfo", |processor| {
            processor.items("supportedArchitectures", &found.architectures, |item, name| {
                item.bare(name)
            })
        })
        .element("vCpuInfo", |vcpus| {
            let vcpus = vcpus.text("defaultVCpus", found.vcpus);
            match found.cores {
                None => vcpus,
                Some(cores) => vcpus.text("defaultCores", cores),
            }
        })
        .element("memoryInfo", |memory| memory.text("sizeInMiB", found.memory_mib));
    let item = match &found.gpus {
        None => item,
        Some(gpus) => item.element("gpuInfo", |info| gpu_info(info, gpus)),
    };
    item.element("networkInfo", |network| {
        network
            .text("maximumNetworkInterfaces", found.interfaces())
            .text("maximumNetworkCards", found.cards.len())
            .text("defaultNetworkCardIndex", found.default_card)
            .items(
                "networkCards",
                found.cards.iter().enumerate(),
                |card, (index, interfaces)| {
                    card.text("networkCardIndex", index)
                        .text("maximumNetworkInterfaces", interfaces)
                },
            )
            .text("ipv4AddressesPerInterface", found.ipv4_addresses)
            .text("ipv6AddressesPerInterface", found.ipv6_addresses)
            .text("ipv6Supported", found.ipv6_addresses != 0)
    })
}

fn gpu_info(info: Xml, gpus: &Gpus) -> Xml {
    info.items("gpus", [gpus], |item, gpu| {
        item.text("name", &gpu.name)
            .text("manufacturer", &gpu.manufacturer)
            .text("count", gpu.count)
            .element("memoryInfo", |memory| memory.text("sizeInMiB", gpu.memory_mib))
    })
    .text("totalGpuMemoryInMiB", gpus.total_memory_mib)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types of lists that AWS describes no more.
    const DESCRIBED_NO_MORE: [&str; 10] = [
        "bmn-sf1.metal",
        "c5a.metal",
        "c5ad.metal",
        "cr1.8xlarge",
        "hs1.8xlarge",
        "u-12tb1.metal",
        "u-18tb1.metal",
        "u-24tb1.metal",
        "u-6tb1.metal",
        "u-9tb1.metal",
    ];

    /// Limit of pods of each type in the list of the node image.
    #[test]
    fn figures_give_the_pods_of_eni_max_pods() {
        const LIST: &str = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/images/nodes/al2/rootfs/etc/eks/eni-max-pods.txt"
        ));
        let rows = LIST.lines().filter(|line| !line.starts_with('#'));
        let mut missing = Vec::new();
        for row in rows {
            let (name, pods) = row.split_once(' ').unwrap();
            match EC2_TYPES.iter().find(|found| found.name == name) {
                Some(found) => assert_eq!(
                    found.max_pods().map(|pods| pods.to_string()).as_deref(),
                    Some(pods),
                    "{name}"
                ),
                None => missing.push(name),
            }
        }
        assert_eq!(missing, DESCRIBED_NO_MORE);
    }

    /// nodeadm asks EC2 about other types only.
    #[test]
    fn figures_are_those_of_nodeadm() {
        const LIST: &str = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../fixtures/images/nodes/al2023/rootfs/usr/lib/nodeadm/instance-info.txt"
        ));
        let mut missing = Vec::new();
        for row in LIST.lines().filter(|line| !line.starts_with('#')) {
            let name = row.split(' ').next().unwrap();
            let Some(known) = EC2_TYPES.iter().find(|found| found.name == name) else {
                missing.push(name);
                continue;
            };
            let interfaces = known.cards[known.default_card];
            assert_eq!(row, format!("{name} {interfaces} {}", known.ipv4_addresses));
        }
        assert_eq!(missing, DESCRIBED_NO_MORE);
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
    fn a_newer_type_has_the_figures_of_the_one_that_it_is_like_or_its_own() {
        let mut instance = InstancePlan {
            instance_type: "z99.large".to_owned(),
            type_like: Some("m5.large".to_owned()),
            ..nodejoin_core::testing::instance()
        };
        let figures = instance.type_figures().unwrap();
        assert_eq!(
            (figures.name.as_str(), figures.max_pods()),
            ("z99.large", Some(29))
        );
        instance.type_like = None;
        assert_eq!(instance.type_figures(), None);
        instance.type_data = serde_json::from_value(serde_json::json!({
            "vcpus": 6, "memory_mib": 24_576, "network_cards": [3], "ipv4_addresses": 7, "architectures": ["arm64"]
        }))
        .unwrap();
        assert_eq!(instance.type_figures().unwrap().max_pods(), Some(20));
        assert_eq!(architecture(&instance), "arm64");
        let parameters = QueryParameters::parse(b"InstanceType.1=z99.large");
        let described = describe(Xml::new(), &instance, &parameters)
            .unwrap()
            .document("x", None);
        for text in ["<sizeInMiB>24576<", "<defaultVCpus>6<", "<hypervisor>nitro<"] {
            assert!(described.contains(text), "{described}");
        }
    }
}
