//! The `{{ instance.id }}` and its like in what a scenario expects: the names that user data knows.

use serde_json::Value;

use crate::input::yaml::Step;
use crate::plan::expect::Expect;
use crate::user_data::{UnknownTemplate, Values, fill};

impl Expect {
    /// The same with all values filled in. What is unknown stays as it is: the loader has refused it before.
    #[must_use]
    pub fn filled(&self, values: &Values) -> Self {
        let whole = serde_json::to_value(self).expect("expectations are data");
        serde_json::from_value(filled(whole, values)).expect("a text is one, whatever stands in it")
    }

    /// Every name between `{{` and `}}` that looks like one of ours and is none, with its keys.
    pub(crate) fn unknown_names(&self, values: &Values, tell: &mut Tell<'_>) {
        let whole = serde_json::to_value(self).expect("expectations are data");
        look(&whole, &mut vec![Step::Key("expect")], values, tell);
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

/// Looks through a value, whose own text and that of its keys may name something.
fn look<'a>(value: &'a Value, path: &mut Vec<Step<'a>>, values: &Values, tell: &mut Tell<'_>) {
    match value {
        Value::String(text) => check(text, path, values, tell),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Index(index));
                look(item, path, values, tell);
                path.pop();
            }
        }
        Value::Object(entries) => {
            for (key, value) in entries {
                path.push(Step::Key(key));
                check(key, path, values, tell);
                look(value, path, values, tell);
                path.pop();
            }
        }
        _ => {}
    }
}

fn check(text: &str, path: &[Step<'_>], values: &Values, tell: &mut Tell<'_>) {
    if let Err(unknown) = fill(text.as_bytes(), values) {
        tell(path, &unknown);
    }
}

/// Takes the keys of a text and what is wrong with it.
type Tell<'t> = dyn FnMut(&[Step<'_>], &UnknownTemplate) + 't;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;

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
        let wanted = expect(&format!(
            r#"{{ "phase": "ready", "aws": {{ "eks.DescribeCluster": {{ "min": 1 }} }},
                  "node": {{ "provider_id": "aws:///z/{id}", "capacity": {{ "pods": 29 }}, "labels": {{ "x": "{{{{ v1.y }}}}" }},
                             "taints_set_by": {{ "a={name}:NoSchedule": "kubelet" }} }},
                  "kubelet": {{ "argv": ["--x={}"], "config": {{ "a": [1, "{}"] }} }} }}"#,
            plan.instance.private_ip, plan.instance.instance_type,
        ));
        assert_eq!(given.filled(&Values::of(&plan, "")), wanted);
    }
}
