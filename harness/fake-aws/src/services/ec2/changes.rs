//! Actions that change an instance: its tags, and attributes without an effect on responses.

use std::collections::BTreeMap;

use nodejoin_core::vocabulary::operation::Ec2Operation as Operation;

use super::ServiceRequest;
use super::inventory;
use crate::http::{QueryParameters, ServiceError};
use crate::instance::Instance;

/// Tags that a client may not change start so.
const RESERVED: &str = "aws:";

/// CreateTags and DeleteTags. Tags of volumes and network interfaces are accepted, and not returned.
///
/// # Errors
/// An instance does not exist, or a tag is reserved.
pub(super) fn tags(
    instance: &mut Instance,
    call: ServiceRequest<'_>,
    operation: Operation,
    parameters: &QueryParameters,
) -> Result<(), ServiceError> {
    let resources = parameters.list("ResourceId");
    let instances: Vec<&str> = resources
        .iter()
        .copied()
        .filter(|id| id.starts_with("i-"))
        .collect();
    check_instances(instance, call, &instances)?;
    let tags = requested(parameters);
    if let Some((key, _)) = tags
        .iter()
        .find(|(key, _)| key.to_lowercase().starts_with(RESERVED))
    {
        let message = format!("Tag keys starting with 'aws:' are reserved for internal use: {key}");
        return Err(ServiceError::new(400, "InvalidParameterValue", message));
    }
    for id in instances {
        let Some(current) = tags_of(instance, id) else {
            continue;
        };
        for (key, value) in &tags {
            match (operation, value) {
                (Operation::DeleteTags, Some(value)) if current.get(key) != Some(value) => {}
                (Operation::DeleteTags, _) => drop(current.remove(key)),
                (_, value) => drop(current.insert(key.clone(), value.clone().unwrap_or_default())),
            }
        }
    }
    // The metadata service may list the tags, too.
    instance.reload_world();
    Ok(())
}

/// Checks that all instances exist in the region of the request.
///
/// # Errors
/// An instance does not exist.
pub(super) fn check_instances(
    instance: &Instance,
    call: ServiceRequest<'_>,
    ids: &[&str],
) -> Result<(), ServiceError> {
    let all = inventory::of_region(instance, &call.endpoint.region, call.time);
    let missing = ids
        .iter()
        .find(|id| all.iter().all(|known| known.plan.id.as_str() != **id));
    match missing {
        None => Ok(()),
        Some(id) => {
            let message = format!("The instance ID '{id}' does not exist");
            Err(ServiceError::new(400, "InvalidInstanceID.NotFound", message))
        }
    }
}

fn tags_of<'a>(instance: &'a mut Instance, id: &str) -> Option<&'a mut BTreeMap<String, String>> {
    let world = &mut instance.world;
    if world.instance.id.as_str() == id {
        return Some(&mut world.instance.tags);
    }
    let other = world.aws.instances.iter_mut().find(|other| other.id == id);
    other.map(|other| &mut other.tags)
}

/// The tags in `Tag.1.Key`, `Tag.1.Value`. A tag to delete may lack the value.
fn requested(parameters: &QueryParameters) -> Vec<(String, Option<String>)> {
    let of_key = |(name, key): &(String, String)| {
        let number = name.strip_prefix("Tag.")?.strip_suffix(".Key")?;
        let value = parameters.get(&format!("Tag.{number}.Value"));
        Some((key.clone(), value.map(str::to_owned)))
    };
    parameters.0.iter().filter_map(of_key).collect()
}
