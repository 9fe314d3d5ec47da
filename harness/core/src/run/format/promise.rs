//! Compares the schemas with those of the version's folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

use super::{JsonFormat, VERSION};

/// What a schema says about the values at one path.
#[derive(Debug, Default)]
struct Promise {
    /// Whether the key is always there.
    required: bool,
    types: BTreeSet<String>,
}

/// The promises of a schema by path: `checks[].key`, `versions{}`, and `[event=warning].text` for a variant.
struct Promises<'s> {
    root: &'s Value,
    found: BTreeMap<String, Promise>,
}

impl<'s> Promises<'s> {
    fn of(root: &'s Value) -> BTreeMap<String, Promise> {
        let mut promises = Self {
            root,
            found: BTreeMap::new(),
        };
        promises.read(root, "", true, &mut Vec::new());
        promises.found
    }

    /// Reads a schema. `within` has the references that lead to it.
    fn read(&mut self, schema: &'s Value, path: &str, required: bool, within: &mut Vec<&'s str>) {
        let found = self.found.entry(path.to_owned()).or_default();
        found.required |= required;
        match &schema["type"] {
            Value::String(name) => drop(found.types.insert(name.clone())),
            Value::Array(names) => {
                let names = names.iter().filter_map(Value::as_str);
                found.types.extend(names.map(str::to_owned));
            }
            _ => {}
        }
        if let Some(reference) = schema["$ref"]
            .as_str()
            .filter(|reference| !within.contains(reference))
        {
            let root = self.root;
            let target = root.pointer(reference.trim_start_matches('#'));
            within.push(reference);
            self.read(target.expect("a definition"), path, required, within);
            within.pop();
        }
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            let is_required = names(&schema["required"]).contains(key.as_str());
            self.read(property, &format!("{path}.{key}"), is_required, within);
        }
        if schema["items"].is_object() {
            self.read(&schema["items"], &format!("{path}[]"), true, within);
        }
        if schema["additionalProperties"].is_object() {
            self.read(
                &schema["additionalProperties"],
                &format!("{path}{{}}"),
                true,
                within,
            );
        }
        for keyword in ["oneOf", "anyOf", "allOf"] {
            for variant in schema[keyword].as_array().into_iter().flatten() {
                let path = format!("{path}{}", tag(variant).unwrap_or_default());
                self.read(variant, &path, required, within);
            }
        }
        for word in names(&schema["enum"]).into_iter().chain(schema["const"].as_str()) {
            self.found.entry(format!("{path}={word}")).or_default().required = true;
        }
    }
}

fn names(list: &Value) -> BTreeSet<&str> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).collect()
}

/// The key with a constant value that tells a variant from the others.
fn tag(variant: &Value) -> Option<String> {
    let mut properties = variant["properties"].as_object()?.iter();
    properties.find_map(|(key, property)| Some(format!("[{key}={}]", property["const"].as_str()?)))
}

/// What a reader of `old` can rely on and `new` does not keep.
fn broken(old: &Value, new: &Value) -> Vec<String> {
    let (old, new) = (Promises::of(old), Promises::of(new));
    let mut broken = Vec::new();
    for (path, promise) in &old {
        let Some(kept) = new.get(path) else {
            broken.push(format!("{path}: is gone"));
            continue;
        };
        if promise.required && !kept.required {
            broken.push(format!("{path}: can be missing"));
        }
        let more: Vec<&String> = kept.types.difference(&promise.types).collect();
        if !promise.types.is_empty() && !more.is_empty() {
            broken.push(format!("{path}: can be {more:?}"));
        }
    }
    broken
}

#[test]
fn schemas_keep_what_their_version_promises() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/src/schemas/v{VERSION}"));
    for format in JsonFormat::ALL {
        let file = folder.join(format!("{}.json", format.name()));
        let text =
            std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let promised: Value = serde_json::from_str(&text).unwrap();
        let broken = broken(&promised, &format.schema());
        assert_eq!(
            broken,
            Vec::<String>::new(),
            "{}: keep these, or begin a new version of the schemas",
            format.name()
        );
        assert_eq!(
            promised,
            format.schema(),
            "{}: additions belong into {}: `nodejoin schema {}`",
            format.name(),
            file.display(),
            format.name()
        );
    }
}

#[test]
fn a_change_that_breaks_a_reader_is_found() {
    let old = serde_json::json!({
        "type": "object",
        "properties": {
            "a": { "type": "string" },
            "b": { "type": "array", "items": { "$ref": "#/$defs/B" } },
            "c": { "enum": ["x", "y"] },
        },
        "required": ["a", "b"],
        "$defs": { "B": { "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] } },
    });
    let changed = |pointer: &str, value: Value| {
        let mut new = old.clone();
        *new.pointer_mut(pointer).unwrap() = value;
        broken(&old, &new)
    };
    assert_eq!(broken(&old, &old), Vec::<String>::new());
    assert_eq!(
        changed(
            "/properties",
            serde_json::json!({ "a": { "type": "string" }, "c": { "enum": ["x", "y", "z"] } })
        ),
        [".b: is gone", ".b[]: is gone", ".b[].n: is gone"]
    );
    assert_eq!(
        changed("/required", serde_json::json!(["b"])),
        [".a: can be missing"]
    );
    let nullable = serde_json::json!(["integer", "null"]);
    assert_eq!(
        changed("/$defs/B/properties/n/type", nullable),
        [".b[].n: can be [\"null\"]"]
    );
    assert_eq!(
        changed("/properties/c/enum", serde_json::json!(["x"])),
        [".c=y: is gone"]
    );
    let mut more = old.clone();
    more["properties"]["d"] = serde_json::json!({ "type": "string" });
    assert_eq!(broken(&old, &more), Vec::<String>::new());
}
