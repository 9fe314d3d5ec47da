//! DescribeTags: the tags of the account's instances.

use super::inventory::Ec2Instance;
use super::{Described, filters, page};
use crate::http::QueryParameters;
use crate::wire::xml::Xml;

/// Writes the response.
///
/// # Errors
/// A filter or a page is invalid.
pub(super) fn describe(body: Xml, instances: &[Ec2Instance<'_>], parameters: &QueryParameters) -> Described {
    let filters = filters::read(parameters);
    let mut passed = Vec::new();
    for instance in instances {
        for (key, value) in &instance.plan.tags {
            if filters::pass(&filters, |name| values(instance, key, value, name))? {
                passed.push((instance.plan.id.as_str(), key, value));
            }
        }
    }
    page::write(
        body,
        "tagSet",
        passed,
        parameters,
        5..=1_000,
        |tag, (id, key, value)| {
            tag.text("resourceId", id)
                .text("resourceType", "instance")
                .text("key", key)
                .text("value", value)
        },
    )
}

fn values(instance: &Ec2Instance<'_>, key: &str, value: &str, filter: &str) -> Option<Vec<String>> {
    let value = match filter {
        "resource-id" => instance.plan.id.as_str(),
        "resource-type" => "instance",
        "key" | "tag-key" => key,
        "value" | "tag-value" => value,
        tag => {
            let is_it = tag.strip_prefix("tag:")? == key;
            return Some(is_it.then(|| value.to_owned()).into_iter().collect());
        }
    };
    Some(vec![value.to_owned()])
}
