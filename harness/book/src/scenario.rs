//! The reference of scenario files, from their JSON schema.

use nodejoin_core::scenario::scenario_schema;
use serde_json::Value;

use crate::markdown::{anchor, code, outside_code, table};

/// Types that have a page of their own.
const ELSEWHERE: &[(&str, &str)] = &[("Phase", "phases.md"), ("Cause", "diagnoses.md")];

/// Keys that stand below another one with all of their own: described once, then linked.
const ONCE: &[&str] = &["Expect"];

/// The list whose items have the keys of a scenario: only the one that a scenario does not have is described there.
const VARIANTS: &str = "with";

/// A nesting deeper than this has no place in a table.
const DEEPEST: usize = 8;

/// A row: path of the key, type, meaning.
type Row = [String; 3];

pub(crate) fn page() -> String {
    let schema = scenario_schema();
    let mut text = "# Scenario file\n\nEvery key of a scenario, from the schema that `nodejoin schema` prints. Keys without a default may be\n\
         omitted, unless they are marked as required. `[]` marks an item of a list, `<name>` a key that you choose.\n"
        .to_owned();
    let required = required(schema);
    for (key, value) in properties(schema) {
        let mut rows = Vec::new();
        let walk = Walk { schema };
        walk.key(&mut rows, key, value, required.contains(&key.as_str()), 0);
        let [_, kind, meaning] = rows.remove(0);
        if key == VARIANTS {
            rows.retain(|[key, ..]| *key == code("[].id"));
        }
        text.push_str(&format!(
            "\n## {key}\n\n{}\n\nType: {kind}\n",
            outside_code(&meaning)
        ));
        if !rows.is_empty() {
            text.push_str(&format!("\n{}", table(["key", "type", "meaning"], rows)));
        }
    }
    text
}

/// The values of an enumeration of the schema, with their descriptions.
pub(crate) fn variants(name: &str) -> Vec<(String, String)> {
    let schema = scenario_schema();
    let variants = schema["$defs"][name]["oneOf"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    variants
        .iter()
        .filter_map(|variant| Some((variant["const"].as_str()?.to_owned(), about(variant))))
        .collect()
}

struct Walk<'a> {
    schema: &'a Value,
}

