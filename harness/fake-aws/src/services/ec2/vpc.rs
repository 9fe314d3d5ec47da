//! DescribeVpcs and DescribeSubnets: the network of the scenario's instance. The cluster has the same one.

use nodejoin_core::vocabulary::cidr::Cidr;

use super::interfaces;
use super::resource::{Ec2Resource, Ec2View, ResourceType};
use crate::ec2_names;
use crate::wire::xml::Xml;

/// Addresses that AWS reserves in a subnet.
const RESERVED: u32 = 5;

/// The VPC of the instance.
#[derive(Debug)]
pub(super) struct Vpc<'a>(&'a Ec2View<'a>);

/// The subnet of the instance.
#[derive(Debug)]
pub(super) struct Subnet<'a>(&'a Ec2View<'a>);

#[must_use]
pub(super) fn vpcs<'a>(view: &'a Ec2View<'a>) -> Vec<Vpc<'a>> {
    view.is_home().then_some(Vpc(view)).into_iter().collect()
}

#[must_use]
pub(super) fn subnets<'a>(view: &'a Ec2View<'a>) -> Vec<Subnet<'a>> {
    view.is_home().then_some(Subnet(view)).into_iter().collect()
}

/// Id of an association, derived from its CIDR.
fn association_id(kind: &str, cidr: &str) -> String {
    ec2_names::derived_id(&format!("{kind}-cidr-assoc"), cidr)
}

/// Writes the association of a CIDR; `state` is the member with its state.
fn write_association(item: Xml, kind: &str, [block, state]: [&str; 2], cidr: &str) -> Xml {
    item.text("associationId", association_id(kind, cidr))
        .text(block, cidr)
        .element(state, |state| state.text("state", "associated"))
}

impl Vpc<'_> {
    fn dhcp_options(&self) -> String {
        ec2_names::derived_id("dopt", self.id())
    }

    fn ipv6(&self) -> Option<String> {
        let block = ec2_names::ipv6_block(&self.0.world.instance.network, 56);
        Some(block).filter(|block| !block.is_empty())
    }
}

impl Ec2Resource for Vpc<'_> {
    const TYPE: ResourceType = ResourceType {
        name: "vpc",
        ids: "VpcId",
        set: "vpcSet",
        missing: "InvalidVpcID.NotFound",
        missing_message: "The vpc ID '{}' does not exist",
    };

    fn id(&self) -> &str {
        &self.0.world.instance.vpc_id
    }

    fn values(&self, filter: &str) -> Option<Vec<String>> {
        let (world, cidrs) = (self.0.world, &self.0.world.instance.vpc_cidrs);
        let value = match filter {
            "vpc-id" => self.id().to_owned(),
            "cidr" | "cidr-block" | "cidrBlock" => return Some(cidrs.first().cloned().into_iter().collect()),
            "cidr-block-association.cidr-block" => return Some(cidrs.clone()),
            "cidr-block-association.state" => "associated".to_owned(),
            "ipv6-cidr-block-association.ipv6-cidr-block" => return Some(self.ipv6().into_iter().collect()),
            "state" => "available".to_owned(),
            "is-default" | "isDefault" => "false".to_owned(),
            "owner-id" => world.account.to_string(),
            "dhcp-options-id" => self.dhcp_options(),
            _ => return None,
        };
        Some(vec![value])
    }

    fn write(&self, item: Xml) -> Xml {
        let world = self.0.world;
        let cidrs = &world.instance.vpc_cidrs;
        let item = item
            .text("vpcId", self.id())
            .text("ownerId", &world.account)
            .text("state", "available")
            .text("cidrBlock", cidrs.first().map(String::as_str).unwrap_or_default())
            .items("cidrBlockAssociationSet", cidrs, |item, cidr| {
                write_association(item, "vpc", ["cidrBlock", "cidrBlockState"], cidr)
            });
        let item = match self.ipv6() {
            Some(block) => item.items("ipv6CidrBlockAssociationSet", [block], |item, block| {
                write_association(item, "vpc", ["ipv6CidrBlock", "ipv6CidrBlockState"], &block)
                    .text("ipv6Pool", "Amazon")
                    .text("networkBorderGroup", &world.region)
            }),
            None => item,
        };
        item.text("dhcpOptionsId", self.dhcp_options())
            .text("instanceTenancy", "default")
            .text("isDefault", false)
    }
}

