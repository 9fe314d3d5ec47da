//! DescribeInstances: the account's instances, with the members that kubelets, nodeadm, scripts and the AWS CLI read.

use nodejoin_core::plan::InstancePlan;

use super::inventory::Ec2Instance;
use super::page::{self, Described};
use super::security_groups::write_group;
use super::{filters, instance_ids, interfaces, types, volumes};
use crate::clock;
use crate::ec2_names;
use crate::http::QueryParameters;
use crate::wire::xml::Xml;

/// Writes the response.
///
/// # Errors
/// An id, a filter or a page is invalid.
pub(super) fn describe(body: Xml, instances: &[Ec2Instance<'_>], parameters: &QueryParameters) -> Described {
    let ids = parameters.list("InstanceId");
    instance_ids::check(&ids, instances)?;
    instance_ids::check_page(&ids, parameters)?;
    let filters = filters::read(parameters);
    let mut found = Vec::new();
    for instance in instances {
        let is_requested = ids.is_empty() || ids.contains(&instance.plan.id.as_str());
        if filters::pass(&filters, |name| values(instance, name))? && is_requested {
            found.push(instance);
        }
    }
    page::write(
        body,
        "reservationSet",
        found,
        parameters,
        5..=1_000,
        |item, instance| {
            item.text("reservationId", ec2_names::reservation_id(&instance.plan))
                .text("ownerId", &instance.world.account)
                .element("groupSet", |set| set)
                .items("instancesSet", [instance], write)
        },
    )
}

fn values(instance: &Ec2Instance<'_>, filter: &str) -> Option<Vec<String>> {
    let (world, plan) = (instance.world, instance.plan.as_ref());
    let (code, state) = instance.state.code_and_name();
    if let Some(key) = filter.strip_prefix("tag:") {
        return Some(plan.tags.get(key).into_iter().cloned().collect());
    }
    let value = match filter {
        "instance-id" => plan.id.to_string(),
        "private-dns-name" | "network-interface.private-dns-name" => instance.private_dns_name().to_owned(),
        "private-ip-address" | "network-interface.addresses.private-ip-address" => {
            plan.private_ip.to_string()
        }
        "instance-state-name" => state.to_owned(),
        "instance-state-code" => code.to_string(),
        "instance-type" => plan.instance_type.clone(),
        "image-id" => plan.ami.clone(),
        "availability-zone" => plan.availability_zone.clone(),
        "vpc-id" | "network-interface.vpc-id" => plan.vpc_id.clone(),
        "subnet-id" | "network-interface.subnet-id" => plan.subnet_id.clone(),
        "network-interface.network-interface-id" => plan.network_interface_id.clone(),
        "network-interface.mac-address" => plan.mac.clone(),
        "instance.group-id" | "group-id" => plan.security_group_id.clone(),
        "owner-id" => world.account.to_string(),
        "reservation-id" => ec2_names::reservation_id(plan),
        "ip-address" | "network-interface.association.public-ip" => {
            return Some(plan.network.public_ip.iter().map(ToString::to_string).collect());
        }
        "instance-lifecycle" => {
            return Some(
                (plan.life_cycle == nodejoin_core::plan::LifeCycle::Spot)
                    .then(|| "spot".to_owned())
                    .into_iter()
                    .collect(),
            );
        }
        "tag-key" => return Some(plan.tags.keys().cloned().collect()),
        _ => return None,
    };
    Some(vec![value])
}

fn write(item: Xml, instance: &Ec2Instance<'_>) -> Xml {
    let (world, plan) = (instance.world, instance.plan.as_ref());
    let (code, state) = instance.state.code_and_name();
    let item = item
        .text("instanceId", &plan.id)
        .text("imageId", &plan.ami)
        .element("instanceState", |element| {
            element.text("code", code).text("name", state)
        })
        .text("privateDnsName", instance.private_dns_name())
        .text("dnsName", public_dns_name(instance))
        .text("reason", "")
        .text("amiLaunchIndex", 0)
        .element("productCodes", |set| set)
        .text("instanceType", &plan.instance_type)
        .text("launchTime", clock::milliseconds(instance.launched))
        .element("placement", |placement| {
            placement
                .text("availabilityZone", &plan.availability_zone)
                .text("groupName", "")
                .text("tenancy", "default")
        })
        .element("monitoring", |monitoring| monitoring.text("state", "disabled"));
    let item = if instance.has_network() {
        write_network(item, instance)
    } else {
        item
    };
    let item = item
        .text("architecture", types::architecture(plan))
        .text("rootDeviceType", "ebs")
        .text("rootDeviceName", volumes::ROOT_DEVICE);
    let item = volumes::write_mapping(item, instance).text("virtualizationType", "hvm");
    let item = if plan.life_cycle == nodejoin_core::plan::LifeCycle::Spot {
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
            interfaces::of(instance),
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
        .element("metadataOptions", |options| metadata_options(options, plan))
        .element("privateDnsNameOptions", |options| {
            options
                .text("hostnameType", "ip-name")
                .text("enableResourceNameDnsARecord", false)
                .text("enableResourceNameDnsAAAARecord", false)
        })
}

/// The members that a terminated instance loses.
fn write_network(item: Xml, instance: &Ec2Instance<'_>) -> Xml {
    let plan = instance.plan.as_ref();
    let item = item
        .text("subnetId", &plan.subnet_id)
        .text("vpcId", &plan.vpc_id)
        .text("privateIpAddress", plan.private_ip);
    let item = match plan.network.public_ip {
        Some(address) => item.text("ipAddress", address),
        None => item,
    };
    let attributes = instance.store.attributes(&plan.network_interface_id);
    item.text("sourceDestCheck", attributes.source_dest_check).items(
        "groupSet",
        [&plan.security_group_id],
        write_group,
    )
}

fn public_dns_name(instance: &Ec2Instance<'_>) -> String {
    let address = instance.plan.network.public_ip.filter(|_| instance.is_named);
    address.map_or_else(String::new, |address| {
        ec2_names::public_dns_name(&instance.world.region, address)
    })
}

fn metadata_options(options: Xml, plan: &InstancePlan) -> Xml {
    let metadata = &plan.metadata;
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
