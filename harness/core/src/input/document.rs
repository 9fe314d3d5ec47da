//! Reads a YAML file of the user's into a type of ours: every fault at its own line and column.

use std::path::Path;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::input::files::Files;
use crate::input::problem::{Position, Problem, ScenarioError};
use crate::input::schema::schema_of;
use crate::input::yaml::{self, Tree};

/// A file that was read.
pub(crate) struct Document<T> {
    /// The file, as the user gave it.
    pub(crate) name: String,
    /// What it says.
    pub(crate) value: T,
    /// Where it says what.
    pub(crate) tree: Tree,
    /// The file itself.
    pub(crate) text: String,
}

/// Reads a file of this kind, such as `an overlay manifest`.
///
/// # Errors
/// Everything that is wrong with it: it cannot be read, is no YAML, has unknown keys or values of another type.
pub(crate) fn read<T: DeserializeOwned + JsonSchema>(
    path: &Path,
    kind: &'static str,
    files: &dyn Files,
) -> Result<Document<T>, ScenarioError> {
    read_by(path, kind, &schema_of::<T>(), files)
}

/// The same, with a schema of the caller's.
pub(crate) fn read_by<T: DeserializeOwned>(
    path: &Path,
    kind: &'static str,
    schema: &Value,
    files: &dyn Files,
) -> Result<Document<T>, ScenarioError> {
    let name = path.display().to_string();
    let fault = |place, what: &str, why: String| whole(&name, kind, place, what, why);
    let bytes = files
        .read(path)
        .map_err(|error| fault(Position::default(), "it cannot be read", error.to_string()))?;
    let text = String::from_utf8(bytes)
        .map_err(|error| fault(Position::default(), "it is not UTF-8", error.to_string()))?;
    of_text(name, text, kind, schema)
}

/// The same of a text that is here already.
///
/// # Errors
/// As [`read`].
pub(crate) fn of_text<T: DeserializeOwned>(
    name: String,
    text: String,
    kind: &'static str,
    schema: &Value,
) -> Result<Document<T>, ScenarioError> {
    let fault = |place, what: &str, why: String| whole(&name, kind, place, what, why);
    let tree = yaml::parse(&text).map_err(|error| fault(error.place, "it is not YAML", error.message))?;
    let problems = yaml::check(&name, schema, &tree);
    if !problems.is_empty() {
        return Err(ScenarioError { problems });
    }
    let value = serde_json::from_value(tree.to_json())
        .map_err(|error| fault(tree.place, &format!("it is not {kind}"), error.to_string()))?;
    Ok(Document {
        name,
        value,
        tree,
        text,
    })
}

/// A problem with a file as a whole. `kind` comes with its article, which the message leaves out.
fn whole(file: &str, kind: &str, place: Position, what: &str, why: String) -> ScenarioError {
    let kind = kind.split_once(' ').map_or(kind, |(_, noun)| noun);
    ScenarioError {
        problems: vec![Problem {
            file: file.to_owned(),
            place,
            key: String::new(),
            what: format!("{kind}: {what}"),
            why,
            hint: None,
        }],
    }
}
