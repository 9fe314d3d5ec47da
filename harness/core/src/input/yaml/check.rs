//! Checks a YAML tree against a JSON schema. Unlike a general validator, it reports each problem at its position, and
//! suggests the nearest key or value.
//!
//! Supports only the keywords that `schemars` generates for our types: `$ref`, `type`, `properties`,
//! `additionalProperties`, `required`, `items`, `const`, `minimum`, `maximum`, `format`, `anyOf` and `oneOf`.

use serde_json::Value as Json;

use super::tree::{YamlEntry, YamlTree, YamlValue};
use crate::input::formats;
use crate::input::problem::{Position, Problem};
use crate::vocabulary::nearest::nearest;

/// All problems of `tree`, in the order of the file.
#[must_use]
pub fn check(file: &str, schema: &Json, tree: &YamlTree) -> Vec<Problem> {
    let mut checker = Checker {
        file,
        root: schema,
        problems: Vec::new(),
    };
    checker.value(schema, tree, "");
    checker.problems.sort_by_key(|problem| problem.position);
    checker.problems
}

struct Checker<'a> {
    file: &'a str,
    root: &'a Json,
    problems: Vec<Problem>,
}

impl<'a> Checker<'a> {
    fn value(&mut self, schema: &'a Json, tree: &YamlTree, key: &str) {
        let schema = self.resolve(schema);
        if let Some(choices) = choices_of(schema) {
            return self.choice(choices, tree, key);
        }
        if let Some(expected) = schema.get("const") {
            return self.constants(&[expected], &[], tree, key);
        }
        let Some(expected) = schema.get("type").and_then(Json::as_str) else {
            return;
        };
        if !is_of_type(expected, tree) {
            return self.wrong_type(&[schema], tree, key);
        }
        match &tree.value {
            YamlValue::Map(entries) => self.mapping(schema, entries, tree.position, key),
            YamlValue::List(items) => self.list(schema, items, key),
            YamlValue::Number(number) => self.number(schema, number, tree.position, key),
            YamlValue::Text(text) => self.text(schema, text, tree.position, key),
            _ => {}
        }
    }

