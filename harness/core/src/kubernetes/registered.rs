//! What a kubelet registers its Node with: arguments, labels and taints.

use std::collections::BTreeMap;

use serde_json::Value;

/// The last value of a flag, given as `--flag=value` or as `--flag value`.
pub(crate) fn value_of_flag<'a>(arguments: &'a [String], flag: &str) -> Option<&'a str> {
    let with_next = arguments
        .iter()
        .zip(arguments.iter().skip(1).map(Some).chain([None]));
    let values = with_next.filter_map(|(argument, next)| match argument.strip_prefix(flag)? {
        "" => next.map(String::as_str),
        value => value.strip_prefix('='),
    });
    values.last()
}

/// The labels in the value of `--node-labels`.
pub(crate) fn labels_of_flag(value: &str) -> BTreeMap<&str, &str> {
    let pairs = value.split(',').filter_map(|label| label.split_once('='));
    pairs.collect()
}

/// The labels of a Node.
pub(crate) fn labels_of_node(node: &Value) -> BTreeMap<&str, &str> {
    let labels = node.pointer("/metadata/labels").and_then(Value::as_object);
    let texts = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
    texts.collect()
}

/// The taints of a Node, `key=value:Effect`.
pub(crate) fn taints_of_node(node: &Value) -> Vec<String> {
    taint_texts(node.pointer("/spec/taints"))
}

/// Taints of a list, `key=value:Effect`.
pub(crate) fn taint_texts(taints: Option<&Value>) -> Vec<String> {
    let taints = taints.and_then(Value::as_array);
    taints.into_iter().flatten().map(taint_text).collect()
}

fn taint_text(taint: &Value) -> String {
    let part = |name: &str| taint[name].as_str().unwrap_or_default().to_owned();
    canonical_taint(&format!("{}={}:{}", part("key"), part("value"), part("effect")))
}

/// `key=:Effect` and `key:Effect` are the same taint.
pub(crate) fn canonical_taint(taint: &str) -> String {
    taint.replacen("=:", ":", 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_value_of_a_flag_counts_in_both_forms() {
        let arguments = ["kubelet", "--a=1", "--a", "2", "--ab=3", "--b"].map(str::to_owned);
        assert_eq!(value_of_flag(&arguments, "--a"), Some("2"));
        assert_eq!(value_of_flag(&arguments, "--b"), None);
        assert_eq!(value_of_flag(&arguments, "--c"), None);
    }

    #[test]
    fn labels_and_taints_of_a_node_are_texts() {
        let node = json!({
            "metadata": { "labels": { "team": "web" } },
            "spec": { "taints": [{ "key": "a", "effect": "NoSchedule" }, { "key": "b", "value": "c", "effect": "NoExecute" }] },
        });
        assert_eq!(labels_of_node(&node)["team"], "web");
        assert_eq!(taints_of_node(&node), ["a:NoSchedule", "b=c:NoExecute"]);
        assert_eq!(labels_of_flag("a=b,c=,d")["c"], "");
        assert!(taints_of_node(&json!({})).is_empty());
    }
}
