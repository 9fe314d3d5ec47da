//! DescribeAddresses and AssociateAddress: the Elastic IP addresses of the account.

use std::net::Ipv4Addr;

use nodejoin_core::plan::InstancePlan;
use nodejoin_core::plan::ec2::AddressPlan;

use super::page::Described;
use super::resource::{self, Ec2Resource, Ec2View, ResourceType};
use super::{instance_ids, interfaces};
use crate::ec2_names;
use crate::http::{QueryParameters, ServiceError};
use crate::instance::Instance;
use crate::services::ServiceRequest;
use crate::wire::xml::Xml;
use crate::world::World;

/// An Elastic IP address.
#[derive(Debug)]
pub(super) struct Address<'a> {
    world: &'a World,
    /// The instance that has the address.
    instance: Option<&'a InstancePlan>,
    id: String,
    ip: Ipv4Addr,
}

#[must_use]
pub(super) fn of<'a>(view: &'a Ec2View<'a>) -> Vec<Address<'a>> {
    let plans = view.world.aws.addresses.iter().filter(|_| view.is_home());
    let address = |plan: &AddressPlan| Address {
        world: view.world,
        instance: view
            .instances
            .iter()
            .map(|instance| instance.plan.as_ref())
            .find(|instance| instance.network.public_ip == Some(plan.public_ip)),
        id: allocation_id(plan),
        ip: plan.public_ip,
    };
    plans.map(address).collect()
}

fn allocation_id(plan: &AddressPlan) -> String {
    let derived = || ec2_names::derived_id("eipalloc", &plan.public_ip.to_string());
    plan.allocation_id.clone().unwrap_or_else(derived)
}

/// Writes the response.
///
/// # Errors
/// An address or a filter is invalid.
pub(super) fn describe(body: Xml, view: &Ec2View<'_>, parameters: &QueryParameters) -> Described {
    let all = of(view);
    let ips = parameters.list("PublicIp");
    if let Some(missing) = ips
        .iter()
        .find(|ip| all.iter().all(|found| found.ip.to_string() != **ip))
    {
        return Err(not_found(missing));
    }
    let found = resource::select(view.world, all, parameters)?.into_iter();
    let found = found.filter(|address| ips.is_empty() || ips.contains(&address.ip.to_string().as_str()));
    Ok(body.items(Address::TYPE.set, found, |item, address| {
        resource::write_tags(
            address.write(item),
            resource::tags_of(view.world, Address::TYPE.name, &address.id),
        )
    }))
}

fn not_found(ip: &str) -> ServiceError {
    let message = format!("Address '{ip}' not found.");
    ServiceError::new(400, "InvalidAddress.NotFound", message)
}

/// Associates an address with the instance. Metadata and EC2 return it at once. Returns the id of the association.
///
/// # Errors
/// The address or the instance does not exist, or another address would be replaced.
pub(super) fn associate(
    instance: &mut Instance,
    call: ServiceRequest<'_>,
    parameters: &QueryParameters,
) -> Result<String, ServiceError> {
    let view = Ec2View::of(instance, call);
    let all = of(&view);
    let address = match (parameters.get("AllocationId"), parameters.get("PublicIp")) {
        (Some(id), _) => {
            resource::check_ids(&[id], &all)?;
            all.iter().find(|address| address.id == id)
        }
        (None, Some(ip)) => {
            let found = all.iter().find(|address| address.ip.to_string() == ip);
            Some(found.ok_or_else(|| not_found(ip))?)
        }
        (None, None) => None,
    };
    let other = address.filter(|address| {
        let id = address.instance.map(|instance| &instance.id);
        id.is_some_and(|id| *id != view.world.instance.id)
    });
    let is_moved = parameters.get("AllowReassociation") == Some("true");
    if let Some(other) = other.filter(|_| !is_moved) {
        let (id, association) = (&other.id, other.association_id());
        let message = format!("resource {id} is already associated with associate-id {association}");
        return Err(ServiceError::new(400, "Resource.AlreadyAssociated", message));
    }
    let Some((ip, id)) = address.map(|address| (address.ip, address.association_id())) else {
        let message = "Either public IP or allocation id must be specified";
        return Err(ServiceError::new(400, "MissingParameter", message));
    };
    let own = view.world.instance.network_interface_id.as_str();
    match (parameters.get("InstanceId"), parameters.get("NetworkInterfaceId")) {
        (Some(id), _) => instance_ids::check_own(&view, id)?,
        (None, Some(id)) if id == own => {}
        (None, Some(id)) => return Err(interfaces::not_found(id)),
        (None, None) => {
            let message = "Either instance ID or network interface id must be specified";
            return Err(ServiceError::new(400, "MissingParameter", message));
        }
    }
    for peer in &mut instance.peers {
        let address = &mut peer.plan.network.public_ip;
        *address = address.filter(|address| *address != ip);
    }
    instance.world.instance.network.public_ip = Some(ip);
    instance.reload_world();
    Ok(id)
}

impl Address<'_> {
    fn association_id(&self) -> String {
        ec2_names::derived_id("eipassoc", &self.ip.to_string())
    }

    /// A value that only an associated address has.
    fn associated<T: ToString>(&self, value: impl FnOnce(&InstancePlan) -> T) -> Vec<String> {
        let value = self.instance.map(|instance| value(instance).to_string());
        value.into_iter().collect()
    }
}

impl Ec2Resource for Address<'_> {
    const TYPE: ResourceType = ResourceType {
        name: "elastic-ip",
        ids: "AllocationId",
        set: "addressesSet",
        missing: "InvalidAllocationID.NotFound",
        missing_message: "The allocation ID '{}' does not exist",
    };

    fn id(&self) -> &str {
        &self.id
    }

    fn values(&self, filter: &str) -> Option<Vec<String>> {
        Some(match filter {
            "allocation-id" => vec![self.id.clone()],
            "public-ip" => vec![self.ip.to_string()],
            "domain" => vec!["vpc".to_owned()],
            "network-border-group" => vec![self.world.region.to_string()],
            "association-id" => self.associated(|_| self.association_id()),
            "instance-id" => self.associated(|instance| instance.id.clone()),
            "network-interface-id" => self.associated(|instance| instance.network_interface_id.clone()),
            "network-interface-owner-id" => self.associated(|_| self.world.account.clone()),
            "private-ip-address" => self.associated(|instance| instance.private_ip),
            _ => return None,
        })
    }

    fn write(&self, item: Xml) -> Xml {
        let world = self.world;
        let item = item
            .text("publicIp", self.ip)
            .text("allocationId", &self.id)
            .text("domain", "vpc")
            .text("publicIpv4Pool", "amazon")
            .text("networkBorderGroup", &world.region);
        let Some(instance) = self.instance else {
            return item;
        };
        item.text("instanceId", &instance.id)
            .text("associationId", self.association_id())
            .text("networkInterfaceId", &instance.network_interface_id)
            .text("networkInterfaceOwnerId", &world.account)
            .text("privateIpAddress", instance.private_ip)
    }
}
