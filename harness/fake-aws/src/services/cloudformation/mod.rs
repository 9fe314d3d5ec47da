//! CloudFormation, as `https://cloudformation.REGION.amazonaws.com`: the query protocol.
//!
//! | action | auth | response |
//! | --- | --- | --- |
//! | `SignalResource` | SigV4, or `CFN_V1` with the identity document | success if the stack waits for the signal |
//! | `DescribeStacks` | SigV4, `cloudformation:DescribeStacks` | the scenario's stacks, with their current status |
//! | `DescribeStackResource` | SigV4, or `CFN_V1`, as above | a resource with its metadata, for `cfn-init` |
//! | any other | - | 501 `NotEmulated` |
//!
//! Real: both kinds of proof, error messages, the status of a stack once all its signals have arrived. Faked: a stack
//! has the resources that wait and those that the scenario lists; an instance may read all of its stack.

mod parameters;
mod resource;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nodejoin_core::plan::fault::Service;
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::vocabulary::operation::{ApiOperation as _, CloudformationOperation as Operation};
use serde_json::{Value, json};
use time::OffsetDateTime;

use self::parameters::required;
use super::imds::document;
use super::{ServiceRequest, authorize};
use crate::clock::{self};
use crate::credentials::request_id;
use crate::endpoint::Endpoint;
use crate::http::{QueryParameters, Request, Response, ServiceError};
use crate::identity::DocumentSignature;
use crate::instance::Instance;
use crate::not_emulated;
use crate::operation::RequestTarget;
use crate::stacks::{Signal, Stack, validation_error};
use crate::wire::xml::Xml;
use crate::wire::{self, WireFormat, accepts_json};
use crate::world::World;

pub(crate) const WIRE_FORMAT: WireFormat = WireFormat::Query(NAMESPACE);
const NAMESPACE: &str = "http://cloudformation.amazonaws.com/doc/2010-05-15/";
/// Limit of `UniqueId`.
const MAX_UNIQUE_ID: usize = 64;

/// The stack; for a signal also its resource, status and sender.
fn subject(operation: Operation, request: &Request) -> Option<String> {
    let parameters = request.parameters();
    match operation {
        Operation::DescribeStacks => parameters.get("StackName").map(ToOwned::to_owned),
        Operation::DescribeStackResource => {
            let part = |name| parameters.get(name).unwrap_or_default();
            Some(format!("{}/{}", part("StackName"), part("LogicalResourceId")))
        }
        Operation::SignalResource => {
            let part = |name| parameters.get(name).unwrap_or_default();
            Some(format!(
                "{}/{} {} {}",
                part("StackName"),
                part("LogicalResourceId"),
                part("Status"),
                part("UniqueId")
            ))
        }
    }
}

pub(crate) fn identify(request: &Request) -> RequestTarget {
    RequestTarget::of_action(Service::Cloudformation, request, |operation: Operation| {
        subject(operation, request)
    })
}

/// Responds to a request.
///
/// # Errors
/// The error that CloudFormation returns.
pub(crate) fn respond(instance: &mut Instance, call: ServiceRequest<'_>) -> Result<Response, ServiceError> {
    let request = call.request;
    let action = request.action();
    let operation = Operation::named(&action)
        .ok_or_else(|| not_emulated::error(Service::Cloudformation.word(), &action))?;
    let parameters = request.parameters();
    match instance_proof(request) {
        Some(proof) if operation != Operation::DescribeStacks => {
            check_identity(instance, proof, operation, &parameters)?
        }
        _ => permit(instance, call, operation)?,
    }
    match operation {
        Operation::DescribeStacks => describe(instance, parameters.get("StackName"), accepts_json(request)),
        Operation::DescribeStackResource => {
            let resource = resource::described(instance, &parameters)?;
            let (result, as_json) = resource::written(&resource);
            Ok(response(operation, result, as_json, accepts_json(request)))
        }
        Operation::SignalResource => {
            signal(instance, &parameters)?;
            Ok(response(
                operation,
                Xml::new(),
                Value::Null,
                accepts_json(request),
            ))
        }
    }
}

/// The proof of an instance without a profile, which cannot sign.
fn instance_proof(request: &Request) -> Option<&str> {
    request.header("authorization")?.strip_prefix("CFN_V1 ")
}

