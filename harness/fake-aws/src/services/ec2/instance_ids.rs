//! Checks of the ids of instances in a request.

use super::inventory::Ec2Instance;
use super::resource::Ec2View;
use crate::http::{QueryParameters, ServiceError};
use crate::not_emulated;

/// Checks the requested ids: one invalid id fails the call.
///
/// # Errors
/// An id is malformed or unknown.
pub(super) fn check(ids: &[&str], instances: &[Ec2Instance<'_>]) -> Result<(), ServiceError> {
    if let Some(malformed) = ids.iter().find(|id| !is_instance_id(id)) {
        return Err(ServiceError::new(
            400,
            "InvalidInstanceID.Malformed",
            format!("Invalid id: \"{malformed}\""),
        ));
    }
    let is_known = |id: &str| instances.iter().any(|instance| instance.plan.id.as_str() == id);
    let missing: Vec<&str> = ids.iter().copied().filter(|id| !is_known(id)).collect();
    let message = match missing.as_slice() {
        [] => return Ok(()),
        [one] => format!("The instance ID '{one}' does not exist"),
        several => format!("The instance IDs '{}' do not exist", several.join(", ")),
    };
    Err(ServiceError::new(400, "InvalidInstanceID.NotFound", message))
}

/// Checks that a request by ids has no page size.
///
/// # Errors
/// It has both.
pub(super) fn check_page(ids: &[&str], parameters: &QueryParameters) -> Result<(), ServiceError> {
    if ids.is_empty() || parameters.get("MaxResults").is_none() {
        return Ok(());
    }
    let message = "The parameter instancesSet cannot be used with the parameter maxResults";
    Err(ServiceError::new(400, "InvalidParameterCombination", message))
}

/// Checks that an instance is the scenario's own, which the action changes.
///
/// # Errors
/// The instance does not exist, or exists in EC2 only.
pub(super) fn check_own(view: &Ec2View<'_>, id: &str) -> Result<(), ServiceError> {
    if view.is_home() && view.world.instance.id.as_str() == id {
        return Ok(());
    }
    check(&[id], &view.instances)?;
    Err(not_emulated::other_instance(id))
}

fn is_instance_id(id: &str) -> bool {
    id.strip_prefix("i-")
        .is_some_and(|hex| matches!(hex.len(), 8 | 17) && hex.bytes().all(|b| b.is_ascii_hexdigit()))
}
