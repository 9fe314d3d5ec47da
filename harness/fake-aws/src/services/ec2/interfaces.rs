//! DescribeNetworkInterfaces, and network interfaces in other responses.

use std::net::{Ipv4Addr, Ipv6Addr};

use nodejoin_core::plan::ec2::InterfacePlan;

use super::filters;
use super::inventory::Ec2Instance;
use super::page::{self, Described};
use super::resource::{tags_of, write_tags};
use super::security_groups::write_group;
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
    /// Whether the interface is attached to the instance. One that is not belongs to the instance's subnet only.
    is_attached: bool,
}

/// The interfaces of all instances, and those without an instance.
pub(super) fn all<'a>(instances: &'a [Ec2Instance<'a>]) -> impl Iterator<Item = NetworkInterface<'a>> {
    let own = instances.iter().filter(|instance| instance.is_own());
    instances.iter().flat_map(of).chain(own.flat_map(available))
}

/// The interfaces without an instance.
fn available<'a>(instance: &'a Ec2Instance<'a>) -> Vec<NetworkInterface<'a>> {
    let plans = instance.store.available.iter();
    let interfaces = plans.map(|plan| NetworkInterface {
        is_attached: false,
        ..further(instance, plan, 0)
    });
    interfaces.collect()
}

fn further<'a>(
    instance: &'a Ec2Instance<'a>,
    plan: &'a InterfacePlan,
    device: usize,
) -> NetworkInterface<'a> {
    NetworkInterface {
        instance,
        id: ec2_names::interface_id(plan),
        mac: &plan.mac,
        device,
        card: plan.network_card,
        addresses: plan.private_ips.clone(),
        ipv6: &[],
        public_ip: None,
        is_attached: true,
    }
}

/// The id of the attachment of an interface.
#[must_use]
pub(super) fn attachment_id(id: &str) -> String {
    id.replacen("eni-", "eni-attach-", 1)
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
        is_attached: true,
    };
    let others = plan.network.interfaces.iter().enumerate();
    let others = others.map(|(index, plan)| further(instance, plan, plan.device(index)));
    std::iter::once(primary).chain(others).collect()
}

/// Writes the response of DescribeNetworkInterfaces.
///
/// # Errors
/// An id, a filter or a page is invalid.
pub(super) fn describe(body: Xml, instances: &[Ec2Instance<'_>], parameters: &QueryParameters) -> Described {
    let all: Vec<NetworkInterface<'_>> = all(instances).collect();
    let ids = parameters.list("NetworkInterfaceId");
    if let Some(missing) = ids.iter().find(|id| !all.iter().any(|found| found.id == **id)) {
        return Err(not_found(missing));
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

/// The error for an id that no interface has.
pub(super) fn not_found(id: &str) -> ServiceError {
    let message = format!("The networkInterface ID '{id}' does not exist");
    ServiceError::new(400, "InvalidNetworkInterfaceID.NotFound", message)
}

impl NetworkInterface<'_> {
    /// A value that only an attached interface has.
    fn attached(&self, value: impl ToString) -> Vec<String> {
        self.is_attached.then(|| value.to_string()).into_iter().collect()
    }

    fn status(&self) -> &'static str {
        if self.is_attached { "in-use" } else { "available" }
    }

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
            "attachment.instance-id" => return Some(self.attached(&plan.id)),
            "attachment.device-index" => return Some(self.attached(self.device)),
            "attachment.status" => return Some(self.attached("attached")),
            "attachment.attachment-id" => return Some(self.attached(attachment_id(&self.id))),
            "description" => self.instance.store.attributes(&self.id).description,
            "availability-zone" => plan.availability_zone.clone(),
            "group-id" => plan.security_group_id.clone(),
            "mac-address" => self.mac.to_owned(),
            "owner-id" => self.instance.world.account.to_string(),
            "private-dns-name" => self.private_dns_name(self.primary()),
            "private-ip-address" => self.primary().to_string(),
            "status" => self.status().to_owned(),
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
    pub(super) fn write_alone(&self, item: Xml) -> Xml {
        let plan = self.instance.plan.as_ref();
        let attached = |attachment: Xml| {
            self.write_attachment(attachment)
                .text("instanceId", &plan.id)
                .text("instanceOwnerId", &self.instance.world.account)
        };
        let item = self
            .write_head(item)
            .text("availabilityZone", &plan.availability_zone)
            .text("requesterManaged", false);
        let item = match self.is_attached {
            true => item.element("attachment", attached),
            false => item,
        };
        let item = write_tags(item, tags_of(self.instance.world, RESOURCE_TYPE, &self.id));
        self.write_addresses(item).text("interfaceType", "interface")
    }

    fn write_head(&self, item: Xml) -> Xml {
        let plan = self.instance.plan.as_ref();
        let attributes = self.instance.store.attributes(&self.id);
        item.text("networkInterfaceId", &self.id)
            .text("subnetId", &plan.subnet_id)
            .text("vpcId", &plan.vpc_id)
            .text("description", attributes.description)
            .text("ownerId", &self.instance.world.account)
            .text("status", self.status())
            .text("macAddress", self.mac)
            .text("privateIpAddress", self.primary())
            .text("privateDnsName", self.private_dns_name(self.primary()))
            .text("sourceDestCheck", attributes.source_dest_check)
            .items("groupSet", [&plan.security_group_id], write_group)
    }

    fn write_attachment(&self, attachment: Xml) -> Xml {
        let attributes = self.instance.store.attributes(&self.id);
        attachment
            .text("attachmentId", attachment_id(&self.id))
            .text("deviceIndex", self.device)
            .text("status", "attached")
            .text("attachTime", clock::milliseconds(self.instance.launched))
            .text("deleteOnTermination", attributes.delete_on_termination)
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
        let is_elastic = world.aws.addresses.iter().any(|plan| plan.public_ip == address);
        match is_elastic {
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
