//! ModifyInstanceAttribute: attributes that a running instance may change, and EC2's errors for all others.

use super::resource::Ec2View;
use super::{instance_ids, security_groups};
use crate::http::{QueryParameters, ServiceError};
use crate::instance::Instance;
use crate::services::ServiceRequest;

/// Attributes that EC2 changes only while an instance is stopped; the node's own is running.
const OF_STOPPED: [&str; 7] = [
    "EbsOptimized",
    "EnaSupport",
    "InstanceType",
    "Kernel",
    "Ramdisk",
    "SriovNetSupport",
    "UserData",
];
/// Attributes that a running instance may change.
const OF_RUNNING: [&str; 6] = [
    "BlockDeviceMapping",
    "DisableApiStop",
    "DisableApiTermination",
    "GroupId",
    "InstanceInitiatedShutdownBehavior",
    "SourceDestCheck",
];
/// The parameters of the action. The names of attributes are checked here, in EC2's words.
pub(super) const ACCEPTED: &[&str] = &[
    "Attribute",
    "BlockDeviceMapping",
    "DisableApiStop",
    "DisableApiTermination",
    "EbsOptimized",
    "EnaSupport",
    "GroupId",
    "InstanceId",
    "InstanceInitiatedShutdownBehavior",
    "InstanceType",
    "Kernel",
    "Ramdisk",
    "SourceDestCheck",
    "SriovNetSupport",
    "UserData",
    "Value",
];

/// Changes an attribute of the instance.
///
/// # Errors
/// The instance or the attribute does not exist, or only a stopped instance can change it.
pub(super) fn modify(
    instance: &mut Instance,
    call: ServiceRequest<'_>,
    parameters: &QueryParameters,
) -> Result<(), ServiceError> {
    let id = parameters.get("InstanceId").unwrap_or_default();
    let view = Ec2View::of(instance, call);
    instance_ids::check(&[id], &view.instances)?;
    let attributes = requested(parameters)?;
    if attributes.is_empty() {
        let message = "No attributes specified.";
        return Err(ServiceError::new(400, "InvalidParameterCombination", message));
    }
    if attributes.iter().any(|name| OF_STOPPED.contains(&name.as_str())) {
        let message = format!("The instance '{id}' is not in the 'stopped' state.");
        return Err(ServiceError::new(400, "IncorrectInstanceState", message));
    }
    instance_ids::check_own(&view, id)?;
    let groups = parameters.list("GroupId");
    security_groups::check(&view, &groups)?;
    if let Some(is_checked) = value(parameters, "SourceDestCheck") {
        let is_checked = boolean("SourceDestCheck", is_checked)?;
        let primary = instance.world.instance.network_interface_id.clone();
        instance.interfaces.attributes_mut(&primary).source_dest_check = is_checked;
    }
    Ok(())
}

/// The names of the attributes in a request: as parameters, or as the value of `Attribute`.
fn requested(parameters: &QueryParameters) -> Result<Vec<String>, ServiceError> {
    let known = || OF_RUNNING.iter().chain(&OF_STOPPED);
    let names = parameters
        .0
        .iter()
        .map(|(key, _)| key.split('.').next().unwrap_or_default());
    let mut found: Vec<String> = known()
        .filter(|known| names.clone().any(|name| name == **known))
        .map(|known| (*known).to_owned())
        .collect();
    if let Some(name) = parameters.get("Attribute") {
        let upper = format!(
            "{}{}",
            name.get(..1).unwrap_or_default().to_ascii_uppercase(),
            name.get(1..).unwrap_or_default()
        );
        let upper = if upper == "GroupSet" {
            "GroupId".to_owned()
        } else {
            upper
        };
        if !known().any(|known| **known == upper) {
            let message = format!("Value ({name}) for parameter attribute is invalid. Unknown attribute.");
            return Err(ServiceError::new(400, "InvalidParameterValue", message));
        }
        found.push(upper);
    }
    Ok(found)
}

/// The value of an attribute, in either form.
fn value<'a>(parameters: &'a QueryParameters, name: &str) -> Option<&'a str> {
    let is_named = parameters
        .get("Attribute")
        .is_some_and(|attribute| attribute.eq_ignore_ascii_case(name));
    let plain = || parameters.get("Value").filter(|_| is_named);
    parameters.get(&format!("{name}.Value")).or_else(plain)
}

/// A value that is `true` or `false`.
///
/// # Errors
/// It is another text.
pub(super) fn boolean(name: &str, value: &str) -> Result<bool, ServiceError> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        other => {
            let message = format!("Value ({other}) for parameter {name} is invalid. Expected a boolean.");
            Err(ServiceError::new(400, "InvalidParameterValue", message))
        }
    }
}
