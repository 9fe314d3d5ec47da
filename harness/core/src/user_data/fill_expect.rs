//! Fills in `{{ instance.id }}` and the other names of user data in expectations and in resources of the account.

use serde_json::Value;

use crate::input::yaml::PathStep;
use crate::plan::aws::AwsPlan;
use crate::plan::expect::Expect;
use crate::user_data::{UnknownTemplate, Values, fill};

impl Expect {
    /// Fills in all values. Unknown names stay; the loader has rejected them before.
    #[must_use]
    pub fn filled(&self, values: &Values) -> Self {
        let value = serde_json::to_value(self).expect("expectations are data");
        serde_json::from_value(filled(value, values)).expect("a text is one, whatever stands in it")
    }

    /// Reports every unknown name between `{{` and `}}` that has one of our prefixes, with its keys.
    pub(crate) fn unknown_names(&self, values: &Values, report: &mut Report<'_>) {
        let value = serde_json::to_value(self).expect("expectations are data");
        look(&value, &mut vec![PathStep::Key("expect")], values, report);
    }
}

impl AwsPlan {
    /// Fills in all values. Unknown names stay; the loader has rejected them before.
    #[must_use]
    pub fn filled(&self, values: &Values) -> Self {
        let value = serde_json::to_value(self).expect("resources are data");
        serde_json::from_value(filled(value, values)).expect("a text is one, whatever stands in it")
    }

    /// Reports every unknown name between `{{` and `}}` that has one of our prefixes, with its keys.
    pub(crate) fn unknown_names(&self, values: &Values, report: &mut Report<'_>) {
        let value = serde_json::to_value(self).expect("resources are data");
        look(&value, &mut vec![PathStep::Key("aws")], values, report);
    }
}

fn filled(value: Value, values: &Values) -> Value {
    match value {
        Value::String(text) => text_of(text, values).into(),
        Value::Array(items) => items.into_iter().map(|item| filled(item, values)).collect(),
        Value::Object(entries) => {
            let entries = entries.into_iter();
            let both = |(key, value)| (text_of(key, values), filled(value, values));
            Value::Object(entries.map(both).collect())
        }
        other => other,
    }
}

fn text_of(text: String, values: &Values) -> String {
    let bytes = fill(text.as_bytes(), values).ok();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .unwrap_or(text)
}

/// Checks a value, its text and its keys.
fn look<'a>(value: &'a Value, path: &mut Vec<PathStep<'a>>, values: &Values, report: &mut Report<'_>) {
    match value {
        Value::String(text) => check(text, path, values, report),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(PathStep::Index(index));
                look(item, path, values, report);
                path.pop();
            }
        }
        Value::Object(entries) => {
            for (key, value) in entries {
                path.push(PathStep::Key(key));
                check(key, path, values, report);
                look(value, path, values, report);
                path.pop();
            }
        }
        _ => {}
    }
}

fn check(text: &str, path: &[PathStep<'_>], values: &Values, report: &mut Report<'_>) {
    if let Err(unknown) = fill(text.as_bytes(), values) {
        report(path, &unknown);
    }
}

/// Receives the keys of a text and its unknown name.
type Report<'t> = dyn FnMut(&[PathStep<'_>], &UnknownTemplate) + 't;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    fn expect(text: &str) -> Expect {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn values_and_keys_are_filled_in_and_the_rest_stays() {
        let plan = plan();
        let given = expect(
            r#"{ "phase": "ready", "aws": { "eks.DescribeCluster": { "min": 1 } },
                 "node": { "provider_id": "aws:///z/{{ instance.id }}", "capacity": { "pods": 29 }, "labels": { "x": "{{ v1.y }}" },
                           "taints_set_by": { "a={{ cluster.name }}:NoSchedule": "kubelet" } },
                 "kubelet": { "argv": ["--x={{ instance.private_ip }}"], "config": { "a": [1, "{{ instance.type }}"] } } }"#,
        );
        let (id, name) = (&plan.instance.id, &plan.cluster.name);
        let expected = expect(&format!(
            r#"{{ "phase": "ready", "aws": {{ "eks.DescribeCluster": {{ "min": 1 }} }},
                  "node": {{ "provider_id": "aws:///z/{id}", "capacity": {{ "pods": 29 }}, "labels": {{ "x": "{{{{ v1.y }}}}" }},
                             "taints_set_by": {{ "a={name}:NoSchedule": "kubelet" }} }},
                  "kubelet": {{ "argv": ["--x={}"], "config": {{ "a": [1, "{}"] }} }} }}"#,
            plan.instance.private_ip, plan.instance.instance_type,
        ));
        assert_eq!(given.filled(&Values::of(&plan, "")), expected);
    }
}
