//! What the EC2 API knows: the network of the instance, further instances, Elastic IP addresses.
//!
//! The types are shared by scenarios and plans, because none of their values is derived.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Network settings of an instance beyond the defaults.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkPlan {
    /// The public IPv4 address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_ip: Option<Ipv4Addr>,
    /// IPv6 addresses of the primary interface.
    pub ipv6: Vec<Ipv6Addr>,
    /// Secondary private IPv4 addresses of the primary interface.
    pub secondary_ips: Vec<Ipv4Addr>,
    /// More domains in the DHCP options of the VPC: `local-hostname` lists them after the name, separated by blanks.
    pub dhcp_domains: Vec<String>,
    /// Seconds after the node's start until EC2 returns `PrivateDnsName`; earlier it is empty, as it is briefly on
    /// EC2.
    pub named_after_seconds: f64,
    /// Number of the node's requests of DescribeInstances that return an empty `PrivateDnsName`. Until they were made,
    /// the IAM authenticator gets no name from EC2 either.
    #[serde(skip_serializing_if = "is_zero")]
    pub named_after_requests: u32,
    /// Secondary network interfaces, by device index from 1.
    pub interfaces: Vec<InterfacePlan>,
    /// Network nodes of the instance, from the top layer down, such as `nn-0a1b2c3d4e5f60718`. EC2 returns them for
    /// HPC and machine learning types, and the cloud node controller adds them as labels.
    pub nodes: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A secondary network interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterfacePlan {
    /// MAC address, lower case with colons.
    pub mac: String,
    /// Private IPv4 addresses, the primary one first.
    pub private_ips: Vec<Ipv4Addr>,
    /// Index of the network card.
    #[serde(default)]
    pub network_card: u8,
    /// Device index (default: the position in the list, from 1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_index: Option<u8>,
}

impl InterfacePlan {
    /// Device index of the interface at this position in the list.
    #[must_use]
    pub fn device(&self, position: usize) -> usize {
        self.device_index.map_or(position + 1, usize::from)
    }
}

/// An instance that exists in the EC2 API only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherInstance {
    /// EC2 instance id.
    pub id: String,
    /// Primary private IPv4 address.
    pub private_ip: Ipv4Addr,
    /// State of the instance.
    #[serde(default)]
    pub state: InstanceState,
    /// Region (default: the region of the scenario).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Tags of the instance.
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
}

/// An Elastic IP address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressPlan {
    /// The address.
    pub public_ip: Ipv4Addr,
    /// Allocation id (default: derived from the address).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation_id: Option<String>,
}

/// State of an EC2 instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InstanceState {
    /// The instance is booting.
    Pending,
    /// The instance is running.
    #[default]
    Running,
    /// The instance is being terminated.
    ShuttingDown,
    /// The instance is terminated; EC2 lists it for an hour.
    Terminated,
    /// The instance is being stopped.
    Stopping,
    /// The instance is stopped.
    Stopped,
}

impl InstanceState {
    /// Code and name of the state in the EC2 API.
    #[must_use]
    pub fn code_and_name(self) -> (u16, &'static str) {
        match self {
            Self::Pending => (0, "pending"),
            Self::Running => (16, "running"),
            Self::ShuttingDown => (32, "shutting-down"),
            Self::Terminated => (48, "terminated"),
            Self::Stopping => (64, "stopping"),
            Self::Stopped => (80, "stopped"),
        }
    }
}