impl Walk<'_> {
    /// Adds the row of a key, and those of the keys below it.
    fn key(&self, rows: &mut Vec<Row>, path: &str, value: &Value, is_required: bool, depth: usize) {
        let mut meaning = about(value);
        if is_required {
            meaning = format!("**Required.** {meaning}");
        }
        if let Some(default) = value.get("default").filter(|default| is_worth_showing(default)) {
            meaning.push_str(&format!(" Default: `{default}`."));
        }
        for sentence in self.values(value) {
            meaning.push_str(&format!(" {sentence}"));
        }
        let is_once = |value: &Value| name(value).is_some_and(|name| ONCE.contains(&name));
        let is_linked = depth > 0 && (is_once(value) || value.get("items").is_some_and(is_once));
        let kind = match depth {
            0 => self.kind(self.resolved(value)),
            _ => self.kind(value),
        };
        rows.push([code(path), kind, meaning]);
        if !is_linked {
            let prefix = if depth == 0 { "" } else { path };
            self.below(rows, prefix, value, depth + 1);
        }
    }

    /// Adds the rows of the keys in a value. `prefix` is the path of the value below its section.
    fn below(&self, rows: &mut Vec<Row>, prefix: &str, value: &Value, depth: usize) {
        if depth > DEEPEST || is_elsewhere(value) {
            return;
        }
        let value = self.resolved(value);
        let joined = |key: &str| match prefix {
            "" => key.to_owned(),
            _ => format!("{prefix}.{key}"),
        };
        let required = required(value);
        // The one key of an alternative is what selects the alternative.
        let is_alternative = properties(value).count() == 1;
        for (key, below) in properties(value) {
            let is_required = required.contains(&key.as_str()) && !is_alternative;
            self.key(rows, &joined(key), below, is_required, depth);
        }
        if let Some(items) = value.get("items") {
            self.below(rows, &format!("{prefix}[]"), items, depth + 1);
        }
        if let Some(values) = value
            .get("additionalProperties")
            .filter(|values| values.is_object())
        {
            let path = joined("<name>");
            let kind = self.kind(values);
            // A short form has no keys that tell it.
            if kind.contains(" or ") {
                rows.push([code(&path), kind, about(self.resolved(values))]);
            }
            self.below(rows, &path, values, depth + 1);
        }
        for branch in branches(value) {
            self.below(rows, prefix, branch, depth + 1);
        }
    }

    /// The type of a value, in the words of YAML.
    fn kind(&self, value: &Value) -> String {
        if let Some(name) = name(value) {
            if let Some((_, page)) = ELSEWHERE.iter().find(|(known, _)| *known == name) {
                return format!("[{}]({page})", name.to_lowercase());
            }
            if ONCE.contains(&name) {
                let key = name.to_lowercase();
                return format!("as [`{key}`](#{})", anchor(&key));
            }
        }
        let value = self.resolved(value);
        if let Some(items) = value.get("items") {
            return format!("list of {}", self.kind(items));
        }
        let branches = branches(value);
        if !branches.is_empty() && branches.iter().all(|branch| branch.get("const").is_some()) {
            return "one of the values".to_owned();
        }
        if !branches.is_empty() {
            let mut kinds: Vec<_> = branches.iter().map(|branch| self.kind(branch)).collect();
            kinds.dedup();
            kinds.retain(|kind| kind != "null");
            return kinds.join(" or ");
        }
        if let Some(word) = value.get("const").and_then(Value::as_str) {
            return code(word);
        }
        match &value["type"] {
            Value::String(kind) => plain(kind),
            Value::Array(kinds) => {
                let kinds = kinds
                    .iter()
                    .filter_map(Value::as_str)
                    .filter(|kind| *kind != "null");
                kinds.map(plain).collect::<Vec<_>>().join(" or ")
            }
            _ => "any".to_owned(),
        }
    }

    /// Sentences about the values of an enumeration.
    fn values(&self, value: &Value) -> Vec<String> {
        if is_elsewhere(value) {
            return Vec::new();
        }
        let variants = branches(self.resolved(value));
        let variants = variants.iter().filter_map(|variant| {
            let word = variant.get("const")?.as_str()?;
            Some(format!("`{word}`: {}", about(variant)))
        });
        variants.collect()
    }

    /// What a reference points to, through an alternative to `null` too.
    fn resolved<'b>(&'b self, value: &'b Value) -> &'b Value {
        match name(value) {
            Some(name) => &self.schema["$defs"][name],
            None => value,
        }
    }
}

/// The name of the type that a value refers to, directly or as the one alternative to `null`.
fn name(value: &Value) -> Option<&str> {
    let alternatives = value["anyOf"].as_array();
    let optional = alternatives.filter(|all| all.len() == 2 && all.iter().any(|one| one["type"] == "null"));
    let value = optional
        .and_then(|all| all.iter().find(|one| one["type"] != "null"))
        .unwrap_or(value);
    value["$ref"].as_str()?.strip_prefix("#/$defs/")
}

fn is_elsewhere(value: &Value) -> bool {
    name(value).is_some_and(|name| ELSEWHERE.iter().any(|(known, _)| *known == name))
}

fn branches(value: &Value) -> Vec<&Value> {
    let both = ["oneOf", "anyOf"]
        .into_iter()
        .filter_map(|key| value[key].as_array());
    both.flatten().collect()
}

fn properties(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value["properties"].as_object().into_iter().flatten()
}

fn required(value: &Value) -> Vec<&str> {
    let names = value["required"].as_array().into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

fn about(value: &Value) -> String {
    value["description"]
        .as_str()
        .unwrap_or_default()
        .replace('\n', " ")
}

/// An empty default says what a missing key says.
fn is_worth_showing(default: &Value) -> bool {
    match default {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(_) => false,
        _ => true,
    }
}

fn plain(kind: &str) -> String {
    match kind {
        "string" => "text",
        "integer" => "whole number",
        "boolean" => "`true` or `false`",
        "object" => "mapping",
        "array" => "list",
        other => other,
    }
    .to_owned()
}
