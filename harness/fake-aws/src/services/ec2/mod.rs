//! EC2, as `https://ec2.REGION.amazonaws.com`: EC2's own query protocol, version 2016-11-15.
//!
//! | action | auth | response |
//! | --- | --- | --- |
//! | `DescribeInstances` | SigV4, `ec2:DescribeInstances` | instances, by ids and [filters](filters), in pages |
//! | `DescribeNetworkInterfaces` | SigV4, `ec2:DescribeNetworkInterfaces` | interfaces, by ids and filters |
//! | `DescribeInstanceTopology` | SigV4, `ec2:DescribeInstanceTopology` | instances with network nodes |
//! | `DescribeTags` | SigV4, `ec2:DescribeTags` | the tags of the instances |
//! | `CreateTags`, `DeleteTags` | SigV4, the action | changes the tags of the instances |
//! | `ModifyInstanceAttribute` | SigV4, `ec2:ModifyInstanceAttribute` | success, without an effect on responses |
//! | `DescribeInstanceTypes` | SigV4, `ec2:DescribeInstanceTypes` | [real figures](types) of the requested types |
//! | any other | - | 501 `NotEmulated` |
//!
//! Real: members and their wire names, unknown and malformed ids, filters, wildcards, pages, names that appear late.
//! Faked: the plan is the only source of the instances.

mod changes;
mod filters;
mod instances;
mod interfaces;
pub(crate) mod inventory;
mod page;
mod tags;
mod topology;
pub(crate) mod types;

use nodejoin_core::plan::fault::Service;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, Ec2Operation as Operation};

use super::{ServiceRequest, authorize};
use crate::credentials::request_id;
use crate::http::{QueryParameters, Request, Response, ServiceError};
use crate::instance::Instance;
use crate::not_emulated;
use crate::operation::RequestTarget;
use crate::wire::WireFormat;
use crate::wire::xml::Xml;

/// A page of described resources.
type Described = Result<Xml, ServiceError>;

const NAMESPACE: &str = "http://ec2.amazonaws.com/doc/2016-11-15/";

/// The parameter whose values are the subject.
const fn subject_list(operation: Operation) -> Option<&'static str> {
    match operation {
        Operation::DescribeInstances | Operation::DescribeInstanceTopology => Some("InstanceId"),
        Operation::DescribeInstanceTypes => Some("InstanceType"),
        Operation::DescribeNetworkInterfaces => Some("NetworkInterfaceId"),
        Operation::CreateTags | Operation::DeleteTags => Some("ResourceId"),
        Operation::DescribeTags | Operation::ModifyInstanceAttribute => None,
    }
}

/// The requested ids or types.
fn subject(operation: Operation, parameters: &QueryParameters) -> Option<String> {
    if operation == Operation::ModifyInstanceAttribute {
        return parameters.get("InstanceId").map(str::to_owned);
    }
    let values = parameters.list(subject_list(operation)?).join(",");
    Some(values).filter(|subject| !subject.is_empty())
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
    let body = Xml::new().text("requestId", request_id());
    match operation {
        Operation::CreateTags | Operation::DeleteTags => {
            changes::tags(instance, call, operation, &parameters)?;
            return Ok(document(operation, body.text("return", true)));
        }
        Operation::ModifyInstanceAttribute => {
            let ids = parameters.get("InstanceId").into_iter().collect::<Vec<_>>();
            changes::check_instances(instance, call, &ids)?;
            return Ok(document(operation, body.text("return", true)));
        }
        Operation::DescribeInstanceTopology
        | Operation::DescribeInstanceTypes
        | Operation::DescribeInstances
        | Operation::DescribeNetworkInterfaces
        | Operation::DescribeTags => {}
    }
    let all = inventory::of_region(instance, &call.endpoint.region, call.time);
    let body = match operation {
        Operation::DescribeInstances => instances::describe(body, &all, &parameters)?,
        Operation::DescribeNetworkInterfaces => interfaces::describe(body, &all, &parameters)?,
        Operation::DescribeInstanceTopology => topology::describe(body, &all, &parameters)?,
        Operation::DescribeTags => tags::describe(body, &all, &parameters)?,
        Operation::DescribeInstanceTypes => types::describe(body, &instance.world.instance, &parameters)?,
        Operation::CreateTags | Operation::DeleteTags | Operation::ModifyInstanceAttribute => body,
    };
    Ok(document(operation, body))
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
