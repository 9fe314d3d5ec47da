//! Reads a YAML file into a type. Each problem points at its line and column.

use std::path::Path;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::input::files::Files;
use crate::input::problem::{Position, Problem, ScenarioError};
use crate::input::schema::known_schema_of;
use crate::input::yaml::{self, YamlTree};

/// A parsed file.
pub(crate) struct Document<T> {
    /// Path of the file, as the user gave it.
    pub(crate) name: String,
    /// The parsed value.
    pub(crate) value: T,
    /// The positions of all values.
    pub(crate) tree: YamlTree,
    /// The text of the file.
    pub(crate) text: String,
}

/// Reads a file. `kind` is its description with an article, such as `an overlay manifest`.
///
/// # Errors
/// All problems of the file: unreadable, invalid YAML, unknown keys, values of another type.
pub(crate) fn read<T: DeserializeOwned + JsonSchema + 'static>(
    path: &Path,
    kind: &'static str,
    files: &dyn Files,
) -> Result<Document<T>, ScenarioError> {
    read_by(path, kind, &known_schema_of::<T>(), files)
}

/// Reads a file that matches the given schema.
pub(crate) fn read_by<T: DeserializeOwned>(
    path: &Path,
    kind: &'static str,
    schema: &Value,
    files: &dyn Files,
) -> Result<Document<T>, ScenarioError> {
    let read = parsed(path, kind, schema, files)?;
    with_value(read, kind, schema)
}

/// Reads the tree of a file that matches the given schema.
pub(crate) fn parsed(
    path: &Path,
    kind: &'static str,
    schema: &Value,
    files: &dyn Files,
) -> Result<Document<YamlTree>, ScenarioError> {
    let name = path.display().to_string();
    let problem = |position, what: &str, why: String| problem_of_file(&name, kind, position, what, why);
    let bytes = files
        .read(path)
        .map_err(|error| problem(Position::default(), "cannot read", error.to_string()))?;
    let text = String::from_utf8(bytes)
        .map_err(|error| problem(Position::default(), "invalid UTF-8 in", error.to_string()))?;
    tree_of_text(name, text, kind, schema)
}

/// Parses a text that matches the given schema.
///
/// # Errors
/// All problems of the text.
pub(crate) fn of_text<T: DeserializeOwned>(
    name: String,
    text: String,
    kind: &'static str,
    schema: &Value,
) -> Result<Document<T>, ScenarioError> {
    with_value(tree_of_text(name, text, kind, schema)?, kind, schema)
}

/// Reads a tree that matches the given schema into a type.
pub(crate) fn value_of<T: DeserializeOwned>(
    name: &str,
    kind: &'static str,
    schema: &Value,
    tree: &YamlTree,
) -> Result<T, ScenarioError> {
    let problems = yaml::check(name, schema, tree);
    if !problems.is_empty() {
        return Err(ScenarioError { problems });
    }
    serde_json::from_value(tree.to_json())
        .map_err(|error| problem_of_file(name, kind, tree.position, "invalid", error.to_string()))
}

fn with_value<T: DeserializeOwned>(
    read: Document<YamlTree>,
    kind: &'static str,
    schema: &Value,
) -> Result<Document<T>, ScenarioError> {
    Ok(Document {
        value: value_of(&read.name, kind, schema, &read.value)?,
        name: read.name,
        tree: read.value,
        text: read.text,
    })
}

fn tree_of_text(
    name: String,
    text: String,
    kind: &'static str,
    schema: &Value,
) -> Result<Document<YamlTree>, ScenarioError> {
    let mut tree = yaml::parse(&text)
        .map_err(|error| problem_of_file(&name, kind, error.position, "invalid YAML in", error.message))?;
    tree.retain(|key| !is_skipped(schema, key));
    let problems = yaml::check(&name, schema, &tree);
    if !problems.is_empty() {
        return Err(ScenarioError { problems });
    }
    Ok(Document {
        value: tree.clone(),
        name,
        tree,
        text,
    })
}

/// Whether the schema allows the key with any value, which nothing reads: a place for YAML anchors.
fn is_skipped(schema: &Value, key: &str) -> bool {
    let patterns = schema.get("patternProperties").and_then(Value::as_object);
    let mut patterns = patterns.into_iter().flat_map(|patterns| patterns.keys());
    patterns.any(|pattern| key.starts_with(pattern.trim_start_matches('^')))
}

/// A problem of a file as a whole. `kind` has an article, which the message omits.
fn problem_of_file(file: &str, kind: &str, position: Position, what: &str, why: String) -> ScenarioError {
    let kind = kind.split_once(' ').map_or(kind, |(_, noun)| noun);
    ScenarioError {
        problems: vec![Problem {
            file: file.to_owned(),
            position,
            key: String::new(),
            what: format!("{what} {kind}"),
            why,
            hint: None,
        }],
    }
}
