//! EC2, as `https://ec2.REGION.amazonaws.com`: EC2's own query protocol, version 2016-11-15.
//!
//! | action | auth | response |
//! | --- | --- | --- |
//! | `DescribeInstances` | SigV4, `ec2:DescribeInstances` | instances, by ids and [filters](filters), in pages |
//! | `DescribeNetworkInterfaces` | SigV4, `ec2:DescribeNetworkInterfaces` | interfaces, by ids and filters |
//! | `DescribeInstanceStatus` | SigV4, `ec2:DescribeInstanceStatus` | states; [checks](status) have passed |
//! | `DescribeInstanceTopology` | SigV4, `ec2:DescribeInstanceTopology` | instances with network nodes |
//! | `DescribeTags` | SigV4, `ec2:DescribeTags` | the tags of all resources |
//! | `CreateTags`, `DeleteTags` | SigV4, the action | changes the tags of a resource |
//! | `ModifyInstanceAttribute` | SigV4, `ec2:ModifyInstanceAttribute` | success; `SourceDestCheck` shows |
//! | `CreateNetworkInterface`, `DeleteNetworkInterface` | SigV4, the action | an interface in the instance's subnet |
//! | `AttachNetworkInterface`, `DetachNetworkInterface` | SigV4, the action | the instance gets or loses it |
//! | `AssignPrivateIpAddresses` | SigV4, the action | more addresses of an interface |
//! | `ModifyNetworkInterfaceAttribute` | SigV4, the action | description, check and deletion |
//! | `DescribeVolumes` | SigV4, the action | the volumes of each instance |
//! | `DescribeVpcs`, `DescribeSubnets`, `DescribeSecurityGroups` | SigV4, the action | the instance's own |
//! | `DescribeAvailabilityZones` | SigV4, the action | three zones of the region |
//! | `DescribeAddresses`, `AssociateAddress` | SigV4, the action | the scenario's Elastic IP addresses |
//! | `DescribeInstanceTypes` | SigV4, `ec2:DescribeInstanceTypes` | [real figures](types) of the requested types |
//! | any other | - | 501 `NotEmulated` |
//!
//! A [parameter](parameters) that an action does not read is refused with 501 `NotEmulated`.
//!
//! Real: members and their wire names, dry runs, ids that do not exist, filters, wildcards, pages, and names that
//! appear late.
//! Faked: the plan is the only source of the instances.

mod addresses;
mod attributes;
mod changes;
mod filters;
mod instance_ids;
mod instances;
mod interface_changes;
mod interfaces;
pub(crate) mod inventory;
mod page;
mod parameters;
mod resource;
mod security_groups;
mod status;
mod tags;
mod topology;
pub(crate) mod types;
mod volumes;
mod vpc;
mod zones;

use nodejoin_core::plan::fault::Service;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, Ec2Operation as Operation};

use self::page::Described;
use self::resource::Ec2View;
use super::{ServiceRequest, authorize};
use crate::credentials::request_id;
use crate::http::{QueryParameters, Request, Response, ServiceError};
use crate::instance::Instance;
use crate::not_emulated;
use crate::operation::RequestTarget;
use crate::wire::WireFormat;
use crate::wire::xml::Xml;

const NAMESPACE: &str = "http://ec2.amazonaws.com/doc/2016-11-15/";

/// The parameter whose values are the subject.
const fn subject_parameter(operation: Operation) -> Option<&'static str> {
    match operation {
        Operation::DescribeInstances
        | Operation::DescribeInstanceStatus
        | Operation::DescribeInstanceTopology
        | Operation::ModifyInstanceAttribute => Some("InstanceId"),
        Operation::DescribeInstanceTypes => Some("InstanceType"),
        Operation::DescribeNetworkInterfaces
        | Operation::AssignPrivateIpAddresses
        | Operation::AttachNetworkInterface
        | Operation::DeleteNetworkInterface
        | Operation::ModifyNetworkInterfaceAttribute => Some("NetworkInterfaceId"),
        Operation::DetachNetworkInterface => Some("AttachmentId"),
        Operation::DescribeVolumes => Some("VolumeId"),
        Operation::DescribeVpcs => Some("VpcId"),
        Operation::CreateNetworkInterface | Operation::DescribeSubnets => Some("SubnetId"),
        Operation::DescribeSecurityGroups => Some("GroupId"),
        Operation::DescribeAvailabilityZones => Some("ZoneName"),
        Operation::AssociateAddress | Operation::DescribeAddresses => Some("AllocationId"),
        Operation::CreateTags | Operation::DeleteTags => Some("ResourceId"),
        Operation::DescribeTags => None,
    }
}

/// The requested ids or types, in a list or one alone.
fn subject(operation: Operation, parameters: &QueryParameters) -> Option<String> {
    let name = subject_parameter(operation)?;
    let values = parameters.list(name).join(",");
    let one = || parameters.get(name).map(str::to_owned);
    Some(values).filter(|subject| !subject.is_empty()).or_else(one)
}

