//! The launch templates of the file, and those outside of it.

use super::template::{Template, invalid};
use crate::error::ImportError;
use crate::tree::{Tree, TreeValue};

const LAUNCH_TEMPLATE: &str = "AWS::EC2::LaunchTemplate";
/// What groups start instances from, each with the property that has its name.
const KINDS: [(&str, &str); 2] = [
    (LAUNCH_TEMPLATE, "LaunchTemplateName"),
    ("AWS::AutoScaling::LaunchConfiguration", CONFIGURATION_NAME),
];
const CONFIGURATION_NAME: &str = "LaunchConfigurationName";
/// Stacks inside of a stack, each with the property that says where its template is.
const NESTED_STACKS: [(&str, &str); 2] = [
    ("AWS::CloudFormation::Stack", "TemplateURL"),
    ("AWS::Serverless::Application", "Location"),
];
/// Where a group names its launch template or launch configuration.
const NAMES: &[&[&str]] = &[
    &["LaunchTemplate", "Id"],
    &["LaunchTemplate", "Name"],
    &["LaunchTemplate", "LaunchTemplateId"],
    &["LaunchTemplate", "LaunchTemplateName"],
    &[
        "MixedInstancesPolicy",
        "LaunchTemplate",
        "LaunchTemplateSpecification",
        "LaunchTemplateId",
    ],
    &[
        "MixedInstancesPolicy",
        "LaunchTemplate",
        "LaunchTemplateSpecification",
        "LaunchTemplateName",
    ],
    // Of an item of a fleet.
    &["LaunchTemplateSpecification", "LaunchTemplateId"],
    &["LaunchTemplateSpecification", "LaunchTemplateName"],
    &[CONFIGURATION_NAME],
];
/// Prints the user data of a launch template.
const DESCRIBE: &str = "give the output of `aws ec2 describe-launch-template-versions`";

/// The launch template or launch configuration of a group or of an instance: the logical id that it refers to, else the
/// id or name as text. `None`: it has none.
///
/// # Errors
/// Only CloudFormation knows which one it is.
pub(super) fn used_template(
    template: &Template<'_>,
    properties: &Tree,
) -> Result<Option<String>, ImportError> {
    let Some(field) = name_field(template, properties)? else {
        return Ok(None);
    };
    if let Some(id) = logical_id(field)
        && let Some(resource) = template.resource(&id)
    {
        if is_launchable(resource) {
            return Ok(Some(id));
        }
        if field.get("Ref").is_some() && !template.set.contains_key(&id) {
            return Err(invalid(
                field,
                format!("CloudFormation knows `{id}` when it has created the resource"),
                format!("give its value: `--set {id}=VALUE`"),
            ));
        }
    }
    let used = match template.text_of(field) {
        Ok(used) => id_of(template, field, used),
        Err(error) => id_of_equal_name(template, field).ok_or(error)?,
    };
    Ok(Some(used).filter(|used| !used.is_empty()))
}

/// The launch template of the file from which an instance, a group or a fleet starts, with its logical id.
pub(super) fn launch_template<'a>(template: &Template<'a>, properties: &Tree) -> Option<(&'a str, &'a Tree)> {
    let used = used_template(template, properties).ok()??;
    let mut templates = launchable(template).filter(|(_, resource)| is_of_type(resource, LAUNCH_TEMPLATE));
    templates.find(|(id, resource)| *id == used || name(template, resource).as_ref() == Some(&used))
}

/// The error for an instance or a group that starts from a launch template outside of the file. `owner`: such as
/// `the instance`.
pub(super) fn outside(template: &Template<'_>, properties: &Tree, owner: &str) -> Option<ImportError> {
    let line = properties.line();
    let owner = owner.to_owned();
    let used = match used_template(template, properties) {
        Ok(used) => used?,
        Err(error) => {
            let (place, hint) = elsewhere(template, properties, &error);
            return Some(ImportError::UserDataElsewhere {
                line,
                owner,
                place,
                hint,
            });
        }
    };
    if may_be_own(template, &used) {
        return None;
    }
    let of_configuration = value_at(template, properties, &[CONFIGURATION_NAME]);
    Some(match of_configuration {
        Ok(Some(_)) => ImportError::in_launch_configuration(line, owner, &used),
        Ok(None) | Err(_) => ImportError::InLaunchTemplate {
            line,
            owner,
            template: used,
        },
    })
}

/// What has the user data of a launch template that only CloudFormation knows, and what to do next.
fn elsewhere(template: &Template<'_>, properties: &Tree, error: &ImportError) -> (String, String) {
    let Some((stack, file)) = nested_stack(template, properties) else {
        return (
            format!(
                "a launch template that the file does not name: {}",
                error.problem()
            ),
            format!("try the template that defines it, or {}", error.hint()),
        );
    };
    let file = file.map(|file| format!(", `{file}`")).unwrap_or_default();
    (
        format!("a launch template of the nested stack `{stack}`"),
        format!("try the template of that stack{file}, or {DESCRIBE}"),
    )
}

