//! Names and addresses that EC2 derives from others.

use std::net::{Ipv4Addr, Ipv6Addr};

use nodejoin_core::plan::InstancePlan;
use nodejoin_core::plan::ec2::{InterfacePlan, NetworkPlan};
pub(crate) use nodejoin_core::plan::ids::derived_id;
use nodejoin_core::plan::region::Region;

/// Name of the instance's security group.
pub(crate) const SECURITY_GROUP: &str = "default";

/// The reservation of an instance, derived from its id.
#[must_use]
pub(crate) fn reservation_id(instance: &InstancePlan) -> String {
    derived_id("r", instance.id.as_str())
}

/// The root volume of an instance.
#[must_use]
pub(crate) fn root_volume_id(instance: &InstancePlan) -> String {
    instance.root_volume_id()
}

/// The snapshot of an instance's image.
#[must_use]
pub(crate) fn snapshot_id(instance: &InstancePlan) -> String {
    derived_id("snap", &instance.ami)
}

/// The DNS name of a private address.
#[must_use]
pub(crate) fn private_dns_name(region: &Region, address: Ipv4Addr) -> String {
    format!("ip-{}.{}", dashed(address), region.private_domain())
}

/// The DNS name of a public address.
#[must_use]
pub(crate) fn public_dns_name(region: &Region, address: Ipv4Addr) -> String {
    let domain = match region.as_str() {
        "us-east-1" => "compute-1".to_owned(),
        other => format!("{other}.compute"),
    };
    format!("ec2-{}.{domain}.{}", dashed(address), region.dns_suffix())
}

fn dashed(address: Ipv4Addr) -> String {
    address.to_string().replace('.', "-")
}

/// The private addresses of the primary interface, the primary address first.
#[must_use]
pub(crate) fn primary_addresses(instance: &InstancePlan) -> Vec<Ipv4Addr> {
    let further = instance.network.secondary_ips.iter().copied();
    std::iter::once(instance.private_ip).chain(further).collect()
}

/// The id of a further interface, derived from its MAC address.
#[must_use]
pub(crate) fn interface_id(interface: &InterfacePlan) -> String {
    derived_id("eni", &interface.mac)
}

/// The network with this prefix length around the first IPv6 address; empty without an address.
#[must_use]
pub(crate) fn ipv6_block(network: &NetworkPlan, bits: u32) -> String {
    let block = network.ipv6.first().map(|address| {
        let mask = u128::MAX << (128 - bits);
        format!("{}/{bits}", Ipv6Addr::from(u128::from(*address) & mask))
    });
    block.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_addresses() {
        let address = Ipv4Addr::new(3, 4, 5, 6);
        let table = [
            (
                "us-east-1",
                "ip-3-4-5-6.ec2.internal",
                "ec2-3-4-5-6.compute-1.amazonaws.com",
            ),
            (
                "eu-west-1",
                "ip-3-4-5-6.eu-west-1.compute.internal",
                "ec2-3-4-5-6.eu-west-1.compute.amazonaws.com",
            ),
            (
                "cn-north-1",
                "ip-3-4-5-6.cn-north-1.compute.internal",
                "ec2-3-4-5-6.cn-north-1.compute.amazonaws.com.cn",
            ),
        ];
        for (region, private, public) in table {
            let region: Region = region.parse().unwrap();
            assert_eq!(private_dns_name(&region, address), private);
            assert_eq!(public_dns_name(&region, address), public);
        }
    }
}
