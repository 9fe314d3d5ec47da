//! The stack whose metadata the user data reads.

use nodejoin_core::user_data::{Values, replace_cluster};
use serde_json::Value;

use super::report::{AdoptionKind, AdoptionLine, line};
use super::yaml_text::YamlText;
use crate::machine::Machine;
use crate::template_stack::TemplateResource;

/// The key `aws` with the stack of the machine's template.
pub(super) fn stack(machine: &Machine, report: &mut Vec<AdoptionLine>) -> Option<YamlText> {
    let stack = machine.stack.as_ref()?;
    let with_metadata = stack
        .resources
        .iter()
        .filter(|resource| resource.metadata.is_some());
    let ids: Vec<String> = with_metadata
        .map(|resource| format!("`{}`", resource.id))
        .collect();
    if !ids.is_empty() {
        let text = format!("the metadata of {} in the stack `{}`", ids.join(", "), stack.name);
        line(report, AdoptionKind::Adopted, text);
    }
    let signalled = stack.signalled.iter().map(|id| (id.clone(), YamlText::plain(1)));
    let resources = stack
        .resources
        .iter()
        .map(|resource| (resource.id.clone(), described(resource)));
    let described = YamlText::map([
        ("name", Some(YamlText::text(&stack.name))),
        ("waits_for", Some(YamlText::Map(signalled.collect()))),
        ("resources", Some(YamlText::Map(resources.collect()))),
    ]);
    Some(YamlText::map([("stacks", Some(YamlText::List(vec![described])))]))
}

fn described(resource: &TemplateResource) -> YamlText {
    let metadata = resource.metadata.as_ref().map(of_the_run);
    YamlText::map([
        ("type", Some(YamlText::text(&resource.kind))),
        ("metadata", metadata.map(|metadata| YamlText::json(&metadata))),
    ])
}

/// The value with the places of what only the cluster of a run has. A certificate in PEM stays: its place is one line.
fn of_the_run(value: &Value) -> Value {
    match value {
        Value::String(text) if !text.contains("-----BEGIN") => {
            let replaced = replace_cluster(text.as_bytes(), &Values::places_of_cluster());
            String::from_utf8_lossy(&replaced.bytes).into()
        }
        Value::Array(items) => items.iter().map(of_the_run).collect(),
        Value::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| (key.clone(), of_the_run(value)));
            Value::Object(entries.collect())
        }
        other => other.clone(),
    }
}
