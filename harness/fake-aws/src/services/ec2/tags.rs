//! DescribeTags: the tags of the account's instances.

use super::machines::Machine;
use super::{filters, page};
use crate::exchange::{Parameters, ServiceError};
use crate::wire::xml::Xml;

/// Writes the answer.
///
/// # Errors
/// For filters that are not known and pages that cannot be.
pub fn describe(body: Xml, machines: &[Machine<'_>], parameters: &Parameters) -> Result<Xml, ServiceError> {
    let filters = filters::read(parameters);
    let mut passed = Vec::new();
    for machine in machines {
        for (key, value) in &machine.plan.tags {
            if filters::pass(&filters, |name| values(machine, key, value, name))? {
                passed.push((machine.plan.id.as_str(), key, value));
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

fn values(machine: &Machine<'_>, key: &str, value: &str, filter: &str) -> Option<Vec<String>> {
    let value = match filter {
        "resource-id" => machine.plan.id.as_str(),
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
