//! CloudFormation, as `https://cloudformation.REGION.amazonaws.com` answers: the query protocol.
//!
//! | action | auth | answer |
//! | --- | --- | --- |
//! | `SignalResource` | SigV4, or `CFN_V1` with the instance's identity document | accepted where the stack waits for it |
//! | `DescribeStacks` | SigV4, `cloudformation:DescribeStacks` | the stacks of the scenario, with their status by now |
//! | any other | - | 400 `InvalidAction` |
//!
//! Real: both kinds of proof, the sentences of what is refused, the status of a stack once all its signals have come. Faked: a
//! stack has no resources but those that wait.

mod stacks;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nodejoin_core::plan::fault::Service;
use serde_json::{Value, json};
use time::OffsetDateTime;

use self::stacks::invalid;
pub use self::stacks::{Signal, Stack, Stacks};
use super::imds::document;
use super::imds::tree::Proof;
use super::{authorize, sts};
use crate::clock::{self, Moment};
use crate::credentials::request_id;
use crate::exchange::{Answer, Parameters, Request, ServiceError};
use crate::router::Endpoint;
use crate::wire::Shape;
use crate::wire::xml::Xml;
use crate::world::{Instance, Target, World};

/// The shape of its answers.
pub const SHAPE: Shape = Shape::Query(NAMESPACE);
const NAMESPACE: &str = "http://cloudformation.amazonaws.com/doc/2010-05-15/";

/// What a request asks for: a signal's subject is its resource, its status, and whose it is.
#[must_use]
pub fn identify(request: &Request) -> Target {
    let parameters = request.parameters();
    match parameters.get("Action") {
        Some("SignalResource") => {
            let part = |name| parameters.get(name).unwrap_or_default().to_owned();
            let subject = format!(
                "{}/{} {} {}",
                part("StackName"),
                part("LogicalResourceId"),
                part("Status"),
                part("UniqueId")
            );
            Target::known(Service::Cloudformation, "SignalResource", Some(subject))
        }
        Some("DescribeStacks") => {
            let name = parameters.get("StackName").map(ToOwned::to_owned);
            Target::known(Service::Cloudformation, "DescribeStacks", name)
        }
        action => Target::unknown(Service::Cloudformation, action.unwrap_or_default()),
    }
}

/// Answers a request.
///
/// # Errors
/// What CloudFormation answers instead.
pub fn answer(
    instance: &mut Instance,
    request: &Request,
    target: &Target,
    endpoint: &Endpoint,
    moment: Moment,
) -> Result<Answer, ServiceError> {
    if !target.known {
        let message = format!(
            "Could not find operation {} for version 2010-05-15",
            target.operation
        );
        return Err(ServiceError::new(400, "InvalidAction", message));
    }
    let parameters = request.parameters();
    let as_json = sts::wants_json(request);
    if target.operation == "DescribeStacks" {
        let caller = authorize::signature(instance, request, endpoint, SHAPE, moment)?;
        let name = parameters.get("StackName");
        let resource = stack_resource(&instance.world, endpoint, name.unwrap_or("*"));
        caller.permit(
            Service::Cloudformation,
            "cloudformation:DescribeStacks",
            &resource,
        )?;
        return describe(instance, name, as_json);
    }
    match request
        .header("authorization")
        .and_then(|value| value.strip_prefix("CFN_V1 "))
    {
        Some(proof) => check_identity(instance, proof, &parameters)?,
        None => {
            let caller = authorize::signature(instance, request, endpoint, SHAPE, moment)?;
            let name = parameters.get("StackName").unwrap_or("*");
            let resource = stack_resource(&instance.world, endpoint, name);
            caller.permit(
                Service::Cloudformation,
                "cloudformation:SignalResource",
                &resource,
            )?;
        }
    }
    signal(instance, &parameters)?;
    Ok(written("SignalResource", Xml::new(), Value::Null, as_json))
}

fn stack_resource(world: &World, endpoint: &Endpoint, name: &str) -> String {
    let (partition, account) = (world.region.partition(), &world.account);
    format!(
        "arn:{partition}:cloudformation:{}:{account}:stack/{name}/*",
        endpoint.region
    )
}

