//! CreateTags and DeleteTags: changes of the tags of instances and of other resources.

use std::collections::{BTreeMap, BTreeSet};

use nodejoin_core::vocabulary::operation::Ec2Operation as Operation;

use super::resource::Ec2View;
use super::{inventory, tags};
use crate::http::{QueryParameters, ServiceError};
use crate::instance::Instance;
use crate::services::ServiceRequest;

/// Tags that a client may not change start so.
const RESERVED: &str = "aws:";
/// Limit of the tags of a resource, besides reserved ones.
const MAX_TAGS: usize = 50;
/// Ids of instances start so.
const INSTANCE: &str = "i-";

/// CreateTags and DeleteTags.
///
/// # Errors
/// A resource does not exist, or a tag is reserved.
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
        .filter(|id| id.starts_with(INSTANCE))
        .collect();
    check_instances(instance, call, &instances)?;
    let others = others(&Ec2View::of(instance, call), &resources)?;
    let tags = requested(parameters);
    if let Some((key, _)) = tags
        .iter()
        .find(|(key, _)| key.to_lowercase().starts_with(RESERVED))
    {
        let message = format!("Tag keys starting with 'aws:' are reserved for internal use: {key}");
        return Err(ServiceError::new(400, "InvalidParameterValue", message));
    }
    check_count(instance, &resources, operation, &tags)?;
    for (id, resource_type) in others {
        let all = &mut instance.world.aws.tags;
        let of_type = all.get(resource_type).cloned().unwrap_or_default();
        all.entry(id).or_insert(of_type);
    }
    for id in resources {
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

/// Ids and types of the resources that are not instances.
///
/// # Errors
/// A resource does not exist in the region of the request.
fn others(view: &Ec2View<'_>, ids: &[&str]) -> Result<Vec<(String, &'static str)>, ServiceError> {
    let known = tags::other_resources(view);
    let others = ids.iter().filter(|id| !id.starts_with(INSTANCE));
    let find = |id: &&str| {
        let found = known.iter().find(|(known, _)| known == id);
        found.cloned().ok_or_else(|| {
            let message = format!("The ID '{id}' is not valid");
            ServiceError::new(400, "InvalidID", message)
        })
    };
    others.map(find).collect()
}

/// Checks that all instances exist in the region of the request.
///
/// # Errors
/// An instance does not exist.
fn check_instances(instance: &Instance, call: ServiceRequest<'_>, ids: &[&str]) -> Result<(), ServiceError> {
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
    if !id.starts_with(INSTANCE) {
        return world.aws.tags.get_mut(id);
    }
    let mut peers = instance.peers.iter_mut();
    if let Some(peer) = peers.find(|peer| peer.plan.id.as_str() == id) {
        return Some(&mut peer.plan.tags);
    }
    let other = world.aws.instances.iter_mut().find(|other| other.id == id);
    other.map(|other| &mut other.tags)
}

/// Checks that no resource has more tags than EC2 allows.
fn check_count(
    instance: &mut Instance,
    resources: &[&str],
    operation: Operation,
    tags: &[(String, Option<String>)],
) -> Result<(), ServiceError> {
    let mut is_over = |id: &str| {
        let current = tags_of(instance, id).map(|tags| tags.keys().cloned().collect::<BTreeSet<_>>());
        let mut keys = current.unwrap_or_default();
        keys.extend(tags.iter().map(|(key, _)| key.clone()));
        keys.iter().filter(|key| !key.starts_with(RESERVED)).count() > MAX_TAGS
    };
    match operation == Operation::CreateTags && resources.iter().any(|id| is_over(id)) {
        true => {
            let message = format!("You have reached the maximum of {MAX_TAGS} tags on a resource.");
            Err(ServiceError::new(400, "TagLimitExceeded", message))
        }
        false => Ok(()),
    }
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
