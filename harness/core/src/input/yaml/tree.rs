//! A YAML document as a tree with the position of every key and value.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_yaml::options::DuplicateKeyPolicy;
use serde_yaml::{Location, Spanned};

use crate::input::problem::Position;

/// A value and its position.
#[derive(Debug, Clone, PartialEq)]
pub struct YamlTree {
    pub position: Position,
    pub value: YamlValue,
}

/// A YAML value.
#[derive(Debug, Clone, PartialEq)]
pub enum YamlValue {
    /// An empty value, `~` or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(serde_json::Number),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<YamlTree>),
    /// A mapping, in the order of the file.
    Map(Vec<YamlEntry>),
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct YamlEntry {
    /// Position of the key.
    pub position: Position,
    pub key: String,
    pub tree: YamlTree,
}

/// Invalid YAML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct YamlError {
    pub position: Position,
    /// Message of the parser.
    pub message: String,
}

/// Limit of values, with those that aliases repeat. Real files stay far below; a bomb exceeds it at once.
const MAX_NODES: usize = 50_000;

/// Reads one YAML document.
///
/// # Errors
/// The text is not YAML, has several documents, or contains a duplicate key.
pub fn parse(text: &str) -> Result<YamlTree, YamlError> {
    parse_with(text, DuplicateKeyPolicy::Error, false)
}

/// A key of a mapping that a later equal one replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedKey {
    pub key: String,
    pub position: Position,
}

/// Reads one YAML document as PyYAML does: of several equal keys, the last one counts. The base64 of `!!binary` stays
/// as written, because such a value need not be text.
///
/// # Errors
/// The text is not YAML, or has several documents.
pub fn parse_last_wins(text: &str) -> Result<(YamlTree, Vec<ReplacedKey>), YamlError> {
    let mut tree = parse_with(text, DuplicateKeyPolicy::LastWins, true)?;
    let mut replaced = Vec::new();
    tree.keep_last_keys(&mut replaced);
    Ok((tree, replaced))
}

fn parse_with(
    text: &str,
    duplicate_keys: DuplicateKeyPolicy,
    keeps_base64: bool,
) -> Result<YamlTree, YamlError> {
    let options = serde_yaml::options! {
        budget: serde_yaml::budget! { max_nodes: MAX_NODES },
        duplicate_keys: duplicate_keys,
        ignore_binary_tag_for_string: keeps_base64,
    };
    let read = serde_yaml::from_str_with_options::<Spanned<Raw>>(text, options);
    let spanned = read.map_err(|error| YamlError {
        position: error.location().map(position).unwrap_or_default(),
        message: message(&error),
    })?;
    Ok(tree(spanned))
}

impl YamlTree {
    /// The value of a key of this mapping.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&YamlTree> {
        self.entry(key).map(|entry| &entry.tree)
    }

    /// A key of this mapping with its value.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&YamlEntry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The entries of this mapping; empty for other values.
    #[must_use]
    pub fn entries(&self) -> &[YamlEntry] {
        match &self.value {
            YamlValue::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Removes all but the last of equal keys, also in the values.
    fn keep_last_keys(&mut self, replaced: &mut Vec<ReplacedKey>) {
        match &mut self.value {
            YamlValue::Map(entries) => {
                let last: BTreeMap<String, Position> = entries
                    .iter()
                    .map(|entry| (entry.key.clone(), entry.position))
                    .collect();
                entries.retain(|entry| {
                    let by = last.get(&entry.key).filter(|last| **last != entry.position);
                    replaced.extend(by.map(|_| ReplacedKey {
                        key: entry.key.clone(),
                        position: entry.position,
                    }));
                    by.is_none()
                });
                for entry in entries {
                    entry.tree.keep_last_keys(replaced);
                }
            }
            YamlValue::List(items) => {
                for item in items {
                    item.keep_last_keys(replaced);
                }
            }
            YamlValue::Null | YamlValue::Bool(_) | YamlValue::Number(_) | YamlValue::Text(_) => {}
        }
    }

    /// Removes entries of this mapping.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&str) -> bool) {
        if let YamlValue::Map(entries) = &mut self.value {
            entries.retain(|entry| is_kept(&entry.key));
        }
    }

    /// Position of a key path such as `faults[0].effect`, or of its nearest existing parent.
    #[must_use]
    pub fn position_of(&self, path: &[PathStep<'_>]) -> Position {
        let mut here = self;
        let mut position = self.position;
        for step in path {
            let next = match step {
                PathStep::Key(key) => here.entry(key).map(|entry| (entry.tree.position, &entry.tree)),
                PathStep::Index(index) => match &here.value {
                    YamlValue::List(items) => items.get(*index).map(|item| (item.position, item)),
                    _ => None,
                },
            };
            let Some((found, tree)) = next else {
                return position;
            };
            position = found;
            here = tree;
        }
        position
    }

    /// The value without positions.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            YamlValue::Null => serde_json::Value::Null,
            YamlValue::Bool(value) => (*value).into(),
            YamlValue::Number(value) => value.clone().into(),
            YamlValue::Text(value) => value.clone().into(),
            YamlValue::List(items) => items.iter().map(YamlTree::to_json).collect(),
            YamlValue::Map(entries) => entries
                .iter()
                .map(|entry| (entry.key.clone(), entry.tree.to_json()))
                .collect(),
        }
    }

    /// Name of the type, for error messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.value {
            YamlValue::Null => "nothing",
            YamlValue::Bool(_) => "true or false",
            YamlValue::Number(_) => "a number",
            YamlValue::Text(_) => "text",
            YamlValue::List(_) => "a list",
            YamlValue::Map(_) => "a mapping",
        }
    }
}

