//! The launch templates of the file, and those outside of it.

use super::groups::used_template;
use super::template::Template;
use crate::tree::Tree;

const LAUNCH_TEMPLATE: &str = "AWS::EC2::LaunchTemplate";

/// The launch template of the file from which an instance, a group or a fleet starts, with its logical id.
pub(super) fn launch_template<'a>(template: &Template<'a>, properties: &Tree) -> Option<(&'a str, &'a Tree)> {
    let used = used_template(template, properties)?;
    let has_name = |resource: &Tree| name(template, resource).as_ref() == Some(&used);
    let mut templates = all(template);
    templates.find(|(id, resource)| *id == used || has_name(resource))
}

/// The id or name of the launch template from which an instance or a group starts, if the file does not define it.
pub(super) fn outside(template: &Template<'_>, properties: &Tree) -> Option<String> {
    let used = used_template(template, properties).filter(|used| !used.is_empty())?;
    // What another resource returns is not the name, and an unknown name can be the one that is used.
    let is_resource = template.resource(&used).is_some();
    let has_unknown_name = |resource: &Tree| {
        let stated = resource.at(&["Properties", "LaunchTemplateName"]);
        stated.is_some() && name(template, resource).is_none()
    };
    let may_be_own = is_resource || all(template).any(|(_, resource)| has_unknown_name(resource));
    (!may_be_own && launch_template(template, properties).is_none()).then_some(used)
}

fn all<'a>(template: &Template<'a>) -> impl Iterator<Item = (&'a str, &'a Tree)> {
    let resources = template.resources().iter();
    resources
        .filter(|(_, resource)| is_of_type(resource, LAUNCH_TEMPLATE))
        .map(|(id, resource)| (id.as_str(), resource))
}

fn name(template: &Template<'_>, resource: &Tree) -> Option<String> {
    let name = resource.at(&["Properties", "LaunchTemplateName"])?;
    template.text_of(name).ok()
}

pub(super) fn is_of_type(resource: &Tree, kind: &str) -> bool {
    resource.text_at(&["Type"]).as_deref() == Some(kind)
}
