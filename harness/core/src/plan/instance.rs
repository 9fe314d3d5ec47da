//! One EC2 instance, and the role of its profile.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::aws::MetadataPlan;
use crate::plan::ec2::NetworkPlan;
use crate::plan::instance_type::TypeData;
use crate::vocabulary::ec2_type::{Ec2Type, ec2_type};
use crate::vocabulary::ids::InstanceId;

/// One EC2 instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InstancePlan {
    /// Instance id.
    pub id: InstanceId,
    /// Instance type, such as `m5.large`.
    pub instance_type: String,
    /// The known type whose figures an unknown `instance_type` has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub type_like: Option<String>,
    /// The figures of an unknown `instance_type`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub type_data: Option<TypeData>,
    /// Image id, such as `ami-0...`.
    pub ami: String,
    /// The primary private address.
    pub private_ip: Ipv4Addr,
    /// `PrivateDnsName` in EC2 and in the metadata service.
    pub private_dns_name: String,
    /// Host name of the operating system at boot; DHCP on EC2 assigns the private DNS name.
    pub host_name: String,
    /// MAC address of the primary interface, lower case with colons.
    pub mac: String,
    /// Availability zone.
    pub availability_zone: String,
    /// CIDR of the subnet.
    pub subnet_cidr: String,
    /// CIDRs of the VPC, the primary one first.
    pub vpc_cidrs: Vec<String>,
    /// VPC id.
    pub vpc_id: String,
    /// Subnet id.
    pub subnet_id: String,
    /// Network interface id.
    pub network_interface_id: String,
    /// Security group id.
    pub security_group_id: String,
    /// EBS volumes besides the root volume.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<VolumePlan>,
    /// Tags. Kubelets with the in-tree AWS provider need one that names the cluster.
    pub tags: BTreeMap<String, String>,
    /// Purchasing option.
    pub life_cycle: LifeCycle,
    /// Metadata options.
    pub metadata: MetadataPlan,
    /// Network settings beyond the defaults.
    #[serde(default)]
    pub network: NetworkPlan,
    /// Seconds by which the clock of the instance is ahead of the clocks of AWS and of the authenticator; negative:
    /// behind.
    #[serde(default)]
    pub clock_ahead_seconds: i64,
}

/// An EBS volume of an instance besides its root volume, empty at the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VolumePlan {
    /// Name in the block device mapping, such as `/dev/sdb`. On Nitro it is a link to the NVMe device, as Amazon Linux
    /// makes it.
    pub device: String,
    /// Size in GiB.
    pub gib: u32,
}

impl VolumePlan {
    /// The letters in the name of a device, such as `b` in `/dev/sdb`, `/dev/xvdb` or `xvdb`; `None` for other names.
    #[must_use]
    pub fn letters(device: &str) -> Option<&str> {
        let name = device.strip_prefix("/dev/").unwrap_or(device);
        let letters = ["sd", "xvd"].iter().find_map(|begin| name.strip_prefix(begin))?;
        let is_valid =
            (1..=2).contains(&letters.len()) && letters.bytes().all(|byte| byte.is_ascii_lowercase());
        is_valid.then_some(letters)
    }
}

/// Purchasing option of an instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LifeCycle {
    /// On-Demand Instance.
    #[default]
    OnDemand,
    /// Spot Instance.
    Spot,
}

impl LifeCycle {
    /// The value of `instance-life-cycle` in the metadata service.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OnDemand => "on-demand",
            Self::Spot => "spot",
        }
    }
}

/// An IAM role of an instance profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolePlan {
    /// Name of the role, without its path.
    pub name: String,
    /// Path of the role; starts and ends with `/`.
    pub path: String,
    /// Allowed actions; `None`: every action.
    #[serde(default)]
    pub allow: Option<Vec<String>>,
    /// Denied actions, such as `eks:DescribeCluster`. A denial takes precedence over `allow`.
    pub deny: Vec<String>,
}

impl InstancePlan {
    /// The addresses of the primary interface: the private IPv4 address, and all IPv6 addresses.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let ipv6 = self.network.ipv6.iter().copied().map(IpAddr::from);
        std::iter::once(IpAddr::from(self.private_ip)).chain(ipv6)
    }

    /// The figures of the instance's type: those of the scenario, else those of the type that it is like, else those of
    /// EC2.
    #[must_use]
    pub fn type_figures(&self) -> Option<Cow<'static, Ec2Type>> {
        let name = &self.instance_type;
        match (&self.type_data, &self.type_like) {
            (Some(data), _) => Some(Cow::Owned(data.named(name))),
            (None, Some(like)) => {
                let figures = ec2_type(like)?.clone();
                let name = name.clone();
                Some(Cow::Owned(Ec2Type { name, ..figures }))
            }
            (None, None) => ec2_type(name).map(Cow::Borrowed),
        }
    }
}
