//! The network part of the metadata tree: addresses, and one directory per network interface.

use std::fmt::Display;
use std::net::Ipv4Addr;

use nodejoin_core::plan::InstancePlan;

use super::MetadataTree;
use crate::ec2_names;
use crate::world::World;

/// A network interface in the tree.
struct Interface<'a> {
    mac: &'a str,
    device: usize,
    card: u8,
    id: String,
    addresses: Vec<Ipv4Addr>,
}

pub(super) fn add(tree: &mut MetadataTree, world: &World) {
    add_addresses(tree, world);
    let instance = &world.instance;
    let primary = Interface {
        mac: &instance.mac,
        device: 0,
        card: 0,
        id: instance.network_interface_id.clone(),
        addresses: ec2_names::primary_addresses(instance),
    };
    add_interface(tree, world, &primary);
    add_primary(tree, world);
    for (index, interface) in instance.network.interfaces.iter().enumerate() {
        let further = Interface {
            mac: &interface.mac,
            device: index + 1,
            card: interface.network_card,
            id: ec2_names::interface_id(interface),
            addresses: interface.private_ips.clone(),
        };
        add_interface(tree, world, &further);
    }
}

/// The host name, followed by the further domains of the VPC's DHCP options: the service returns one name and bare
/// domains.
#[must_use]
pub(super) fn local_host_name(instance: &InstancePlan) -> String {
    let mut words = vec![instance.host_name.as_str()];
    words.extend(instance.network.dhcp_domains.iter().map(String::as_str));
    words.join(" ")
}

fn add_addresses(tree: &mut MetadataTree, world: &World) {
    let network = &world.instance.network;
    if let Some(address) = network.public_ip {
        tree.text("public-ipv4", "2007-01-19", address.to_string());
        tree.text(
            "public-hostname",
            "2007-01-19",
            ec2_names::public_dns_name(&world.region, address),
        );
    }
    if let Some(address) = network.ipv6.first() {
        tree.text("ipv6", "2021-01-03", address.to_string());
    }
}

fn add_interface(tree: &mut MetadataTree, world: &World, interface: &Interface<'_>) {
    let instance = &world.instance;
    let primary = instance.vpc_cidrs.first().map(String::as_str).unwrap_or_default();
    let host_name = match (interface.device, interface.addresses.first()) {
        (0, _) | (_, None) => local_host_name(instance),
        (_, Some(address)) => ec2_names::private_dns_name(&world.region, *address),
    };
    let rows: [(&str, &'static str, &str); 14] = [
        ("device-number", "2011-01-01", &interface.device.to_string()),
        ("interface-id", "2011-01-01", &interface.id),
        ("local-hostname", "2011-01-01", &host_name),
        ("local-ipv4s", "2011-01-01", &lines(&interface.addresses)),
        ("mac", "2011-01-01", interface.mac),
        ("network-card", "2020-11-01", &interface.card.to_string()),
        ("owner-id", "2011-01-01", world.account.as_str()),
        ("security-group-ids", "2011-01-01", &instance.security_group_id),
        ("security-groups", "2011-01-01", ec2_names::SECURITY_GROUP),
        ("subnet-id", "2011-01-01", &instance.subnet_id),
        ("subnet-ipv4-cidr-block", "2011-01-01", &instance.subnet_cidr),
        ("vpc-id", "2011-01-01", &instance.vpc_id),
        ("vpc-ipv4-cidr-block", "2011-01-01", primary),
        (
            "vpc-ipv4-cidr-blocks",
            "2016-06-30",
            &instance.vpc_cidrs.join("\n"),
        ),
    ];
    for (path, since, value) in rows {
        tree.text(
            &format!("network/interfaces/macs/{}/{path}", interface.mac),
            since,
            value,
        );
    }
}

/// Adds the public and IPv6 addresses, which only the primary interface has.
fn add_primary(tree: &mut MetadataTree, world: &World) {
    let (instance, network) = (&world.instance, &world.instance.network);
    let mut add = |path: &str, since, value: String| {
        tree.text(
            &format!("network/interfaces/macs/{}/{path}", instance.mac),
            since,
            value,
        );
    };
    if let Some(address) = network.public_ip {
        add("public-ipv4s", "2011-01-01", address.to_string());
        add(
            "public-hostname",
            "2011-01-01",
            ec2_names::public_dns_name(&world.region, address),
        );
        // The value is the private address behind the public one.
        let path = format!("ipv4-associations/{address}");
        add(&path, "2011-01-01", instance.private_ip.to_string());
    }
    if !network.ipv6.is_empty() {
        add("ipv6s", "2016-06-30", lines(&network.ipv6));
        add(
            "subnet-ipv6-cidr-blocks",
            "2016-06-30",
            ec2_names::ipv6_block(network, 64),
        );
        add(
            "vpc-ipv6-cidr-blocks",
            "2016-06-30",
            ec2_names::ipv6_block(network, 56),
        );
    }
}

fn lines<T: Display>(values: &[T]) -> String {
    values
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}