/// The instance in the identity document of a request, which is not checked yet.
pub(crate) fn claimed_instance(request: &Request) -> Option<InstanceId> {
    let (document, _) = instance_proof(request)?.split_once(':')?;
    let document: Value = serde_json::from_slice(&BASE64_STANDARD.decode(document).ok()?).ok()?;
    document["instanceId"].as_str()?.parse().ok()
}

fn permit(instance: &Instance, call: ServiceRequest<'_>, operation: Operation) -> Result<(), ServiceError> {
    let ServiceRequest {
        request, endpoint, ..
    } = call;
    let signer = authorize::signature(instance, call, WIRE_FORMAT)?;
    let parameters = request.parameters();
    let resource = stack_resource(
        &instance.world,
        endpoint,
        parameters.get("StackName").unwrap_or("*"),
    );
    match operation.action() {
        Some(action) => signer.permit(Service::Cloudformation, action, &resource),
        None => Ok(()),
    }
}

fn stack_resource(world: &World, endpoint: &Endpoint, name: &str) -> String {
    let (partition, account) = (world.region.partition(), &world.account);
    format!(
        "arn:{partition}:cloudformation:{}:{account}:stack/{name}/*",
        endpoint.region
    )
}

/// Checks `CFN_V1 BASE64(identity document):signature without line ends`, which cfn-signal sends from an instance
/// without a profile.
fn check_identity(
    instance: &Instance,
    proof: &str,
    operation: Operation,
    parameters: &QueryParameters,
) -> Result<(), ServiceError> {
    let signature = document::identity_signature(instance, DocumentSignature::Signature).replace('\n', "");
    let document = document::identity(&instance.world, instance.launched.into());
    let expected = format!("{}:{signature}", BASE64_STANDARD.encode(document));
    let refused = |message: String| Err(ServiceError::new(403, "AccessDenied", message));
    if proof != expected {
        return refused("The instance identity document's signature is not valid".to_owned());
    }
    let stack = parameters.get("StackName").unwrap_or_default();
    let is_own_stack = instance.stacks.is_empty() || instance.stacks.find(&instance.world, stack).is_some();
    if is_own_stack {
        return Ok(());
    }
    let id = &instance.world.instance.id;
    refused(format!(
        "Instance {id} is not allowed to call {} for {stack}",
        operation.name()
    ))
}

fn signal(instance: &mut Instance, parameters: &QueryParameters) -> Result<(), ServiceError> {
    let required = |name: &str| required(parameters, name);
    let (stack, resource) = (required("StackName")?, required("LogicalResourceId")?);
    let (unique_id, status) = (required("UniqueId")?, required("Status")?);
    if unique_id.len() > MAX_UNIQUE_ID {
        let constraint = "failed to satisfy constraint: Member must have length less than or equal to 64";
        return Err(validation_error(format!(
            "1 validation error detected: Value '{unique_id}' at 'uniqueId' {constraint}"
        )));
    }
    let success = match status {
        "SUCCESS" => true,
        "FAILURE" => false,
        _ => {
            let constraint =
                "failed to satisfy constraint: Member must satisfy enum value set: [FAILURE, SUCCESS]";
            return Err(validation_error(format!(
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

fn describe(instance: &Instance, name: Option<&str>, as_json: bool) -> Result<Response, ServiceError> {
    let (world, stacks) = (&instance.world, &instance.stacks);
    let found: Vec<&Stack> = match name {
        None => stacks.iter().collect(),
        Some(name) => {
            let missing = || validation_error(format!("Stack with id {name} does not exist"));
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
    Ok(response(
        Operation::DescribeStacks,
        xml,
        json!({ "Stacks": stacks }),
        as_json,
    ))
}

/// Writes a result as XML or JSON.
fn response(operation: Operation, result: Xml, result_as_json: Value, as_json: bool) -> Response {
    if as_json {
        let (id, response) = (request_id(), format!("{}Response", operation.name()));
        let mut members = json!({ "ResponseMetadata": { "RequestId": id } });
        if !result_as_json.is_null() {
            members[format!("{}Result", operation.name())] = result_as_json;
        }
        let body = json!({ &response: members });
        return Response::new(200, "application/json", body.to_string()).with_header("x-amzn-requestid", id);
    }
    wire::query(NAMESPACE, operation.name(), result)
}
