//! DescribeInstances: the account's instances, with the members that kubelets, nodeadm, scripts and the AWS CLI read.

use super::machines::Machine;
use super::{filters, interfaces, page, types, zones};
use crate::clock;
use crate::exchange::{Parameters, ServiceError};
use crate::wire::xml::Xml;
use crate::world::World;

/// Writes the answer.
///
/// # Errors
/// For ids that do not exist or are none, filters that are not known and pages that cannot be.
pub fn describe(body: Xml, machines: &[Machine<'_>], parameters: &Parameters) -> Result<Xml, ServiceError> {
    let ids = parameters.list("InstanceId");
    check_ids(&ids, machines)?;
    if !ids.is_empty() && parameters.get("MaxResults").is_some() {
        let message = "The parameter instancesSet cannot be used with the parameter maxResults";
        return Err(ServiceError::new(400, "InvalidParameterCombination", message));
    }
    let filters = filters::read(parameters);
    let mut found = Vec::new();
    for machine in machines {
        let is_asked = ids.is_empty() || ids.contains(&machine.plan.id.as_str());
        if filters::pass(&filters, |name| values(machine, name))? && is_asked {
            found.push(machine);
        }
    }
    page::write(
        body,
        "reservationSet",
        found,
        parameters,
        5..=1_000,
        |item, machine| {
            item.text("reservationId", zones::reservation_id(&machine.plan))
                .text("ownerId", &machine.world.account)
                .element("groupSet", |set| set)
                .items("instancesSet", [machine], write)
        },
    )
}

/// One id that is wrong fails the whole call.
///
/// # Errors
/// For ids that do not exist or are none.
pub fn check_ids(ids: &[&str], machines: &[Machine<'_>]) -> Result<(), ServiceError> {
    if let Some(malformed) = ids.iter().find(|id| !is_instance_id(id)) {
        return Err(ServiceError::new(
            400,
            "InvalidInstanceID.Malformed",
            format!("Invalid id: \"{malformed}\""),
        ));
    }
    let is_known = |id: &str| machines.iter().any(|machine| machine.plan.id.as_str() == id);
    let missing: Vec<&str> = ids.iter().copied().filter(|id| !is_known(id)).collect();
    let message = match missing.as_slice() {
        [] => return Ok(()),
        [one] => format!("The instance ID '{one}' does not exist"),
        several => format!("The instance IDs '{}' do not exist", several.join(", ")),
    };
    Err(ServiceError::new(400, "InvalidInstanceID.NotFound", message))
}

fn is_instance_id(id: &str) -> bool {
    id.strip_prefix("i-")
        .is_some_and(|hex| matches!(hex.len(), 8 | 17) && hex.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn values(machine: &Machine<'_>, filter: &str) -> Option<Vec<String>> {
    let (world, instance) = (machine.world, machine.plan.as_ref());
    let (code, state) = machine.state.code_and_name();
    if let Some(key) = filter.strip_prefix("tag:") {
        return Some(instance.tags.get(key).into_iter().cloned().collect());
    }
    let value = match filter {
        "instance-id" => instance.id.to_string(),
        "private-dns-name" | "network-interface.private-dns-name" => machine.private_dns_name().to_owned(),
        "private-ip-address" | "network-interface.addresses.private-ip-address" => {
            instance.private_ip.to_string()
        }
        "instance-state-name" => state.to_owned(),
        "instance-state-code" => code.to_string(),
        "instance-type" => instance.instance_type.clone(),
        "image-id" => instance.ami.clone(),
        "availability-zone" => instance.availability_zone.clone(),
        "vpc-id" | "network-interface.vpc-id" => instance.vpc_id.clone(),
        "subnet-id" | "network-interface.subnet-id" => instance.subnet_id.clone(),
        "network-interface.network-interface-id" => instance.network_interface_id.clone(),
        "network-interface.mac-address" => instance.mac.clone(),
        "instance.group-id" | "group-id" => instance.security_group_id.clone(),
        "owner-id" => world.account.to_string(),
        "reservation-id" => zones::reservation_id(instance),
        "ip-address" | "network-interface.association.public-ip" => {
            return Some(
                instance
                    .network
                    .public_ip
                    .iter()
                    .map(ToString::to_string)
                    .collect(),
            );
        }
        "instance-lifecycle" => {
            return Some(
                (instance.life_cycle == "spot")
                    .then(|| "spot".to_owned())
                    .into_iter()
                    .collect(),
            );
        }
        "tag-key" => return Some(instance.tags.keys().cloned().collect()),
        _ => return None,
    };
    Some(vec![value])
}

fn write(item: Xml, machine: &Machine<'_>) -> Xml {
    let (world, plan) = (machine.world, machine.plan.as_ref());
    let (code, state) = machine.state.code_and_name();
    let item = item
        .text("instanceId", &plan.id)
        .text("imageId", &plan.ami)
        .element("instanceState", |element| {
            element.text("code", code).text("name", state)
        })
        .text("privateDnsName", machine.private_dns_name())
        .text("dnsName", public_dns_name(machine))
        .text("reason", "")
        .text("amiLaunchIndex", 0)
        .element("productCodes", |set| set)
        .text("instanceType", &plan.instance_type)
        .text("launchTime", clock::milliseconds(machine.launched))
        .element("placement", |placement| {
            placement
                .text("availabilityZone", &plan.availability_zone)
                .text("groupName", "")
                .text("tenancy", "default")
        })
        .element("monitoring", |monitoring| monitoring.text("state", "disabled"));
    let item = if machine.has_network() {
        write_network(item, machine)
    } else {
        item
    };
    let item = item
        .text("architecture", types::architecture(&plan.instance_type))
        .text("rootDeviceType", "ebs")
        .text("rootDeviceName", "/dev/xvda")
        .element("blockDeviceMapping", |set| set)
        .text("virtualizationType", "hvm");
    let item = if plan.life_cycle == "spot" {
        item.text("instanceLifecycle", "spot")
    } else {
        item
    };
    let item = item
        .items("tagSet", &plan.tags, |tag, (key, value)| {
            tag.text("key", key).text("value", value)
        })
        .text("hypervisor", "xen")
        .items(
            "networkInterfaceSet",
            interfaces::of(machine),
            |item, interface| interface.write(item),
        );
    let item = match world.instance_profile_arn() {
        Some(arn) => item.element("iamInstanceProfile", |profile| {
            profile
                .text("arn", &arn)
                .text("id", crate::credentials::unique_id("AIPA", &arn))
        }),
        None => item,
    };
    item.text("ebsOptimized", false)
        .text("enaSupport", true)
        .element("metadataOptions", |options| metadata_options(options, world))
        .element("privateDnsNameOptions", |options| {
            options
                .text("hostnameType", "ip-name")
                .text("enableResourceNameDnsARecord", false)
                .text("enableResourceNameDnsAAAARecord", false)
        })
}

/// What a terminated instance has no more.
fn write_network(item: Xml, machine: &Machine<'_>) -> Xml {
    let plan = machine.plan.as_ref();
    let item = item
        .text("subnetId", &plan.subnet_id)
        .text("vpcId", &plan.vpc_id)
        .text("privateIpAddress", plan.private_ip);
    let item = match plan.network.public_ip {
        Some(address) => item.text("ipAddress", address),
        None => item,
    };
    item.text("sourceDestCheck", true)
        .items("groupSet", [&plan.security_group_id], group)
}

fn public_dns_name(machine: &Machine<'_>) -> String {
    let address = machine.plan.network.public_ip.filter(|_| machine.is_named);
    address.map_or_else(String::new, |address| {
        zones::public_dns_name(&machine.world.region, address)
    })
}

/// A security group in a list of them.
pub(super) fn group(item: Xml, id: &String) -> Xml {
    item.text("groupId", id).text("groupName", zones::SECURITY_GROUP)
}

fn metadata_options(options: Xml, world: &World) -> Xml {
    let metadata = &world.instance.metadata;
    let switch = |on: bool| if on { "enabled" } else { "disabled" };
    let tokens = match metadata.tokens {
        nodejoin_core::plan::Tokens::Required => "required",
        nodejoin_core::plan::Tokens::Optional => "optional",
    };
    options
        .text("state", "applied")
        .text("httpTokens", tokens)
        .text("httpPutResponseHopLimit", metadata.hop_limit)
        .text("httpEndpoint", switch(metadata.enabled))
        .text("httpProtocolIpv6", switch(metadata.ipv6))
        .text("instanceMetadataTags", switch(metadata.instance_tags))
}
