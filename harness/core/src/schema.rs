//! The JSON schema of a scenario file: for editors, and for the loader's own check.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use crate::scenario::Scenario;

/// The JSON schema of a scenario file.
#[must_use]
pub fn scenario_schema() -> Value {
    let mut schema = schema_of::<Scenario>();
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".to_owned(), "nodejoin scenario".into());
    }
    schema
}

/// The schema of a type, with keys that are either there with a value or absent: `key:` with nothing after it is a slip.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .for_deserialize()
        .with_transform(RecursiveTransform(WithoutNull))
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// Takes `null` out of what schemars writes for `Option`.
#[derive(Debug, Clone)]
struct WithoutNull;

impl Transform for WithoutNull {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::Array(types)) = schema.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                schema.insert("type".to_owned(), only);
            }
        }
        // A default of a whole mapping says nothing that its keys do not say better.
        if matches!(schema.get("default"), Some(Value::Null | Value::Object(_))) {
            schema.remove("default");
        }
        let Some(Value::Array(choices)) = schema.get_mut("anyOf") else {
            return;
        };
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            schema.remove("anyOf");
            for (key, value) in only {
                schema.insert(key, value);
            }
        }
    }
}
