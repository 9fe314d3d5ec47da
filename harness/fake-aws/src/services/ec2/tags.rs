//! DescribeTags: the tags of the account's resources.

use super::page::{self, Described};
use super::resource::{Ec2Resource, Ec2View, tags_of};
use super::{addresses, filters, interfaces, security_groups, volumes, vpc};
use crate::http::QueryParameters;
use crate::wire::xml::Xml;

/// A tag of a resource.
struct Tag<'a> {
    id: String,
    resource_type: &'static str,
    key: &'a str,
    value: &'a str,
}

/// Writes the response.
///
/// # Errors
/// A filter or a page is invalid.
pub(super) fn describe(body: Xml, view: &Ec2View<'_>, parameters: &QueryParameters) -> Described {
    let filters = filters::read(parameters);
    let mut passed = Vec::new();
    for tag in of(view) {
        if filters::pass(&filters, |name| tag.values(name))? {
            passed.push(tag);
        }
    }
    page::write(body, "tagSet", passed, parameters, 5..=1_000, |item, tag| {
        item.text("resourceId", tag.id)
            .text("resourceType", tag.resource_type)
            .text("key", tag.key)
            .text("value", tag.value)
    })
}

/// The ids and types of the resources besides instances.
pub(super) fn other_resources(view: &Ec2View<'_>) -> Vec<(String, &'static str)> {
    fn named<R: Ec2Resource>(all: Vec<R>) -> impl Iterator<Item = (String, &'static str)> {
        all.into_iter()
            .map(|resource| (resource.id().to_owned(), R::TYPE.name))
    }
    let interfaces =
        interfaces::all(&view.instances).map(|interface| (interface.id, interfaces::RESOURCE_TYPE));
    named(addresses::of(view))
        .chain(interfaces)
        .chain(named(security_groups::of(view)))
        .chain(named(vpc::subnets(view)))
        .chain(named(volumes::of(view)))
        .chain(named(vpc::vpcs(view)))
        .collect()
}

fn of<'a>(view: &'a Ec2View<'a>) -> Vec<Tag<'a>> {
    let instances = view.instances.iter();
    let instances = instances.map(|found| (found.plan.id.to_string(), "instance", &found.plan.tags));
    let others = other_resources(view).into_iter();
    let others = others.map(|(id, resource_type)| {
        let tags = tags_of(view.world, resource_type, &id);
        (id, resource_type, tags)
    });
    let tags = instances.chain(others).flat_map(|(id, resource_type, tags)| {
        tags.iter().map(move |(key, value)| Tag {
            id: id.clone(),
            resource_type,
            key,
            value,
        })
    });
    tags.collect()
}

impl Tag<'_> {
    fn values(&self, filter: &str) -> Option<Vec<String>> {
        let value = match filter {
            "resource-id" => &self.id,
            "resource-type" => self.resource_type,
            "key" | "tag-key" => self.key,
            "value" | "tag-value" => self.value,
            tag => {
                let is_it = tag.strip_prefix("tag:")? == self.key;
                return Some(is_it.then(|| self.value.to_owned()).into_iter().collect());
            }
        };
        Some(vec![value.to_owned()])
    }
}
