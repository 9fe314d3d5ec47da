//! DescribeStackResource: what `cfn-init` and `cfn-get-metadata` read.

use serde_json::{Value, json};
use time::OffsetDateTime;

use super::parameters::required;
use crate::clock;
use crate::http::{QueryParameters, ServiceError};
use crate::instance::Instance;
use crate::stacks::{Stack, StackResource, validation_error};
use crate::wire::xml::Xml;

/// A resource with its stack.
pub(super) struct DescribedStackResource<'a> {
    instance: &'a Instance,
    stack: &'a Stack,
    resource: StackResource<'a>,
    logical_id: &'a str,
}

/// Finds the requested resource.
///
/// # Errors
/// The stack or the resource does not exist.
pub(super) fn described<'a>(
    instance: &'a Instance,
    parameters: &'a QueryParameters,
) -> Result<DescribedStackResource<'a>, ServiceError> {
    let (name, logical_id) = (
        required(parameters, "StackName")?,
        required(parameters, "LogicalResourceId")?,
    );
    let stack = instance.stacks.find(&instance.world, name);
    let stack = stack.ok_or_else(|| validation_error(format!("Stack '{name}' does not exist")))?;
    let missing = || {
        let message = format!("Resource {logical_id} does not exist for stack {}", stack.name);
        validation_error(message)
    };
    Ok(DescribedStackResource {
        instance,
        stack,
        resource: stack.resource(logical_id).ok_or_else(missing)?,
        logical_id,
    })
}

/// The result, as XML and as JSON.
pub(super) fn written(described: &DescribedStackResource<'_>) -> (Xml, Value) {
    let (resource, stack, world) = (&described.resource, described.stack, &described.instance.world);
    let changed = OffsetDateTime::from(described.instance.launched);
    let metadata = resource.metadata.map(Value::to_string);
    let xml = Xml::new().element("DescribeStackResourceResult", |result| {
        result.element("StackResourceDetail", |detail| {
            let detail = detail
                .text("StackName", &stack.name)
                .text("StackId", stack.id(world))
                .text("LogicalResourceId", described.logical_id)
                .text("PhysicalResourceId", &resource.physical_id)
                .text("ResourceType", resource.resource_type)
                .text("LastUpdatedTimestamp", clock::milliseconds(changed))
                .text("ResourceStatus", resource.status);
            match &metadata {
                Some(metadata) => detail.text("Metadata", metadata),
                None => detail,
            }
        })
    });
    let detail = json!({
        "StackName": stack.name,
        "StackId": stack.id(world),
        "LogicalResourceId": described.logical_id,
        "PhysicalResourceId": resource.physical_id,
        "ResourceType": resource.resource_type,
        "LastUpdatedTimestamp": changed.unix_timestamp(),
        "ResourceStatus": resource.status,
        "Metadata": metadata,
    });
    (xml, json!({ "StackResourceDetail": detail }))
}