    fn resolve(&self, schema: &'a Json) -> &'a Json {
        let Some(reference) = schema.get("$ref").and_then(Json::as_str) else {
            return schema;
        };
        let pointer = reference.trim_start_matches('#');
        self.root
            .pointer(pointer)
            .map_or(schema, |found| self.resolve(found))
    }

    fn mapping(&mut self, schema: &'a Json, entries: &[YamlEntry], position: Position, key: &str) {
        let properties = schema.get("properties").and_then(Json::as_object);
        let known: Vec<&str> = properties
            .map(|map| map.keys().map(String::as_str).collect())
            .unwrap_or_default();
        let others = schema.get("additionalProperties");
        for entry in entries {
            let path = join(key, &entry.key);
            match (properties.and_then(|map| map.get(&entry.key)), others) {
                (Some(property), _) => self.value(property, &entry.tree, &path),
                (None, Some(Json::Bool(false))) => self.unknown_key(entry, &known, &path, key),
                (None, Some(other @ Json::Object(_))) => self.value(other, &entry.tree, &path),
                (None, _) => {}
            }
        }
        for required in schema
            .get("required")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
        {
            let Some(required) = required.as_str() else {
                continue;
            };
            if !entries.iter().any(|entry| entry.key == required) {
                let hint = Some(format!("add `{required}:`"));
                self.add(
                    position,
                    key,
                    format!("missing key `{required}`"),
                    String::new(),
                    hint,
                );
            }
        }
    }

    fn unknown_key(&mut self, entry: &YamlEntry, known: &[&str], path: &str, parent: &str) {
        let owner = if parent.is_empty() {
            "the file".to_owned()
        } else {
            format!("`{parent}`")
        };
        let why = format!("{owner} has no key `{}`", entry.key);
        let hint = meant(&entry.key, known, "keys");
        self.add(entry.position, path, "unknown key".to_owned(), why, Some(hint));
    }

    fn list(&mut self, schema: &'a Json, items: &[YamlTree], key: &str) {
        let Some(expected) = schema.get("items") else {
            return;
        };
        for (index, item) in items.iter().enumerate() {
            self.value(expected, item, &format!("{key}[{index}]"));
        }
    }

    fn number(&mut self, schema: &Json, number: &serde_json::Number, position: Position, key: &str) {
        let value = number.as_f64().unwrap_or_default();
        let highest = schema.get("maximum").and_then(Json::as_f64).or_else(|| {
            (schema.get("format").and_then(Json::as_str) == Some("uint32")).then_some(f64::from(u32::MAX))
        });
        let lowest = schema.get("minimum").and_then(Json::as_f64);
        if lowest.is_some_and(|lowest| value < lowest) {
            let why = format!("expected {} or more", lowest.unwrap_or_default());
            self.add(position, key, format!("{number} is too small"), why, None);
        } else if highest.is_some_and(|highest| value > highest) {
            let why = format!("expected {} or less", highest.unwrap_or_default());
            self.add(position, key, format!("{number} is too large"), why, None);
        }
    }

    fn text(&mut self, schema: &Json, text: &str, position: Position, key: &str) {
        let format = schema.get("format").and_then(Json::as_str);
        if let Some(Err(mismatch)) = format.map(|format| formats::check(format, text)) {
            self.add(position, key, mismatch.what, mismatch.why, mismatch.hint);
        }
    }

    /// Checks against the one alternative that fits the type of the value, so that its problems are reported instead
    /// of a general mismatch.
    fn choice(&mut self, choices: &'a [Json], tree: &YamlTree, key: &str) {
        let choices: Vec<&'a Json> = self.flattened(choices);
        let constants: Vec<&Json> = choices.iter().filter_map(|choice| choice.get("const")).collect();
        let shapes: Vec<&'a Json> = choices
            .iter()
            .copied()
            .filter(|choice| choice.get("const").is_none() && fits(choice, tree))
            .collect();
        if matches!(tree.value, YamlValue::Null) && constants.contains(&&Json::Null) {
            return;
        }
        match shapes.as_slice() {
            [only] => self.value(only, tree, key),
            [] if matches!(tree.value, YamlValue::Text(_)) && constants.iter().any(|c| c.is_string()) => {
                self.constants(&constants, &variant_keys(&choices), tree, key);
            }
            [] => self.wrong_type(&choices, tree, key),
            several => self.variant(several, tree, key),
        }
    }

    /// The alternatives, with the alternatives of an enum among them in its place.
    fn flattened(&self, choices: &'a [Json]) -> Vec<&'a Json> {
        let resolved = choices.iter().map(|choice| self.resolve(choice));
        resolved
            .flat_map(|choice| match choices_of(choice) {
                Some(nested) => nested.iter().map(|choice| self.resolve(choice)).collect(),
                None => vec![choice],
            })
            .collect()
    }

    /// Checks against one of several mappings, each with one key that names it.
    fn variant(&mut self, shapes: &[&'a Json], tree: &YamlTree, key: &str) {
        let chosen = shapes.iter().find(|shape| {
            shape
                .get("required")
                .and_then(Json::as_array)
                .is_some_and(|required| {
                    required
                        .iter()
                        .filter_map(Json::as_str)
                        .all(|key| tree.get(key).is_some())
                })
        });
        if let Some(chosen) = chosen {
            return self.value(chosen, tree, key);
        }
        let known = variant_keys(shapes);
        match tree.entries().first() {
            Some(entry) => self.unknown_key(entry, &known, &join(key, &entry.key), key),
            None => self.add(
                tree.position,
                key,
                "empty mapping".to_owned(),
                list_of("keys", &known),
                None,
            ),
        }
    }

    fn constants(&mut self, constants: &[&Json], variants: &[&str], tree: &YamlTree, key: &str) {
        let words: Vec<&str> = constants
            .iter()
            .filter_map(|constant| constant.as_str())
            .collect();
        match &tree.value {
            YamlValue::Text(text) if words.contains(&text.as_str()) => {}
            YamlValue::Text(text) => {
                let hint = match variants.iter().find(|variant| *variant == text) {
                    Some(variant) => format!("`{variant}` requires a value: `{{ {variant}: ... }}`"),
                    None => meant(text, &words, "values"),
                };
                self.add(
                    tree.position,
                    key,
                    format!("unknown value `{text}`"),
                    String::new(),
                    Some(hint),
                );
            }
            _ => {
                let why = format!("expected {}, found {}", list_of("one of", &words), tree.kind());
                self.add(tree.position, key, "wrong type".to_owned(), why, None);
            }
        }
    }

    fn wrong_type(&mut self, expected: &[&Json], tree: &YamlTree, key: &str) {
        let mut kinds: Vec<&str> = Vec::new();
        for schema in expected {
            let kind = kind_of(schema);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let why = format!("expected {}, found {}", kinds.join(" or "), tree.kind());
        let hint = match (&tree.value, kinds.contains(&"text")) {
            (YamlValue::Number(_) | YamlValue::Bool(_), true) => Some("add quotes".to_owned()),
            (YamlValue::Null, _) => Some("add a value, or remove the key".to_owned()),
            _ => None,
        };
        self.add(tree.position, key, "wrong type".to_owned(), why, hint);
    }

    fn add(&mut self, position: Position, key: &str, what: String, why: String, hint: Option<String>) {
        let file = self.file.to_owned();
        self.problems.push(Problem {
            file,
            position,
            key: key.to_owned(),
            what,
            why,
            hint,
        });
    }
}

fn choices_of(schema: &Json) -> Option<&[Json]> {
    ["oneOf", "anyOf"]
        .iter()
        .find_map(|word| schema.get(word)?.as_array())
        .map(Vec::as_slice)
}

fn fits(schema: &Json, tree: &YamlTree) -> bool {
    schema
        .get("type")
        .and_then(Json::as_str)
        .is_some_and(|expected| is_of_type(expected, tree))
}

fn is_of_type(expected: &str, tree: &YamlTree) -> bool {
    match &tree.value {
        YamlValue::Null => expected == "null",
        YamlValue::Bool(_) => expected == "boolean",
        YamlValue::Number(number) => expected == "number" || (expected == "integer" && !number.is_f64()),
        YamlValue::Text(_) => expected == "string",
        YamlValue::List(_) => expected == "array",
        YamlValue::Map(_) => expected == "object",
    }
}

fn kind_of(schema: &Json) -> &'static str {
    match schema.get("type").and_then(Json::as_str) {
        Some("string") => "text",
        Some("integer") => "a whole number",
        Some("number") => "a number",
        Some("boolean") => "true or false",
        Some("array") => "a list",
        Some("object") => "a mapping",
        _ if schema.get("const") == Some(&Json::Null) => "null",
        _ => "something else",
    }
}

fn variant_keys<'a>(shapes: &[&'a Json]) -> Vec<&'a str> {
    shapes
        .iter()
        .filter_map(|shape| shape.get("properties")?.as_object())
        .flat_map(|properties| properties.keys().map(String::as_str))
        .collect()
}

/// A hint with the nearest known word, or with all of them.
fn meant(word: &str, known: &[&str], kind: &str) -> String {
    match nearest(word, known.iter().copied()) {
        Some(right) => format!("did you mean `{right}`?"),
        None => list_of(kind, known),
    }
}

fn list_of(kind: &str, words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    format!("{kind}: {}", quoted.join(", "))
}

fn join(parent: &str, key: &str) -> String {
    if parent.is_empty() {
        key.to_owned()
    } else {
        format!("{parent}.{key}")
    }
}
