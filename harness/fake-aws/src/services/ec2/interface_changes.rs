//! Actions that create, attach and change network interfaces. Metadata and EC2 return them at once.
//!
//! The node itself does not get the interface: only AWS' responses change.

use std::net::Ipv4Addr;

use nodejoin_core::plan::ec2::InterfacePlan;
use nodejoin_core::vocabulary::cidr::Cidr;

use super::attributes::boolean;
use super::interfaces::{self, attachment_id, not_found};
use super::resource::Ec2View;
use super::{instance_ids, security_groups};
use crate::ec2_names;
use crate::http::{QueryParameters, ServiceError};
use crate::instance::Instance;
use crate::services::ServiceRequest;
use crate::wire::xml::Xml;

/// CreateNetworkInterface. Returns the interface as a member of the response.
///
/// # Errors
/// The subnet, a group or an address is invalid.
pub(super) fn create(
    instance: &mut Instance,
    call: ServiceRequest<'_>,
    parameters: &QueryParameters,
) -> Result<Xml, ServiceError> {
    let view = Ec2View::of(instance, call);
    let subnet = required(parameters, "SubnetId")?;
    if !view.is_home() || view.world.instance.subnet_id != subnet {
        let message = format!("The subnet ID '{subnet}' does not exist");
        return Err(ServiceError::new(400, "InvalidSubnetID.NotFound", message));
    }
    security_groups::check(&view, &parameters.list("SecurityGroupId"))?;
    let requested = addresses_of_interface(parameters)?;
    let more = number(parameters, "SecondaryPrivateIpAddressCount")?;
    let one = u32::from(requested.is_empty());
    let private_ips = addresses(&view, requested, one + more)?;
    let tags = tags(parameters);
    let mac = instance.interfaces.next_mac();
    let plan = InterfacePlan {
        mac,
        private_ips,
        network_card: 0,
        device_index: None,
    };
    let id = ec2_names::interface_id(&plan);
    let attributes = instance.interfaces.attributes_mut(&id);
    attributes.delete_on_termination = false;
    attributes.description = parameters.get("Description").unwrap_or_default().to_owned();
    instance.interfaces.available.push(plan);
    if !tags.is_empty() {
        instance
            .world
            .aws
            .tags
            .insert(id.clone(), tags.into_iter().collect());
    }
    let view = Ec2View::of(instance, call);
    let created = interfaces::all(&view.instances).find(|interface| interface.id == id);
    Ok(Xml::new().element("networkInterface", |item| match created {
        Some(created) => created.write_alone(item),
        None => item,
    }))
}

/// AttachNetworkInterface. Returns the members of the response.
///
/// # Errors
/// The interface is in use, or the instance has no room for it.
pub(super) fn attach(
    instance: &mut Instance,
    call: ServiceRequest<'_>,
    parameters: &QueryParameters,
) -> Result<Xml, ServiceError> {
    let view = Ec2View::of(instance, call);
    let id = required(parameters, "NetworkInterfaceId")?;
    let own = required(parameters, "InstanceId")?;
    instance_ids::check_own(&view, own)?;
    let device = number(parameters, "DeviceIndex")?;
    let card = number(parameters, "NetworkCardIndex")?;
    let plan = &view.world.instance;
    let position = available(instance, &view, id)?;
    let mut used = plan.network.interfaces.iter().enumerate();
    let device_index = u8::try_from(device).ok();
    if device == 0 || used.any(|(index, other)| u32::try_from(other.device(index)) == Ok(device)) {
        let message =
            format!("Instance '{own}' already has an interface attached at device index '{device}'.");
        return Err(ServiceError::new(400, "InvalidParameterValue", message));
    }
    let count = plan.network.interfaces.len() + 2;
    let limit = plan.type_figures().map(|figures| figures.interfaces());
    if limit.is_some_and(|limit| u32::try_from(count).is_ok_and(|count| count > limit))
        || device_index.is_none()
    {
        let message = format!(
            "Interface count {count} exceeds the limit for {}",
            plan.instance_type
        );
        return Err(ServiceError::new(400, "AttachmentLimitExceeded", message));
    }
    let mut attached = instance.interfaces.available.remove(position);
    attached.device_index = device_index;
    attached.network_card = u8::try_from(card).unwrap_or_default();
    instance.world.instance.network.interfaces.push(attached);
    instance.reload_world();
    Ok(Xml::new()
        .text("attachmentId", attachment_id(id))
        .text("networkCardIndex", card))
}

