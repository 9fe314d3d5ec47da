//! CloudFormation templates, which `cdk synth` writes, too.
//!
//! | file | content |
//! | --- | --- |
//! | `template.rs` | a template with the values of its parameters |
//! | `evaluate.rs` | evaluates functions |
//! | `missing.rs` | values that the template does not state |
//! | `substitute.rs` | `Fn::Sub`, and dynamic references |
//! | `unbraced_names.rs` | names that `Fn::Sub` does not fill in |
//! | `attributes.rs` | attributes that resources do not have |
//! | `reference.rs` | what `Ref` and `Fn::GetAtt` return |
//! | `condition.rs` | `Fn::If` and conditions |
//! | `place.rs` | region and account of a stack |
//! | `machines.rs` | the machines of a template |
//! | `properties.rs` | user data and traits of a machine by its properties |
//! | `role.rs` | the role of an instance profile |
//! | `instances.rs` | instances and fleets, also those of a launch template |
//! | `launch_templates.rs` | launch templates of the file, and those outside of it |
//! | `groups.rs` | node groups and Auto Scaling groups of a launch template |
//! | `access.rs` | who may use the cluster of a machine |
//! | `stack.rs` | the stack that `cfn-init` on a machine reads |
//! | `exports.rs` | what the stacks of a folder of `cdk synth` export |
//! | `other_stacks.rs` | the cluster of another stack |
//! | `folder.rs` | such a folder |
//! | `assets.rs` | files of such a folder that user data downloads |
//! | `repeated_keys.rs` | keys that appear twice in a mapping |

mod access;
mod assets;
mod attributes;
mod condition;
mod evaluate;
mod exports;
mod folder;
mod groups;
mod instances;
mod launch_templates;
mod machines;
mod missing;
mod other_stacks;
mod place;
mod properties;
mod reference;
mod repeated_keys;
mod role;
mod stack;
mod substitute;
mod template;
mod unbraced_names;

use crate::error::ImportError;
use crate::input::Import;
use crate::machine::{FileFormat, Imported};
use crate::reading::Reading;
use crate::tree::Tree;
use machines::{NOTHING, NOTHING_HINT};
use template::Template;

pub(crate) use folder::read_folder;
pub(crate) use repeated_keys::documents;
pub(crate) use template::is_template;

/// Reads a template.
pub(crate) fn read(input: &Import<'_>, document: &Tree) -> Result<Imported, ImportError> {
    let mut reading = Reading::of(FileFormat::CloudFormation);
    machines::add(&Template::of(input, document), "", &mut reading);
    reading.finish(NOTHING, NOTHING_HINT)
}
