//! DescribeNetworkInterfaces, and network interfaces in other responses.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::instances::group;
use super::inventory::Ec2Instance;
use super::resource::{tags_of, write_tags};
use super::{Described, addresses, filters, page};
use crate::clock;
use crate::ec2_names;
use crate::http::{QueryParameters, ServiceError};
use crate::wire::xml::Xml;

/// Type in tags.
pub(super) const RESOURCE_TYPE: &str = "network-interface";

/// A network interface of an instance.
#[derive(Debug)]
pub(super) struct NetworkInterface<'a> {
    instance: &'a Ec2Instance<'a>,
    pub(super) id: String,
    mac: &'a str,
    device: usize,
    card: u8,
    pub(super) addresses: Vec<Ipv4Addr>,
    ipv6: &'a [Ipv6Addr],
    public_ip: Option<Ipv4Addr>,
}

/// The interfaces of an instance, by their device index.
#[must_use]
pub(super) fn of<'a>(instance: &'a Ec2Instance<'a>) -> Vec<NetworkInterface<'a>> {
    if !instance.has_network() {
        return Vec::new();
    }
    let plan = instance.plan.as_ref();
    let primary = NetworkInterface {
        instance,
        id: plan.network_interface_id.clone(),
        mac: &plan.mac,
        device: 0,
        card: 0,
        addresses: ec2_names::primary_addresses(plan),
        ipv6: &plan.network.ipv6,
        public_ip: plan.network.public_ip,
    };
    let further = plan.network.interfaces.iter().enumerate();
    let further = further.map(|(index, interface)| NetworkInterface {
        instance,
        id: ec2_names::interface_id(interface),
        mac: &interface.mac,
        device: index + 1,
        card: interface.network_card,
        addresses: interface.private_ips.clone(),
        ipv6: &[],
        public_ip: None,
    });
    std::iter::once(primary).chain(further).collect()
}

