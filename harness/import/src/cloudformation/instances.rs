//! Instances, also those that start from a launch template of the same file.

use super::groups::used_template;
use super::properties::{contains, read};
use super::template::{Template, at};
use crate::ec2::{key_and_value, not_a_node};
use crate::error::ImportError;
use crate::machine::{Machine, System};
use crate::text::joins;
use crate::tree::{Tree, TreeValue};

const INSTANCE: &str = "AWS::EC2::Instance";
const LAUNCH_TEMPLATE: &str = "AWS::EC2::LaunchTemplate";

/// The machine of an instance. One without signs of a cluster is not tried.
pub(super) fn instance(template: &Template<'_>, properties: &Tree) -> Result<Machine, ImportError> {
    let whole = with_launch_template(template, properties);
    let mut machine = read(template, &[], &whole)?;
    let known = template.evaluate_known(properties);
    let tags = known.items_at(&["Tags"]).iter().filter_map(key_and_value);
    machine.traits.tags.extend(tags);
    let bytes = machine.user_data.clone().unwrap_or_default();
    let is_node_of_windows =
        machine.system == System::Windows && contains(template, &whole, "start-eksbootstrap");
    if joins(&String::from_utf8_lossy(&bytes)) || is_node_of_windows {
        return Ok(machine);
    }
    Err(not_a_node(properties))
}

/// The properties of an instance, and those of its launch template that it does not state itself.
fn with_launch_template(template: &Template<'_>, properties: &Tree) -> Tree {
    let used = launch_template(template, properties);
    let data = used.and_then(|(_, used)| used.at(&["Properties", "LaunchTemplateData"]));
    let Some(data) = data else {
        return properties.clone();
    };
    let own = properties.entries();
    let is_own = |key: &String| own.iter().any(|(name, _)| name == key);
    let inherited = data.entries().iter().filter(|(key, _)| !is_own(key));
    let entries = own.iter().chain(inherited).cloned();
    at(properties, TreeValue::Map(entries.collect()))
}

/// Whether an instance of the file starts from the launch template with this logical id.
pub(super) fn instances_start_from(template: &Template<'_>, id: &str) -> bool {
    let is_created = |resource: &Tree| {
        let holds = resource.get("Condition").map(|name| template.condition(name));
        !matches!(holds, Some(Ok(false)))
    };
    let mut resources = template.resources().iter().map(|(_, resource)| resource);
    resources.any(|resource| {
        let properties = resource
            .get("Properties")
            .filter(|_| is_of_type(resource, INSTANCE));
        let used = properties.and_then(|properties| launch_template(template, properties));
        used.is_some_and(|(used, _)| used == id) && is_created(resource)
    })
}

/// The launch template of the file from which an instance starts, with its logical id.
fn launch_template<'a>(template: &Template<'a>, properties: &Tree) -> Option<(&'a str, &'a Tree)> {
    let used = used_template(template, properties)?;
    let has_name = |resource: &Tree| {
        let name = resource.at(&["Properties", "LaunchTemplateName"]);
        name.and_then(|name| template.text_of(name).ok()).as_ref() == Some(&used)
    };
    let mut templates = template
        .resources()
        .iter()
        .filter(|(_, resource)| is_of_type(resource, LAUNCH_TEMPLATE));
    let (id, resource) = templates.find(|(id, resource)| *id == used || has_name(resource))?;
    Some((id.as_str(), resource))
}

fn is_of_type(resource: &Tree, kind: &str) -> bool {
    resource.text_at(&["Type"]).as_deref() == Some(kind)
}
