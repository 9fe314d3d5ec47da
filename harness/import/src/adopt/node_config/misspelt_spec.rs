//! A NodeConfig whose `spec` has another name, such as `Spec`: nodeadm reads nothing of it.

use nodejoin_core::vocabulary::nearest::nearest;

use super::types::{API, KIND};
use crate::tree::{Tree, TreeValue};

const SPEC: &str = "spec";
/// What only a `spec` has.
const OF_SPEC: [&str; 2] = ["cluster", "kubelet"];

/// The NodeConfig that its author means.
pub(super) fn meant(document: &Tree) -> Option<Tree> {
    if document.get(SPEC).is_some() {
        return None;
    }
    let is_spec = |(key, value): &&(String, Tree)| {
        let is_named = nearest(key, ["metadata", SPEC, "status"]) == Some(SPEC);
        is_named && OF_SPEC.iter().any(|field| value.get(field).is_some())
    };
    let (_, spec) = document.entries().iter().find(is_spec)?;
    let text = |text: &str| document.replaced_by_text(text);
    let entries = [
        ("apiVersion".to_owned(), text(API)),
        ("kind".to_owned(), text(KIND)),
        (SPEC.to_owned(), spec.clone()),
    ];
    Some(document.replaced(TreeValue::Map(entries.into())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::yaml;

    #[test]
    fn a_spec_is_known_by_its_name_and_its_fields() {
        let name = |text: &str| {
            let document = yaml(text).unwrap().remove(0);
            meant(&document)?.text_at(&["spec", "cluster", "name"])
        };
        for key in ["Spec", "sepc", "specs"] {
            let text = format!("kind: NodeConfig\n{key}: {{ cluster: {{ name: demo }} }}\n");
            assert_eq!(name(&text).as_deref(), Some("demo"), "{key}");
        }
        for text in [
            "spec: { cluster: { name: demo } }\nSpec: { cluster: { name: other } }\n",
            "Spec: { name: demo }\n",
            "status: { cluster: { name: demo } }\n",
            "cluster: { name: demo }\n",
            "kind: NodeConfig\n",
        ] {
            assert_eq!(name(text), None, "{text}");
        }
    }
}