/// Writes the response of DescribeNetworkInterfaces.
///
/// # Errors
/// An id, a filter or a page is invalid.
pub(super) fn describe(body: Xml, instances: &[Ec2Instance<'_>], parameters: &QueryParameters) -> Described {
    let all: Vec<NetworkInterface<'_>> = instances.iter().flat_map(of).collect();
    let ids = parameters.list("NetworkInterfaceId");
    if let Some(missing) = ids.iter().find(|id| !all.iter().any(|found| found.id == **id)) {
        let message = format!("The networkInterface ID '{missing}' does not exist");
        return Err(ServiceError::new(
            400,
            "InvalidNetworkInterfaceID.NotFound",
            message,
        ));
    }
    let filters = filters::read(parameters);
    let mut found = Vec::new();
    for interface in all {
        let is_requested = ids.is_empty() || ids.contains(&interface.id.as_str());
        if filters::pass(&filters, |name| interface.values(name))? && is_requested {
            found.push(interface);
        }
    }
    page::write(
        body,
        "networkInterfaceSet",
        found,
        parameters,
        5..=1_000,
        |item, interface| interface.write_alone(item),
    )
}

impl NetworkInterface<'_> {
    fn private_dns_name(&self, address: Ipv4Addr) -> String {
        let instance = self.instance;
        if address == instance.plan.private_ip {
            instance.private_dns_name().to_owned()
        } else {
            ec2_names::private_dns_name(&instance.world.region, address)
        }
    }

    fn primary(&self) -> Ipv4Addr {
        self.addresses.first().copied().unwrap_or(Ipv4Addr::UNSPECIFIED)
    }

    fn values(&self, filter: &str) -> Option<Vec<String>> {
        let plan = self.instance.plan.as_ref();
        let tags = tags_of(self.instance.world, RESOURCE_TYPE, &self.id);
        if let Some(key) = filter.strip_prefix("tag:") {
            return Some(tags.get(key).into_iter().cloned().collect());
        }
        let value = match filter {
            "network-interface-id" => self.id.clone(),
            "attachment.instance-id" => plan.id.to_string(),
            "attachment.device-index" => self.device.to_string(),
            "attachment.status" => "attached".to_owned(),
            "availability-zone" => plan.availability_zone.clone(),
            "group-id" => plan.security_group_id.clone(),
            "mac-address" => self.mac.to_owned(),
            "owner-id" => self.instance.world.account.to_string(),
            "private-dns-name" => self.private_dns_name(self.primary()),
            "private-ip-address" => self.primary().to_string(),
            "status" => "in-use".to_owned(),
            "subnet-id" => plan.subnet_id.clone(),
            "vpc-id" => plan.vpc_id.clone(),
            "tag-key" => return Some(tags.keys().cloned().collect()),
            "addresses.private-ip-address" => {
                return Some(self.addresses.iter().map(ToString::to_string).collect());
            }
            "association.public-ip" => {
                return Some(self.public_ip.iter().map(ToString::to_string).collect());
            }
            "ipv6-addresses.ipv6-address" => {
                return Some(self.ipv6.iter().map(ToString::to_string).collect());
            }
            _ => return None,
        };
        Some(vec![value])
    }

    /// Writes the interface as a member of DescribeInstances.
    pub(super) fn write(&self, item: Xml) -> Xml {
        let attached = |attachment: Xml| self.write_attachment(attachment);
        self.write_addresses(self.write_head(item).element("attachment", attached))
            .text("interfaceType", "interface")
    }

    /// Writes the interface as an item of DescribeNetworkInterfaces, with its owner.
    fn write_alone(&self, item: Xml) -> Xml {
        let plan = self.instance.plan.as_ref();
        let attached = |attachment: Xml| {
            self.write_attachment(attachment)
                .text("instanceId", &plan.id)
                .text("instanceOwnerId", &self.instance.world.account)
        };
        let item = self
            .write_head(item)
            .text("availabilityZone", &plan.availability_zone)
            .text("requesterManaged", false)
            .element("attachment", attached);
        let item = write_tags(item, tags_of(self.instance.world, RESOURCE_TYPE, &self.id));
        self.write_addresses(item).text("interfaceType", "interface")
    }

    fn write_head(&self, item: Xml) -> Xml {
        let plan = self.instance.plan.as_ref();
        item.text("networkInterfaceId", &self.id)
            .text("subnetId", &plan.subnet_id)
            .text("vpcId", &plan.vpc_id)
            .text("description", "")
            .text("ownerId", &self.instance.world.account)
            .text("status", "in-use")
            .text("macAddress", self.mac)
            .text("privateIpAddress", self.primary())
            .text("privateDnsName", self.private_dns_name(self.primary()))
            .text("sourceDestCheck", true)
            .items("groupSet", [&plan.security_group_id], group)
    }

    fn write_attachment(&self, attachment: Xml) -> Xml {
        attachment
            .text("attachmentId", self.id.replacen("eni-", "eni-attach-", 1))
            .text("deviceIndex", self.device)
            .text("status", "attached")
            .text("attachTime", clock::milliseconds(self.instance.launched))
            .text("deleteOnTermination", true)
            .text("networkCardIndex", self.card)
    }

    fn write_addresses(&self, item: Xml) -> Xml {
        let item = match self.public_ip {
            Some(address) => item.element("association", |set| self.write_association(set, address)),
            None => item,
        };
        item.items(
            "privateIpAddressesSet",
            self.addresses.iter().enumerate(),
            |item, (index, address)| {
                let item = item
                    .text("privateIpAddress", address)
                    .text("privateDnsName", self.private_dns_name(*address))
                    .text("primary", index == 0);
                match self.public_ip.filter(|_| index == 0) {
                    Some(public) => item.element("association", |set| self.write_association(set, public)),
                    None => item,
                }
            },
        )
        .items("ipv6AddressesSet", self.ipv6, |item, address| {
            item.text("ipv6Address", address)
        })
    }

    /// AWS owns addresses that EC2 assigns, the account its Elastic IP addresses.
    fn address_owner(&self, address: Ipv4Addr) -> &str {
        let world = self.instance.world;
        match addresses::is_elastic(world, address) {
            true => world.account.as_str(),
            false => "amazon",
        }
    }

    fn write_association(&self, association: Xml, address: Ipv4Addr) -> Xml {
        association
            .text("publicIp", address)
            .text(
                "publicDnsName",
                ec2_names::public_dns_name(&self.instance.world.region, address),
            )
            .text("ipOwnerId", self.address_owner(address))
    }
}