/// DetachNetworkInterface.
///
/// # Errors
/// The attachment does not exist, or is the one of the primary interface.
pub(super) fn detach(
    instance: &mut Instance,
    call: ServiceRequest<'_>,
    parameters: &QueryParameters,
) -> Result<(), ServiceError> {
    let requested = required(parameters, "AttachmentId")?;
    let view = Ec2View::of(instance, call);
    let own = &view.world.instance;
    if view.is_home() && attachment_id(&own.network_interface_id) == requested {
        let message = "The network interface at device index 0 cannot be detached.";
        return Err(ServiceError::new(400, "OperationNotPermitted", message));
    }
    let mut attached = own.network.interfaces.iter();
    let position = attached
        .position(|plan| view.is_home() && attachment_id(&ec2_names::interface_id(plan)) == requested)
        .ok_or_else(|| {
            let message = format!("The attachment ID '{requested}' does not exist");
            ServiceError::new(400, "InvalidAttachmentID.NotFound", message)
        })?;
    let interfaces = &mut instance.world.instance.network.interfaces;
    // The others keep their device index.
    for (index, plan) in interfaces.iter_mut().enumerate() {
        plan.device_index = u8::try_from(plan.device(index)).ok();
    }
    let detached = interfaces.remove(position);
    instance.interfaces.available.push(InterfacePlan {
        device_index: None,
        ..detached
    });
    instance.reload_world();
    Ok(())
}

/// DeleteNetworkInterface.
///
/// # Errors
/// The interface does not exist, or is attached.
pub(super) fn delete(
    instance: &mut Instance,
    call: ServiceRequest<'_>,
    parameters: &QueryParameters,
) -> Result<(), ServiceError> {
    let id = required(parameters, "NetworkInterfaceId")?;
    let view = Ec2View::of(instance, call);
    let position = available(instance, &view, id).map_err(|error| match error.code.as_str() {
        IN_USE => {
            let message = format!("Network interface '{id}' is currently in use.");
            ServiceError::new(400, "InvalidParameterValue", message)
        }
        _ => error,
    })?;
    instance.interfaces.available.remove(position);
    instance.interfaces.forget(id);
    instance.world.aws.tags.remove(id);
    Ok(())
}

/// AssignPrivateIpAddresses. Returns the members of the response.
///
/// # Errors
/// The interface does not exist, or an address is not available.
pub(super) fn assign(
    instance: &mut Instance,
    call: ServiceRequest<'_>,
    parameters: &QueryParameters,
) -> Result<Xml, ServiceError> {
    let id = required(parameters, "NetworkInterfaceId")?;
    let view = Ec2View::of(instance, call);
    let interface = interfaces::all(&view.instances).find(|interface| interface.id == id);
    let current = interface.ok_or_else(|| not_found(id))?.addresses.len();
    let requested = parse_addresses(&parameters.list("PrivateIpAddress"))?;
    let more = number(parameters, "SecondaryPrivateIpAddressCount")?;
    let new = addresses(&view, requested, more)?;
    let figures = view.world.instance.type_figures();
    let limit = figures.and_then(|figures| usize::try_from(figures.ipv4_addresses).ok());
    if limit.is_some_and(|limit| current + new.len() > limit) {
        let message = "Number of private addresses will exceed limit.";
        return Err(ServiceError::new(400, "PrivateIpAddressLimitExceeded", message));
    }
    let own = &mut instance.world.instance;
    let of_id = |plan: &&mut InterfacePlan| ec2_names::interface_id(plan) == id;
    let further = own
        .network
        .interfaces
        .iter_mut()
        .chain(&mut instance.interfaces.available)
        .find(of_id);
    match further {
        Some(plan) => plan.private_ips.extend(&new),
        None if own.network_interface_id == id => own.network.secondary_ips.extend(&new),
        None => {
            let message =
                format!("The interface '{id}' exists in the EC2 API only: nodejoin cannot change it");
            return Err(ServiceError::new(501, crate::not_emulated::CODE, message));
        }
    }
    instance.reload_world();
    let written = |item: Xml, address: &Ipv4Addr| item.text("privateIpAddress", address);
    Ok(Xml::new()
        .text("networkInterfaceId", id)
        .items("assignedPrivateIpAddressesSet", &new, written)
        .text("return", true))
}

/// ModifyNetworkInterfaceAttribute.
///
/// # Errors
/// The interface, the attachment or a group does not exist.
pub(super) fn modify(
    instance: &mut Instance,
    call: ServiceRequest<'_>,
    parameters: &QueryParameters,
) -> Result<(), ServiceError> {
    let view = Ec2View::of(instance, call);
    let id = required(parameters, "NetworkInterfaceId")?;
    if interfaces::all(&view.instances).all(|interface| interface.id != id) {
        return Err(not_found(id));
    }
    security_groups::check(&view, &parameters.list("SecurityGroupId"))?;
    let is_checked = parameters.get("SourceDestCheck.Value");
    let is_checked = is_checked
        .map(|value| boolean("SourceDestCheck", value))
        .transpose()?;
    let is_deleted = parameters.get("Attachment.DeleteOnTermination");
    let is_deleted = is_deleted
        .map(|value| boolean("DeleteOnTermination", value))
        .transpose()?;
    if is_deleted.is_some() && parameters.get("Attachment.AttachmentId") != Some(attachment_id(id).as_str()) {
        let requested = parameters.get("Attachment.AttachmentId").unwrap_or_default();
        let message = format!("The attachment ID '{requested}' does not exist");
        return Err(ServiceError::new(400, "InvalidAttachmentID.NotFound", message));
    }
    let description = parameters.get("Description.Value").map(str::to_owned);
    let attributes = instance.interfaces.attributes_mut(id);
    attributes.source_dest_check = is_checked.unwrap_or(attributes.source_dest_check);
    attributes.delete_on_termination = is_deleted.unwrap_or(attributes.delete_on_termination);
    attributes.description = description.unwrap_or_else(|| attributes.description.clone());
    Ok(())
}

