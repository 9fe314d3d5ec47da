//! The keys that a file has to state: a reader fills in the others.

use serde_json::{Map, Value};

/// A value without the keys that a reader fills in.
pub(super) fn without_defaults(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Object(entries) => {
            let entries = entries
                .into_iter()
                .filter_map(|(key, value)| Some((key, without_defaults(value)?)));
            let entries: Map<String, Value> = entries.collect();
            (!entries.is_empty()).then_some(Value::Object(entries))
        }
        Value::Array(items) if items.is_empty() => None,
        // An item without keys stays an item.
        Value::Array(items) => {
            let items = items.into_iter().map(|item| match item {
                Value::Object(_) => without_defaults(item).unwrap_or_else(|| Map::new().into()),
                other => other,
            });
            Some(Value::Array(items.collect()))
        }
        Value::Bool(false) => Some(Value::Bool(false)),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::expect::Expect;

    #[test]
    fn alternatives_are_written_without_defaults() {
        let alternative = |key: &str, value: Value| {
            let mut expect = serde_json::to_value(Expect::default()).unwrap();
            expect[key] = value;
            expect
        };
        let one_of = serde_json::json!({ "one_of": [
            alternative("kubelet", serde_json::json!({ "argv_absent": ["--a=null"], "argv": [], "starts": null })),
            alternative("user_data", serde_json::json!({ "succeeded": false })),
        ] });
        let expected = serde_json::json!({ "one_of": [
            { "kubelet": { "argv_absent": ["--a=null"] } }, { "user_data": { "succeeded": false } },
        ] });
        assert_eq!(without_defaults(one_of), Some(expected));
    }
}
