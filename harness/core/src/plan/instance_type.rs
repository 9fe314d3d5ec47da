//! Properties of a machine that follow from its instance type.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::ec2_type::Ec2Type;

/// The type of an instance for which a scenario states none.
pub const DEFAULT_INSTANCE_TYPE: &str = "m5.large";

/// The figures of an instance type, as EC2 reports them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TypeData {
    /// Number of processors that the type has by default.
    pub vcpus: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Processor architectures, such as `[arm64]` (default: `[x86_64]`).
    #[serde(default = "x86_64")]
    pub architectures: Vec<String>,
    /// Limit of network interfaces of each network card, such as `[4]`.
    pub network_cards: Vec<u32>,
    /// Index of the network card of the primary interface.
    #[serde(default)]
    pub default_network_card: usize,
    /// IPv4 addresses of each interface.
    pub ipv4_addresses: u32,
    /// IPv6 addresses of each interface (default: none).
    #[serde(default)]
    pub ipv6_addresses: u32,
    /// Whether the type is bare metal, without a hypervisor.
    #[serde(default)]
    pub bare_metal: bool,
}

fn x86_64() -> Vec<String> {
    vec!["x86_64".to_owned()]
}

impl TypeData {
    /// The figures with the name of the type.
    pub(super) fn named(&self, name: &str) -> Ec2Type {
        Ec2Type {
            name: name.to_owned(),
            hypervisor: (!self.bare_metal).then(|| "nitro".to_owned()),
            architectures: self.architectures.clone(),
            vcpus: self.vcpus,
            cores: None,
            memory_mib: self.memory_mib,
            default_card: self.default_network_card,
            cards: self.network_cards.clone(),
            ipv4_addresses: self.ipv4_addresses,
            ipv6_addresses: self.ipv6_addresses,
            bare_metal: self.bare_metal,
            current: true,
            gpus: None,
        }
    }
}

/// Whether the instance type has NVIDIA GPUs: the families `g`, `gr` and `p`, except the one with AMD GPUs.
#[must_use]
pub fn has_nvidia_gpu(instance_type: &str) -> bool {
    let family = instance_type.split('.').next().unwrap_or_default();
    let letters: String = family.chars().take_while(char::is_ascii_lowercase).collect();
    matches!(letters.as_str(), "g" | "gr" | "p") && family != "g4ad"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::ec2_type::EC2_TYPES;

    #[test]
    fn the_families_with_gpus_are_those_of_the_data_file() {
        for found in EC2_TYPES.iter() {
            let is_nvidia = found
                .gpus
                .as_ref()
                .is_some_and(|gpus| gpus.manufacturer == "NVIDIA");
            assert_eq!(has_nvidia_gpu(&found.name), is_nvidia, "{}", found.name);
        }
    }

    #[test]
    fn families_with_gpus() {
        for name in [
            "g4dn.xlarge",
            "g5g.metal",
            "gr6.4xlarge",
            "p4d.24xlarge",
            "p6-b200.48xlarge",
        ] {
            assert!(has_nvidia_gpu(name), "{name}");
        }
        for name in [
            "g4ad.xlarge",
            "m5.large",
            "m6g.large",
            "inf1.xlarge",
            "trn1.2xlarge",
            "hpc7g.4xlarge",
            "",
        ] {
            assert!(!has_nvidia_gpu(name), "{name}");
        }
    }
}