impl Subnet<'_> {
    /// Addresses that neither AWS nor an instance uses.
    fn free(&self) -> u32 {
        let Ok(cidr) = self.0.world.instance.subnet_cidr.parse::<Cidr>() else {
            return 0;
        };
        let interfaces = interfaces::all(&self.0.instances);
        let used = interfaces
            .flat_map(|interface| interface.addresses)
            .filter(|address| cidr.contains(*address))
            .count();
        let used = u32::try_from(used).unwrap_or(u32::MAX).saturating_add(RESERVED);
        cidr.size().saturating_sub(used)
    }

    fn ipv6(&self) -> Option<String> {
        let block = ec2_names::ipv6_block(&self.0.world.instance.network, 64);
        Some(block).filter(|block| !block.is_empty())
    }

    fn arn(&self) -> String {
        self.0.arn(&format!("subnet/{}", self.id()))
    }
}

impl Ec2Resource for Subnet<'_> {
    const TYPE: ResourceType = ResourceType {
        name: "subnet",
        ids: "SubnetId",
        set: "subnetSet",
        missing: "InvalidSubnetID.NotFound",
        missing_message: "The subnet ID '{}' does not exist",
    };

    fn id(&self) -> &str {
        &self.0.world.instance.subnet_id
    }

    fn values(&self, filter: &str) -> Option<Vec<String>> {
        let (world, instance) = (self.0.world, &self.0.world.instance);
        let value = match filter {
            "subnet-id" => self.id().to_owned(),
            "subnet-arn" => self.arn(),
            "vpc-id" => instance.vpc_id.clone(),
            "cidr" | "cidr-block" | "cidrBlock" => instance.subnet_cidr.clone(),
            "availability-zone" | "availabilityZone" => instance.availability_zone.clone(),
            "availability-zone-id" | "availabilityZoneId" => {
                world.region.zone_id(&instance.availability_zone)
            }
            "available-ip-address-count" => self.free().to_string(),
            "state" => "available".to_owned(),
            "default-for-az" | "defaultForAz" | "ipv6-native" => "false".to_owned(),
            "map-public-ip-on-launch" => instance.network.public_ip.is_some().to_string(),
            "owner-id" => world.account.to_string(),
            "ipv6-cidr-block-association.ipv6-cidr-block" => return Some(self.ipv6().into_iter().collect()),
            _ => return None,
        };
        Some(vec![value])
    }

    fn write(&self, item: Xml) -> Xml {
        let (world, instance) = (self.0.world, &self.0.world.instance);
        item.text("subnetId", self.id())
            .text("subnetArn", self.arn())
            .text("state", "available")
            .text("ownerId", &world.account)
            .text("vpcId", &instance.vpc_id)
            .text("cidrBlock", &instance.subnet_cidr)
            .items("ipv6CidrBlockAssociationSet", self.ipv6(), |item, block| {
                write_association(item, "subnet", ["ipv6CidrBlock", "ipv6CidrBlockState"], &block)
            })
            .text("availableIpAddressCount", self.free())
            .text("availabilityZone", &instance.availability_zone)
            .text(
                "availabilityZoneId",
                world.region.zone_id(&instance.availability_zone),
            )
            .text("defaultForAz", false)
            .text("mapPublicIpOnLaunch", instance.network.public_ip.is_some())
            .text("mapCustomerOwnedIpOnLaunch", false)
            .text("assignIpv6AddressOnCreation", self.ipv6().is_some())
            .text("enableDns64", false)
            .text("ipv6Native", false)
            .element("privateDnsNameOptionsOnLaunch", |options| {
                options
                    .text("hostnameType", "ip-name")
                    .text("enableResourceNameDnsARecord", false)
                    .text("enableResourceNameDnsAAAARecord", false)
            })
    }
}