/// A step of a key path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStep<'a> {
    /// A key of a mapping.
    Key(&'a str),
    /// An index of a list.
    Index(usize),
}

fn tree(spanned: Spanned<Raw>) -> YamlTree {
    let value = match spanned.value {
        Raw::Null => YamlValue::Null,
        Raw::Bool(value) => YamlValue::Bool(value),
        Raw::Number(value) => YamlValue::Number(value),
        Raw::Text(value) => YamlValue::Text(value),
        Raw::List(items) => YamlValue::List(items.into_iter().map(tree).collect()),
        Raw::Map(entries) => YamlValue::Map(entries.into_iter().map(entry).collect()),
    };
    YamlTree {
        position: position(spanned.referenced),
        value,
    }
}

fn entry((key, value): (Spanned<String>, Spanned<Raw>)) -> YamlEntry {
    YamlEntry {
        position: position(key.referenced),
        key: key.value,
        tree: tree(value),
    }
}

fn position(location: Location) -> Position {
    Position {
        line: location.line(),
        column: location.column(),
    }
}

/// Message of the parser, without the position that it repeats.
fn message(error: &serde_yaml::Error) -> String {
    if matches!(
        error.without_snippet(),
        serde_yaml::Error::MultipleDocuments { .. }
    ) {
        return "a second document starts here".to_owned();
    }
    if let serde_yaml::Error::DuplicateMappingKey { key, .. } = error.without_snippet() {
        let key = key.as_deref().unwrap_or_default();
        return format!("the key `{key}` is given twice");
    }
    if let serde_yaml::Error::Budget { .. } = error.without_snippet() {
        return "the document is too large, or its aliases repeat too much of it".to_owned();
    }
    let text = error.without_snippet().to_string();
    let line = text.lines().next().unwrap_or_default();
    line.rsplit_once(" at line ")
        .map_or(line, |(message, _)| message)
        .to_owned()
}

/// A value from the parser.
enum Raw {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Raw, E> {
        serde_json::Number::from_f64(value)
            .map(Raw::Number)
            .ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_position() {
        let tree =
            parse("a: 1\nb:\n  - x\n  - { c: true, \"1\": ~ }\nd: |\n  text\ne: 0644\nf: .5\n").unwrap();
        let position = |path: &[PathStep<'_>]| {
            let position = tree.position_of(path);
            (position.line, position.column)
        };
        assert_eq!(position(&[PathStep::Key("a")]), (1, 4));
        assert_eq!(position(&[PathStep::Key("b"), PathStep::Index(0)]), (3, 5));
        assert_eq!(
            position(&[PathStep::Key("b"), PathStep::Index(1), PathStep::Key("c")]),
            (4, 10)
        );
        assert_eq!(
            position(&[PathStep::Key("b"), PathStep::Index(1), PathStep::Key("absent")]),
            (4, 5)
        );
        assert_eq!(tree.entry("b").unwrap().position, Position { line: 2, column: 1 });
        assert_eq!(
            tree.to_json(),
            serde_json::json!({"a": 1, "b": ["x", {"c": true, "1": null}], "d": "text\n", "e": 644.0, "f": 0.5})
        );
    }

    #[test]
    fn the_last_of_equal_keys_counts() {
        let text = "a: 1\nb: { c: 1, c: 2 }\na: 3\nd: &d { e: 1 }\nf: { <<: *d, e: 2 }\ng: [*d, *d]\n";
        let (tree, replaced) = parse_last_wins(text).unwrap();
        assert_eq!(
            tree.to_json(),
            serde_json::json!({"a": 3, "b": {"c": 2}, "d": {"e": 1}, "f": {"e": 2}, "g": [{"e": 1}, {"e": 1}]})
        );
        let keys: Vec<(&str, u64)> = replaced
            .iter()
            .map(|one| (one.key.as_str(), one.position.line))
            .collect();
        assert_eq!(keys, [("a", 1), ("c", 2)]);
    }

    #[test]
    fn invalid_yaml_is_rejected_with_its_position() {
        for (text, line) in [
            ("a: [1\nb: 2\n", 2),
            ("a: 1\na: 2\n", 2),
            ("a: 1\n---\nb: 2\n", 3),
            ("a: b: c\n", 1),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.position.line, line, "{text:?}: {error}");
            assert!(!error.message.contains('\n'));
        }
    }
}