pub(crate) fn identify(request: &Request) -> RequestTarget {
    RequestTarget::of_action(Service::Ec2, request, |operation: Operation| {
        subject(operation, &request.parameters())
    })
}

/// Responds to a request.
///
/// # Errors
/// The error that EC2 returns.
pub(crate) fn respond(instance: &mut Instance, call: ServiceRequest<'_>) -> Result<Response, ServiceError> {
    let (action, parameters) = (call.request.action(), call.request.parameters());
    let operation = Operation::named(&action).ok_or_else(|| unknown(&action))?;
    let signer = authorize::signature(instance, call, WireFormat::Ec2)?;
    if let Some(action) = operation.action() {
        signer.permit(Service::Ec2, action, "*")?;
    }
    parameters::check(operation, &parameters)?;
    parameters::check_dry_run(&parameters)?;
    if operation == Operation::DescribeInstances {
        instance.described += 1;
    }
    let body = Xml::new().text("requestId", request_id());
    let body = match operation {
        Operation::CreateTags | Operation::DeleteTags => {
            changes::tags(instance, call, operation, &parameters)?;
            body.text("return", true)
        }
        Operation::ModifyInstanceAttribute => {
            attributes::modify(instance, call, &parameters)?;
            body.text("return", true)
        }
        Operation::CreateNetworkInterface => {
            body.with(interface_changes::create(instance, call, &parameters)?)
        }
        Operation::AttachNetworkInterface => {
            body.with(interface_changes::attach(instance, call, &parameters)?)
        }
        Operation::AssignPrivateIpAddresses => {
            body.with(interface_changes::assign(instance, call, &parameters)?)
        }
        Operation::DetachNetworkInterface => {
            interface_changes::detach(instance, call, &parameters)?;
            body.text("return", true)
        }
        Operation::DeleteNetworkInterface => {
            interface_changes::delete(instance, call, &parameters)?;
            body.text("return", true)
        }
        Operation::ModifyNetworkInterfaceAttribute => {
            interface_changes::modify(instance, call, &parameters)?;
            body.text("return", true)
        }
        Operation::AssociateAddress => {
            let id = addresses::associate(instance, call, &parameters)?;
            body.text("return", true).text("associationId", id)
        }
        Operation::DescribeAddresses
        | Operation::DescribeAvailabilityZones
        | Operation::DescribeInstanceStatus
        | Operation::DescribeInstanceTopology
        | Operation::DescribeInstanceTypes
        | Operation::DescribeInstances
        | Operation::DescribeNetworkInterfaces
        | Operation::DescribeSecurityGroups
        | Operation::DescribeSubnets
        | Operation::DescribeTags
        | Operation::DescribeVolumes
        | Operation::DescribeVpcs => describe(operation, body, &Ec2View::of(instance, call), &parameters)?,
    };
    Ok(document(operation, body))
}

/// Writes the response of an action that changes nothing.
fn describe(operation: Operation, body: Xml, view: &Ec2View<'_>, parameters: &QueryParameters) -> Described {
    let (world, instances) = (view.world, &view.instances);
    match operation {
        Operation::DescribeInstances => instances::describe(body, instances, parameters),
        Operation::DescribeNetworkInterfaces => interfaces::describe(body, instances, parameters),
        Operation::DescribeInstanceStatus => status::describe(body, instances, parameters),
        Operation::DescribeInstanceTopology => topology::describe(body, instances, parameters),
        Operation::DescribeTags => tags::describe(body, view, parameters),
        Operation::DescribeInstanceTypes => types::describe(body, &world.instance, parameters),
        Operation::DescribeVolumes => resource::describe(body, world, volumes::of(view), parameters),
        Operation::DescribeVpcs => resource::describe(body, world, vpc::vpcs(view), parameters),
        Operation::DescribeSubnets => resource::describe(body, world, vpc::subnets(view), parameters),
        Operation::DescribeSecurityGroups => security_groups::describe(body, view, parameters),
        Operation::DescribeAvailabilityZones => zones::describe(body, view, parameters),
        Operation::DescribeAddresses => addresses::describe(body, view, parameters),
        Operation::AssignPrivateIpAddresses
        | Operation::AssociateAddress
        | Operation::AttachNetworkInterface
        | Operation::CreateNetworkInterface
        | Operation::CreateTags
        | Operation::DeleteNetworkInterface
        | Operation::DeleteTags
        | Operation::DetachNetworkInterface
        | Operation::ModifyInstanceAttribute
        | Operation::ModifyNetworkInterfaceAttribute => Ok(body),
    }
}

fn document(operation: Operation, body: Xml) -> Response {
    let document = body.document(&format!("{}Response", operation.name()), Some(NAMESPACE));
    Response::new(200, "text/xml;charset=UTF-8", document)
}

fn unknown(action: &str) -> ServiceError {
    if action.is_empty() {
        return ServiceError::missing_action();
    }
    not_emulated::error(Service::Ec2.word(), action)
}
