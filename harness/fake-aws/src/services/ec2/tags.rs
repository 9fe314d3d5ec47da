//! DescribeTags: the tags of the account's one instance.

use super::filters;
use crate::exchange::{Parameters, ServiceError};
use crate::router::Endpoint;
use crate::wire::xml::Xml;
use crate::world::World;

/// Writes the answer.
///
/// # Errors
/// For filters that are not known.
pub fn describe(
    body: Xml,
    world: &World,
    endpoint: &Endpoint,
    parameters: &Parameters,
) -> Result<Xml, ServiceError> {
    let filters = filters::read(parameters);
    let id = world.instance.id.to_string();
    let mut passed = Vec::new();
    for (key, value) in &world.instance.tags {
        let values_of = |name: &str| match name {
            "resource-id" => Some(vec![id.clone()]),
            "resource-type" => Some(vec!["instance".to_owned()]),
            "key" | "tag-key" => Some(vec![key.clone()]),
            "value" | "tag-value" => Some(vec![value.clone()]),
            tag => tag
                .strip_prefix("tag:")
                .map(|wanted| (wanted == key).then(|| value.clone()).into_iter().collect()),
        };
        if filters::pass(&filters, values_of)? && endpoint.region == world.region.as_str() {
            passed.push((key, value));
        }
    }
    Ok(body.items("tagSet", passed, |tag, (key, value)| {
        tag.text("resourceId", &id)
            .text("resourceType", "instance")
            .text("key", key)
            .text("value", value)
    }))
}