/// The nested stack that returns the launch template, and where its template is.
fn nested_stack(template: &Template<'_>, properties: &Tree) -> Option<(String, Option<String>)> {
    let field = name_field(template, properties).ok()??;
    let stack = logical_id(field)?;
    let resource = template.resource(&stack)?;
    let (_, key) = NESTED_STACKS
        .iter()
        .find(|(kind, _)| is_of_type(resource, kind))?;
    // The CDK names the file beside the URL to which it uploads it.
    let of_cdk = resource.text_at(&["Metadata", "aws:asset:path"]);
    let stated = || {
        template
            .text_of(resource.at(&["Properties", *key])?)
            .ok()
            .filter(|url| !url.is_empty())
    };
    Some((stack, of_cdk.or_else(stated)))
}

/// Whether the file can define the launch template or launch configuration with this logical id, id or name. What
/// another resource returns is not the name, and an unknown name can be the one that is used.
fn may_be_own(template: &Template<'_>, used: &str) -> bool {
    template.resource(used).is_some()
        || launchable(template).any(|(_, resource)| {
            let known = name(template, resource);
            let is_unknown = known.is_none() && name_tree(resource).is_some();
            is_unknown || known.as_deref() == Some(used)
        })
}

/// The value by which a group or an instance names its launch template or launch configuration.
fn name_field<'t>(template: &Template<'_>, properties: &'t Tree) -> Result<Option<&'t Tree>, ImportError> {
    for path in NAMES {
        if let Some(field) = value_at(template, properties, path)? {
            return Ok(Some(field));
        }
    }
    Ok(None)
}

/// The value at a path of keys; of each `Fn::If` on it, the value counts that its condition chooses.
fn value_at<'t>(
    template: &Template<'_>,
    properties: &'t Tree,
    path: &[&str],
) -> Result<Option<&'t Tree>, ImportError> {
    let mut value = chosen(template, properties)?;
    for key in path {
        let Some(next) = value.get(key) else {
            return Ok(None);
        };
        value = chosen(template, next)?;
    }
    let is_no_value = value.text_at(&["Ref"]).as_deref() == Some("AWS::NoValue");
    Ok(Some(value).filter(|value| !is_no_value && !value.is_null()))
}

fn chosen<'t>(template: &Template<'_>, value: &'t Tree) -> Result<&'t Tree, ImportError> {
    let mut value = value;
    while let Some([condition, yes, no]) = value.get("Fn::If").map(Tree::items) {
        value = if template.condition(condition)? { yes } else { no };
    }
    Ok(value)
}

/// The logical id in `Ref` or `Fn::GetAtt`.
fn logical_id(field: &Tree) -> Option<String> {
    field
        .text_at(&["Ref"])
        .or_else(|| field.text_at(&["Fn::GetAtt", "0"]))
        .or_else(|| Some(field.get("Fn::GetAtt")?.text()?.split_once('.')?.0.to_owned()))
}

/// The logical id of the launch template that a function such as `Fn::Sub` returns, else the text itself.
fn id_of(template: &Template<'_>, field: &Tree, used: String) -> String {
    let returned = |id: &str| {
        let reference = vec![("Ref".to_owned(), field.replaced_by_text(id))];
        template.text_of(&field.replaced(TreeValue::Map(reference))).ok()
    };
    let mut templates = launchable(template);
    let found = templates.find(|(id, _)| returned(id).as_ref() == Some(&used));
    found.map(|(id, _)| id.to_owned()).unwrap_or(used)
}

/// The logical id of the launch template whose name is the result of the same function: a value that both lack does not
/// matter.
fn id_of_equal_name(template: &Template<'_>, field: &Tree) -> Option<String> {
    let field = field.without_lines();
    let is_equal = |resource: &Tree| name_tree(resource).map(Tree::without_lines).as_ref() == Some(&field);
    let found = launchable(template).find(|(_, resource)| is_equal(resource));
    found.map(|(id, _)| id.to_owned())
}

/// The launch templates and launch configurations of the file.
fn launchable<'a>(template: &Template<'a>) -> impl Iterator<Item = (&'a str, &'a Tree)> {
    let resources = template.resources().iter();
    resources
        .filter(|(_, resource)| is_launchable(resource))
        .map(|(id, resource)| (id.as_str(), resource))
}

fn is_launchable(resource: &Tree) -> bool {
    KINDS.iter().any(|(kind, _)| is_of_type(resource, kind))
}

/// The name of a launch template or of a launch configuration.
fn name(template: &Template<'_>, resource: &Tree) -> Option<String> {
    template.text_of(name_tree(resource)?).ok()
}

fn name_tree(resource: &Tree) -> Option<&Tree> {
    let (_, key) = KINDS.iter().find(|(kind, _)| is_of_type(resource, kind))?;
    resource.at(&["Properties", *key])
}

pub(super) fn is_of_type(resource: &Tree, kind: &str) -> bool {
    resource.text_at(&["Type"]).as_deref() == Some(kind)
}