const IN_USE: &str = "InvalidNetworkInterface.InUse";

/// The position of an interface that is not attached.
fn available(instance: &Instance, view: &Ec2View<'_>, id: &str) -> Result<usize, ServiceError> {
    let mut plans = instance.interfaces.available.iter();
    let position = plans.position(|plan| view.is_home() && ec2_names::interface_id(plan) == id);
    position.ok_or_else(
        || match interfaces::all(&view.instances).any(|interface| interface.id == id) {
            true => ServiceError::new(400, IN_USE, format!("Interface: [{id}] in use.")),
            false => not_found(id),
        },
    )
}

fn required<'a>(parameters: &'a QueryParameters, name: &str) -> Result<&'a str, ServiceError> {
    let value = parameters.get(name).filter(|value| !value.is_empty());
    value.ok_or_else(|| {
        let message = format!("The request must contain the parameter {name}");
        ServiceError::new(400, "MissingParameter", message)
    })
}

/// A number; 0 if it is missing.
fn number(parameters: &QueryParameters, name: &str) -> Result<u32, ServiceError> {
    let text = parameters.get(name).unwrap_or("0");
    text.parse().map_err(|_| {
        let message = format!("Value ({text}) for parameter {name} is invalid. Expected an integer.");
        ServiceError::new(400, "InvalidParameterValue", message)
    })
}

/// The addresses in `PrivateIpAddress` and `PrivateIpAddresses.N.PrivateIpAddress`, the primary one first.
fn addresses_of_interface(parameters: &QueryParameters) -> Result<Vec<Ipv4Addr>, ServiceError> {
    let mut listed: Vec<(&str, bool)> = Vec::new();
    for (key, value) in &parameters.0 {
        let number = key.strip_prefix("PrivateIpAddresses.");
        if let Some(number) = number.and_then(|rest| rest.strip_suffix(".PrivateIpAddress")) {
            let is_primary = parameters.get(&format!("PrivateIpAddresses.{number}.Primary")) == Some("true");
            listed.push((value, is_primary));
        }
    }
    listed.sort_by_key(|(_, is_primary)| !is_primary);
    let first = parameters.get("PrivateIpAddress").into_iter();
    let all: Vec<&str> = first
        .chain(listed.into_iter().map(|(address, _)| address))
        .collect();
    parse_addresses(&all)
}

fn parse_addresses(texts: &[&str]) -> Result<Vec<Ipv4Addr>, ServiceError> {
    let parse = |text: &&str| {
        text.parse().map_err(|_| {
            let message =
                format!("Value ({text}) for parameter privateIpAddress is invalid. Invalid IPv4 address.");
            ServiceError::new(400, "InvalidParameterValue", message)
        })
    };
    texts.iter().map(parse).collect()
}

/// The requested addresses, and as many free ones of the subnet.
fn addresses(view: &Ec2View<'_>, requested: Vec<Ipv4Addr>, more: u32) -> Result<Vec<Ipv4Addr>, ServiceError> {
    let own = &view.world.instance;
    let invalid = |message: &str| ServiceError::new(400, "InvalidParameterValue", message);
    let subnet: Cidr = own
        .subnet_cidr
        .parse()
        .map_err(|_| invalid("The subnet has no IPv4 network"))?;
    let used: Vec<Ipv4Addr> = interfaces::all(&view.instances)
        .flat_map(|interface| interface.addresses)
        .collect();
    for address in &requested {
        if !subnet.contains(*address) || subnet.is_reserved(*address) {
            return Err(invalid("Address does not fall within the subnet's address range"));
        }
        if used.contains(address) {
            let message = format!("Address {address} is in use.");
            return Err(ServiceError::new(400, "InvalidIPAddress.InUse", message));
        }
    }
    let free = (0..subnet.size()).map(|offset| subnet.address(offset));
    let free = free.filter(|address| {
        !subnet.is_reserved(*address) && !used.contains(address) && !requested.contains(address)
    });
    let count = usize::try_from(more).unwrap_or(usize::MAX);
    let free: Vec<Ipv4Addr> = free.take(count).collect();
    if free.len() < count {
        let message = format!("Not enough free addresses in subnet {}.", own.subnet_id);
        return Err(ServiceError::new(
            400,
            "InsufficientFreeAddressesInSubnet",
            message,
        ));
    }
    let found = [requested, free].concat();
    Ok(found)
}

/// The tags in `TagSpecification.1.Tag.1.Key` and `.Value`.
fn tags(parameters: &QueryParameters) -> Vec<(String, String)> {
    let of_key = |(name, key): &(String, String)| {
        let start = name.strip_prefix("TagSpecification.")?.strip_suffix(".Key")?;
        let value = parameters.get(&format!("TagSpecification.{start}.Value"));
        Some((key.clone(), value.unwrap_or_default().to_owned()))
    };
    parameters.0.iter().filter_map(of_key).collect()
}
