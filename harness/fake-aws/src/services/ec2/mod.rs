//! EC2, as `https://ec2.REGION.amazonaws.com` answers: EC2's own query protocol, version 2016-11-15.
//!
//! | action | auth | answer |
//! | --- | --- | --- |
//! | `DescribeInstances` | SigV4, `ec2:DescribeInstances` | the account's instances, by ids and [filters](filters), in pages |
//! | `DescribeNetworkInterfaces` | SigV4, `ec2:DescribeNetworkInterfaces` | their interfaces, in the same way |
//! | `DescribeInstanceTopology` | SigV4, `ec2:DescribeInstanceTopology` | instances that have network nodes, with these |
//! | `DescribeTags` | SigV4, `ec2:DescribeTags` | the instance's tags |
//! | `DescribeInstanceTypes` | SigV4, `ec2:DescribeInstanceTypes` | [real figures](types) of the types asked for |
//! | any other | - | 400 `InvalidAction` |
//!
//! Real: members and their wire names, ids unknown and malformed, filters, wildcards, pages, names that come late. Faked: nothing
//! stands behind the instances but the plan.

pub mod filters;
pub mod instances;
pub mod interfaces;
pub mod machines;
pub mod page;
pub mod tags;
pub mod topology;
pub mod types;
pub mod zones;

use nodejoin_core::plan::fault::Service;

use super::authorize;
use crate::clock::Moment;
use crate::credentials::request_id;
use crate::exchange::{Answer, Parameters, Request, ServiceError};
use crate::router::Endpoint;
use crate::wire::Shape;
use crate::wire::xml::Xml;
use crate::world::{Instance, Target};

const NAMESPACE: &str = "http://ec2.amazonaws.com/doc/2016-11-15/";

/// What a request asks for; its subject are the ids or types it names.
#[must_use]
pub fn identify(request: &Request) -> Target {
    let parameters = request.parameters();
    let subject = |list: &str| Some(parameters.list(list).join(",")).filter(|subject| !subject.is_empty());
    match parameters.get("Action") {
        Some("DescribeInstances") => Target::known(Service::Ec2, "DescribeInstances", subject("InstanceId")),
        Some("DescribeInstanceTopology") => {
            Target::known(Service::Ec2, "DescribeInstanceTopology", subject("InstanceId"))
        }
        Some("DescribeInstanceTypes") => {
            Target::known(Service::Ec2, "DescribeInstanceTypes", subject("InstanceType"))
        }
        Some("DescribeNetworkInterfaces") => Target::known(
            Service::Ec2,
            "DescribeNetworkInterfaces",
            subject("NetworkInterfaceId"),
        ),
        Some("DescribeTags") => Target::known(Service::Ec2, "DescribeTags", None),
        action => Target::unknown(Service::Ec2, action.unwrap_or_default()),
    }
}

/// Answers a request.
///
/// # Errors
/// What EC2 answers instead.
pub fn answer(
    instance: &Instance,
    request: &Request,
    target: &Target,
    endpoint: &Endpoint,
    moment: Moment,
) -> Result<Answer, ServiceError> {
    let parameters = request.parameters();
    if !target.known {
        return Err(unknown(&target.operation, &parameters));
    }
    let caller = authorize::signature(instance, request, endpoint, Shape::Ec2, moment)?;
    caller.permit(Service::Ec2, &format!("ec2:{}", target.operation), "*")?;
    let machines = machines::of_region(instance, &endpoint.region, moment);
    let body = Xml::new().text("requestId", request_id());
    let body = match target.operation.as_str() {
        "DescribeInstances" => instances::describe(body, &machines, &parameters)?,
        "DescribeNetworkInterfaces" => interfaces::describe(body, &machines, &parameters)?,
        "DescribeInstanceTopology" => topology::describe(body, &machines, &parameters)?,
        "DescribeTags" => tags::describe(body, &machines, &parameters)?,
        _ => types::describe(body, &parameters)?,
    };
    let document = body.document(&format!("{}Response", target.operation), Some(NAMESPACE));
    Ok(Answer::new(200, "text/xml;charset=UTF-8", document))
}

fn unknown(action: &str, parameters: &Parameters) -> ServiceError {
    if action.is_empty() {
        return ServiceError::new(
            400,
            "MissingAction",
            "The request must contain the parameter Action",
        );
    }
    let version = parameters.get("Version").unwrap_or("2016-11-15");
    ServiceError::new(
        400,
        "InvalidAction",
        format!("The action {action} is not valid for this web service. (version {version})"),
    )
}
