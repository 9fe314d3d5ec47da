//! Describe actions that have one form: ids, filters, tags and pages.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::filters;
use super::inventory::Ec2Instance;
use super::page::{self, Described};
use crate::endpoint::Endpoint;
use crate::http::{QueryParameters, ServiceError};
use crate::instance::Instance;
use crate::services::ServiceRequest;
use crate::wire::xml::Xml;
use crate::world::World;

/// The resources that one request sees: those of its region.
#[derive(Debug)]
pub(super) struct Ec2View<'a> {
    pub world: &'a World,
    pub endpoint: &'a Endpoint,
    pub instances: Vec<Ec2Instance<'a>>,
}

impl<'a> Ec2View<'a> {
    #[must_use]
    pub(super) fn of(instance: &'a Instance, call: ServiceRequest<'a>) -> Self {
        Self {
            world: &instance.world,
            endpoint: call.endpoint,
            instances: super::inventory::of_region(instance, &call.endpoint.region, call.time),
        }
    }

    /// Whether the request is to the region of the scenario, the only one with a VPC.
    #[must_use]
    pub(super) fn is_home(&self) -> bool {
        self.endpoint.region == self.world.region.as_str()
    }

    /// ARN of a resource, such as `subnet/subnet-0a`.
    #[must_use]
    pub(super) fn arn(&self, resource: &str) -> String {
        let (partition, region) = (self.world.region.partition(), &self.endpoint.region);
        format!("arn:{partition}:ec2:{region}:{}:{resource}", self.world.account)
    }
}

/// What the Describe actions of resource types differ in.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResourceType {
    /// Type in tags, such as `volume`.
    pub name: &'static str,
    /// Parameter with ids.
    pub ids: &'static str,
    /// Member with the resources.
    pub set: &'static str,
    /// Code of the error for an unknown id.
    pub missing: &'static str,
    /// Its message; `{}` stands for the id.
    pub missing_message: &'static str,
}

/// A resource of a Describe action.
pub(super) trait Ec2Resource {
    const TYPE: ResourceType;
    /// Limits of `MaxResults`.
    const PAGE: RangeInclusive<usize> = 5..=1_000;

    fn id(&self) -> &str;

    /// The values for a filter's name; `None` for an unknown name. Filters by tags are not among them.
    fn values(&self, filter: &str) -> Option<Vec<String>>;

    /// Writes the members of the resource except its tags.
    fn write(&self, item: Xml) -> Xml;
}

/// The tags of a resource that is not an instance; default: those of its type.
#[must_use]
pub(super) fn tags_of<'a>(world: &'a World, resource_type: &str, id: &str) -> &'a BTreeMap<String, String> {
    static NONE: BTreeMap<String, String> = BTreeMap::new();
    let tags = &world.aws.tags;
    tags.get(id).or_else(|| tags.get(resource_type)).unwrap_or(&NONE)
}

/// The resources that ids and filters of a request select.
///
/// # Errors
/// An id or a filter is invalid.
pub(super) fn select<R: Ec2Resource>(
    world: &World,
    all: Vec<R>,
    parameters: &QueryParameters,
) -> Result<Vec<R>, ServiceError> {
    let ids = parameters.list(R::TYPE.ids);
    check_ids(&ids, &all)?;
    let filters = filters::read(parameters);
    let mut found = Vec::new();
    for resource in all {
        let is_requested = ids.is_empty() || ids.contains(&resource.id());
        if filters::pass(&filters, |name| values(world, &resource, name))? && is_requested {
            found.push(resource);
        }
    }
    Ok(found)
}

/// Checks that all ids exist.
///
/// # Errors
/// An id is unknown.
pub(super) fn check_ids<R: Ec2Resource>(ids: &[&str], all: &[R]) -> Result<(), ServiceError> {
    let missing = ids.iter().find(|id| all.iter().all(|found| found.id() != **id));
    missing.map_or(Ok(()), |id| {
        let message = R::TYPE.missing_message.replace("{}", id);
        Err(ServiceError::new(400, R::TYPE.missing, message))
    })
}

fn values<R: Ec2Resource>(world: &World, resource: &R, filter: &str) -> Option<Vec<String>> {
    let tags = tags_of(world, R::TYPE.name, resource.id());
    match filter.strip_prefix("tag:") {
        Some(key) => Some(tags.get(key).into_iter().cloned().collect()),
        None if filter == "tag-key" => Some(tags.keys().cloned().collect()),
        None => resource.values(filter),
    }
}

/// Writes the response.
///
/// # Errors
/// An id, a filter or a page is invalid.
pub(super) fn describe<R: Ec2Resource>(
    body: Xml,
    world: &World,
    all: Vec<R>,
    parameters: &QueryParameters,
) -> Described {
    let found = select(world, all, parameters)?;
    page::write(body, R::TYPE.set, found, parameters, R::PAGE, |item, resource| {
        write_tags(resource.write(item), tags_of(world, R::TYPE.name, resource.id()))
    })
}

/// Writes the list of a resource's tags.
#[must_use]
pub(super) fn write_tags(item: Xml, tags: &BTreeMap<String, String>) -> Xml {
    item.items("tagSet", tags, |tag, (key, value)| {
        tag.text("key", key).text("value", value)
    })
}
