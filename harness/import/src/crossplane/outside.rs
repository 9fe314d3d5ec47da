//! Groups whose launch template or launch configuration is not in the file.

use crate::error::ImportError;
use crate::tree::Tree;

/// The groups that start instances from others, each with its name in messages.
const GROUPS: [(&str, &str); 2] = [
    ("aws_eks_node_group", "node group"),
    ("aws_autoscaling_group", "Auto Scaling group"),
];
/// Where the resource of a group has references, which stay there if they mean none of the file: the path, the field,
/// and the kind of manifest.
const REFERENCES: [(&str, &str, &str); 3] = [
    ("launch_template 0", "id", LAUNCH_TEMPLATE),
    (
        "mixed_instances_policy 0 launch_template 0 launch_template_specification 0",
        "launch_template_id",
        LAUNCH_TEMPLATE,
    ),
    ("", "launch_configuration", "LaunchConfiguration"),
];
const LAUNCH_TEMPLATE: &str = "LaunchTemplate";

/// The error for a group that refers to a launch template or a launch configuration outside of the file.
pub(super) fn outside((address, kind, values): &(String, String, Tree)) -> Option<ImportError> {
    let (_, what) = GROUPS.iter().find(|(group, _)| group == kind)?;
    let (source, place) = REFERENCES.iter().find_map(|(path, field, source)| {
        let path: Vec<&str> = path.split_whitespace().collect();
        let block = values.at(&path)?;
        Some((*source, place(block, field, source)?))
    })?;
    let command = match source {
        LAUNCH_TEMPLATE => "aws ec2 describe-launch-template-versions",
        _ => "aws autoscaling describe-launch-configurations",
    };
    Some(ImportError::UserDataElsewhere {
        line: values.line(),
        owner: format!("{what} `{address}`"),
        place,
        hint: format!("give both manifests in one file, or the output of `{command}`"),
    })
}

/// What a reference that means none of the file names.
fn place(block: &Tree, field: &str, source: &str) -> Option<String> {
    let reference = format!("{field}_ref");
    if let Some(name) = block.text_at(&[reference.as_str(), "0", "name"]) {
        return Some(format!("the {source} `{name}`, which the file does not have"));
    }
    block.get(&format!("{field}_selector"))?;
    Some(format!(
        "the {source} that its selector selects: none of the file, or several of it"
    ))
}
