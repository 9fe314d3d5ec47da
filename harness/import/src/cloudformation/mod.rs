//! CloudFormation templates, which `cdk synth` writes, too.
//!
//! | file | content |
//! | --- | --- |
//! | `template.rs` | a template with the values of its parameters |
//! | `evaluate.rs` | evaluates functions |
//! | `missing.rs` | values that the template does not state |
//! | `substitute.rs` | `Fn::Sub`, and dynamic references |
//! | `reference.rs` | what `Ref` and `Fn::GetAtt` return |
//! | `condition.rs` | `Fn::If` and conditions |
//! | `place.rs` | region and account of a stack |
//! | `machines.rs` | the machines of a template |
//! | `groups.rs` | node groups and Auto Scaling groups of a launch template |
//! | `stack.rs` | the stack that `cfn-init` on a machine reads |
//! | `folder.rs` | a folder of `cdk synth` |

mod condition;
mod evaluate;
mod folder;
mod groups;
mod machines;
mod missing;
mod place;
mod reference;
mod stack;
mod substitute;
mod template;

use crate::error::ImportError;
use crate::input::Import;
use crate::machine::{FileFormat, Imported};
use crate::reading::Reading;
use crate::tree::Tree;
use template::Template;

pub(crate) use folder::read_folder;

const NOTHING: &str = "no resource of it starts machines with user data";
const NOTHING_HINT: &str = "give the template of `AWS::EC2::LaunchTemplate`, `AWS::AutoScaling::LaunchConfiguration`, \
                            `AWS::EC2::Instance` or `AWS::EKS::Nodegroup`; each nested stack is a template of its own";

/// Whether a document is a template.
pub(crate) fn is_template(document: &Tree) -> bool {
    let resources = document.get("Resources").map(Tree::entries).unwrap_or_default();
    let is_of_aws = |resource: &Tree| {
        resource
            .text_at(&["Type"])
            .is_some_and(|kind| kind.starts_with("AWS::") || kind.starts_with("Custom::"))
    };
    let has_loop = resources.iter().any(|(id, _)| id.starts_with("Fn::ForEach"));
    document.get("AWSTemplateFormatVersion").is_some()
        || has_loop
        || resources.iter().any(|(_, resource)| is_of_aws(resource))
}

/// Reads a template.
pub(crate) fn read(input: &Import<'_>, document: &Tree) -> Result<Imported, ImportError> {
    let mut reading = Reading::of(FileFormat::CloudFormation);
    machines::add(&Template::of(input, document), "", &mut reading);
    reading.finish(NOTHING, NOTHING_HINT)
}
