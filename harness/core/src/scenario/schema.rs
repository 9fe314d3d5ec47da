//! The JSON schema of scenario files, for editors and for the loader.

use std::sync::LazyLock;

use serde_json::Value;

use super::file::Scenario;
use super::variants;
use crate::input::schema::schema_of;

static SCHEMA: LazyLock<Value> = LazyLock::new(made);

/// The JSON schema of a scenario file.
#[must_use]
pub fn scenario_schema() -> &'static Value {
    &SCHEMA
}

fn made() -> Value {
    let mut schema = schema_of::<Scenario>();
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".to_owned(), "nodejoin scenario".into());
        if let Some(Value::Object(properties)) = object.get_mut("properties") {
            let list = variants::schema_of(properties);
            properties.insert(variants::KEY.to_owned(), list);
        }
        // Values for YAML anchors, which the loader skips.
        object.insert("patternProperties".to_owned(), serde_json::json!({ "^x-": true }));
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits every schema inside of a schema, with its path.
    fn walk<'a>(schema: &'a Value, path: String, visit: &mut dyn FnMut(&str, &'a Value)) {
        visit(&path, schema);
        match schema {
            Value::Object(map) => map
                .iter()
                .for_each(|(key, value)| walk(value, format!("{path}/{key}"), visit)),
            Value::Array(items) => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(index, item)| walk(item, format!("{path}/{index}"), visit));
            }
            _ => {}
        }
    }

    #[test]
    fn every_key_has_a_description() {
        let schema = scenario_schema();
        let mut bare = Vec::new();
        walk(schema, String::new(), &mut |path, schema| {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
                return;
            };
            // The description of a variant covers its single value.
            if path.contains("/oneOf/") {
                return;
            }
            let undescribed = properties
                .iter()
                .filter(|(_, property)| property.get("description").is_none());
            bare.extend(undescribed.map(|(key, _)| format!("{path}/{key}")));
        });
        assert_eq!(bare, Vec::<String>::new());
    }

    #[test]
    fn unknown_keys_are_rejected_at_every_depth() {
        let schema = scenario_schema();
        let mut open = Vec::new();
        walk(schema, String::new(), &mut |path, schema| {
            if schema.get("properties").is_some_and(Value::is_object) && schema.get("type").is_some() {
                let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
                open.extend((!is_closed).then(|| path.to_owned()));
            }
        });
        assert_eq!(open, Vec::<String>::new());
    }

    #[test]
    fn only_two_keys_accept_null() {
        let schema = scenario_schema();
        let mut found = Vec::new();
        walk(schema, String::new(), &mut |path, value| {
            if path.ends_with("/const") && value.is_null()
                || path.ends_with("/type") && value.to_string().contains("null")
            {
                found.push(path.to_owned());
            }
        });
        assert_eq!(
            found,
            [
                "/$defs/ClusterFile/properties/service_ipv4_cidr/oneOf/1/const",
                "/$defs/InstanceFile/properties/role/oneOf/1/const",
            ]
        );
        assert_eq!(schema["title"], "nodejoin scenario");
        assert_eq!(schema["required"], serde_json::json!(["name"]));
    }
}
