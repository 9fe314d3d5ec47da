//! JSON schemas of the files that users write.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// The schema of a type. Rejects keys without a value (`key:`), which are usually a mistake.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .for_deserialize()
        .with_transform(RecursiveTransform(WithoutNull))
        .with_transform(RecursiveTransform(OneLine))
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// The schemas of types so far: making one takes longer than reading a file by it.
static KNOWN: LazyLock<Mutex<HashMap<TypeId, Arc<Value>>>> = LazyLock::new(Mutex::default);

/// The schema of a type, made once.
pub(crate) fn known_schema_of<T: JsonSchema + 'static>() -> Arc<Value> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let schema = known
        .entry(TypeId::of::<T>())
        .or_insert_with(|| Arc::new(schema_of::<T>()));
    Arc::clone(schema)
}

/// Removes the `null` that schemars adds for `Option`.
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
        // The keys of a mapping describe its default.
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

/// Joins the lines of descriptions, which break where the source code does.
#[derive(Debug, Clone)]
struct OneLine;

impl Transform for OneLine {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.replace('\n', " ");
        }
    }
}
