//! The network part of the metadata tree: addresses, and one directory per network interface.

use std::fmt::Display;
use std::net::Ipv4Addr;

use nodejoin_core::plan::InstancePlan;

use super::tree::MetadataTree;
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
            device: interface.device(index),
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
        tree.text("public-ipv4", address.to_string());
        tree.text(
            "public-hostname",
            ec2_names::public_dns_name(&world.region, address),
        );
    }
    if let Some(address) = network.ipv6.first() {
        tree.text("ipv6", address.to_string());
    }
}

fn add_interface(tree: &mut MetadataTree, world: &World, interface: &Interface<'_>) {
    let instance = &world.instance;
    let primary = instance.vpc_cidrs.first().map(String::as_str).unwrap_or_default();
    let host_name = match (interface.device, interface.addresses.first()) {
        (0, _) | (_, None) => local_host_name(instance),
        (_, Some(address)) => ec2_names::private_dns_name(&world.region, *address),
    };
    let rows: [(&str, &str); 14] = [
        ("device-number", &interface.device.to_string()),
        ("interface-id", &interface.id),
        ("local-hostname", &host_name),
        ("local-ipv4s", &lines(&interface.addresses)),
        ("mac", interface.mac),
        ("network-card", &interface.card.to_string()),
        ("owner-id", world.account.as_str()),
        ("security-group-ids", &instance.security_group_id),
        ("security-groups", ec2_names::SECURITY_GROUP),
        ("subnet-id", &instance.subnet_id),
        ("subnet-ipv4-cidr-block", &instance.subnet_cidr),
        ("vpc-id", &instance.vpc_id),
        ("vpc-ipv4-cidr-block", primary),
        ("vpc-ipv4-cidr-blocks", &instance.vpc_cidrs.join("\n")),
    ];
    for (path, value) in rows {
        tree.text(
            &format!("network/interfaces/macs/{}/{path}", interface.mac),
            value,
        );
    }
}

/// Adds the public and IPv6 addresses, which only the primary interface has.
fn add_primary(tree: &mut MetadataTree, world: &World) {
    let (instance, network) = (&world.instance, &world.instance.network);
    let mut add = |path: &str, value: String| {
        tree.text(&format!("network/interfaces/macs/{}/{path}", instance.mac), value);
    };
    if let Some(address) = network.public_ip {
        add("public-ipv4s", address.to_string());
        add(
            "public-hostname",
            ec2_names::public_dns_name(&world.region, address),
        );
        // The value is the private address behind the public one.
        let path = format!("ipv4-associations/{address}");
        add(&path, instance.private_ip.to_string());
    }
    if !network.ipv6.is_empty() {
        add("ipv6s", lines(&network.ipv6));
        add("subnet-ipv6-cidr-blocks", ec2_names::ipv6_block(network, 64));
        add("vpc-ipv6-cidr-blocks", ec2_names::ipv6_block(network, 56));
    }
}

fn lines<T: Display>(values: &[T]) -> String {
    values
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}
