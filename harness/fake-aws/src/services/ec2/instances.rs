//! DescribeInstances: the account's one instance, with the members that kubelets, nodeadm, scripts and the AWS CLI read.

use time::OffsetDateTime;

use super::{filters, types, zones};
use crate::clock;
use crate::exchange::{Parameters, ServiceError};
use crate::router::Endpoint;
use crate::wire::xml::Xml;
use crate::world::{Instance, World};

/// Writes the answer.
///
/// # Errors
/// For ids that do not exist or are none, and filters that are not known.
pub fn describe(
    body: Xml,
    instance: &Instance,
    endpoint: &Endpoint,
    parameters: &Parameters,
) -> Result<Xml, ServiceError> {
    let world = &instance.world;
    let here = endpoint.region == world.region.as_str();
    let ids = parameters.list("InstanceId");
    check_ids(&ids, if here { world.instance.id.as_str() } else { "" })?;
    let found = filters::pass(&filters::read(parameters), |name| values(world, name))? && here;
    Ok(
        body.items("reservationSet", found.then_some(instance), |item, instance| {
            item.text("reservationId", zones::reservation_id(&world.instance))
                .text("ownerId", &world.account)
                .element("groupSet", |set| set)
                .items("instancesSet", [instance], write)
        }),
    )
}

/// One id that is wrong fails the whole call.
fn check_ids(ids: &[&str], own: &str) -> Result<(), ServiceError> {
    if let Some(malformed) = ids.iter().find(|id| !is_instance_id(id)) {
        return Err(ServiceError::new(
            400,
            "InvalidInstanceID.Malformed",
            format!("Invalid id: \"{malformed}\""),
        ));
    }
    let missing: Vec<&str> = ids.iter().copied().filter(|id| *id != own).collect();
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

fn values(world: &World, filter: &str) -> Option<Vec<String>> {
    let instance = &world.instance;
    if let Some(key) = filter.strip_prefix("tag:") {
        return Some(instance.tags.get(key).into_iter().cloned().collect());
    }
    let value = match filter {
        "instance-id" => instance.id.to_string(),
        "private-dns-name" | "network-interface.private-dns-name" => instance.private_dns_name.clone(),
        "private-ip-address" | "network-interface.addresses.private-ip-address" => {
            instance.private_ip.to_string()
        }
        "instance-state-name" => "running".to_owned(),
        "instance-state-code" => "16".to_owned(),
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

fn write(item: Xml, instance: &Instance) -> Xml {
    let (world, plan) = (&instance.world, &instance.world.instance);
    let launched = clock::milliseconds(OffsetDateTime::from(instance.launched));
    let item = item
        .text("instanceId", &plan.id)
        .text("imageId", &plan.ami)
        .element("instanceState", |state| {
            state.text("code", 16).text("name", "running")
        })
        .text("privateDnsName", &plan.private_dns_name)
        .text("dnsName", "")
        .text("reason", "")
        .text("amiLaunchIndex", 0)
        .element("productCodes", |set| set)
        .text("instanceType", &plan.instance_type)
        .text("launchTime", &launched)
        .element("placement", |placement| {
            placement
                .text("availabilityZone", &plan.availability_zone)
                .text("groupName", "")
                .text("tenancy", "default")
        })
        .element("monitoring", |monitoring| monitoring.text("state", "disabled"))
        .text("subnetId", &plan.subnet_id)
        .text("vpcId", &plan.vpc_id)
        .text("privateIpAddress", plan.private_ip)
        .text("sourceDestCheck", true)
        .items("groupSet", [&plan.security_group_id], group)
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
        .items("networkInterfaceSet", [instance], interface);
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

fn group(item: Xml, id: &String) -> Xml {
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
        .text("httpPutResponseHopLimit", 2)
        .text("httpEndpoint", switch(metadata.enabled))
        .text("httpProtocolIpv6", "disabled")
        .text("instanceMetadataTags", switch(metadata.instance_tags))
}

fn interface(item: Xml, instance: &Instance) -> Xml {
    let (world, plan) = (&instance.world, &instance.world.instance);
    let launched = clock::milliseconds(OffsetDateTime::from(instance.launched));
    item.text("networkInterfaceId", &plan.network_interface_id)
        .text("subnetId", &plan.subnet_id)
        .text("vpcId", &plan.vpc_id)
        .text("description", "")
        .text("ownerId", &world.account)
        .text("status", "in-use")
        .text("macAddress", &plan.mac)
        .text("privateIpAddress", plan.private_ip)
        .text("privateDnsName", &plan.private_dns_name)
        .text("sourceDestCheck", true)
        .items("groupSet", [&plan.security_group_id], group)
        .element("attachment", |attachment| {
            attachment
                .text(
                    "attachmentId",
                    plan.network_interface_id.replacen("eni-", "eni-attach-", 1),
                )
                .text("deviceIndex", 0)
                .text("status", "attached")
                .text("attachTime", &launched)
                .text("deleteOnTermination", true)
                .text("networkCardIndex", 0)
        })
        .items("privateIpAddressesSet", [plan], |address, plan| {
            address
                .text("privateIpAddress", plan.private_ip)
                .text("privateDnsName", &plan.private_dns_name)
                .text("primary", true)
        })
        .element("ipv6AddressesSet", |set| set)
        .text("interfaceType", "interface")
}