/// `CFN_V1 BASE64(identity document):signature without line ends`, as cfn-signal sends it from an instance without a profile.
fn check_identity(instance: &Instance, proof: &str, parameters: &Parameters) -> Result<(), ServiceError> {
    let signature = document::identity_signature(instance, Proof::Signature).replace('\n', "");
    let document = document::identity(&instance.world, instance.launched.into());
    let expected = format!("{}:{signature}", BASE64_STANDARD.encode(document));
    let refused = |message: String| Err(ServiceError::new(403, "AccessDenied", message));
    if proof != expected {
        return refused("The instance identity document's signature is not valid".to_owned());
    }
    let stack = parameters.get("StackName").unwrap_or_default();
    let is_its_own = instance.stacks.is_empty() || instance.stacks.find(&instance.world, stack).is_some();
    if is_its_own {
        return Ok(());
    }
    let id = &instance.world.instance.id;
    refused(format!(
        "Instance {id} is not allowed to call SignalResource for {stack}"
    ))
}

fn signal(instance: &mut Instance, parameters: &Parameters) -> Result<(), ServiceError> {
    let given = |name: &str| {
        let value = parameters.get(name).filter(|value| !value.is_empty());
        value.ok_or_else(|| {
            let member = format!("{}{}", name[..1].to_ascii_lowercase(), &name[1..]);
            let constraint = "failed to satisfy constraint: Member must not be null";
            invalid(format!(
                "1 validation error detected: Value null at '{member}' {constraint}"
            ))
        })
    };
    let (stack, resource) = (given("StackName")?, given("LogicalResourceId")?);
    let (unique_id, status) = (given("UniqueId")?, given("Status")?);
    if unique_id.len() > 64 {
        let constraint = "failed to satisfy constraint: Member must have length less than or equal to 64";
        return Err(invalid(format!(
            "1 validation error detected: Value '{unique_id}' at 'uniqueId' {constraint}"
        )));
    }
    let success = match status {
        "SUCCESS" => true,
        "FAILURE" => false,
        _ => {
            let constraint =
                "failed to satisfy constraint: Member must satisfy enum value set: [FAILURE, SUCCESS]";
            return Err(invalid(format!(
                "1 validation error detected: Value '{status}' at 'status' {constraint}"
            )));
        }
    };
    if instance.stacks.is_empty() {
        return Ok(());
    }
    let signal = Signal {
        stack,
        resource,
        unique_id,
        success,
    };
    instance.stacks.signal(&instance.world, signal)
}

fn describe(instance: &Instance, name: Option<&str>, as_json: bool) -> Result<Answer, ServiceError> {
    let (world, stacks) = (&instance.world, &instance.stacks);
    let found: Vec<&Stack> = match name {
        None => stacks.iter().collect(),
        Some(name) => {
            let missing = || invalid(format!("Stack with id {name} does not exist"));
            vec![stacks.find(world, name).ok_or_else(missing)?]
        }
    };
    let created = OffsetDateTime::from(instance.launched);
    let xml = Xml::new().element("DescribeStacksResult", |result| {
        result.members("Stacks", &found, |member, stack| {
            member
                .text("StackId", stack.id(world))
                .text("StackName", &stack.name)
                .text("CreationTime", clock::milliseconds(created))
                .text("DisableRollback", false)
                .text("StackStatus", &stack.status)
        })
    });
    let stacks: Vec<Value> = found
        .iter()
        .map(|stack| {
            json!({
                "StackId": stack.id(world), "StackName": stack.name, "CreationTime": created.unix_timestamp(),
                "DisableRollback": false, "StackStatus": stack.status,
            })
        })
        .collect();
    Ok(written(
        "DescribeStacks",
        xml,
        json!({ "Stacks": stacks }),
        as_json,
    ))
}

/// An answer with what its result holds, as XML and as JSON.
fn written(operation: &str, result: Xml, result_as_json: Value, as_json: bool) -> Answer {
    let (id, response) = (request_id(), format!("{operation}Response"));
    if as_json {
        let mut members = json!({ "ResponseMetadata": { "RequestId": id } });
        if !result_as_json.is_null() {
            members[format!("{operation}Result")] = result_as_json;
        }
        let body = json!({ &response: members });
        return Answer::new(200, "application/json", body.to_string()).with_header("x-amzn-requestid", id);
    }
    let body = result
        .element("ResponseMetadata", |metadata| metadata.text("RequestId", &id))
        .document(&response, Some(NAMESPACE));
    Answer::new(200, "text/xml", body).with_header("x-amzn-requestid", id)
}
