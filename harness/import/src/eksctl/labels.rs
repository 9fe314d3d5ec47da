//! Labels and taints of a node group, and those that eksctl refuses.

use std::collections::BTreeMap;

use nodejoin_core::kubernetes::node_labels::is_set_by_kubelets;

use super::fields::{REFUSED, is_open, refused};
use super::group::EksctlGroup;
use crate::error::ImportError;
use crate::known_fields::{check_effect, check_taint, check_text, check_texts};
use crate::machine::Taint;
use crate::tree::{Tree, TreeValue};
use crate::words::{effect, taint, texts};

/// Letters of a label's value, and of its key without the domain.
const LONGEST_NAME: usize = 63;
/// Letters of the domain in a label's key.
const LONGEST_DOMAIN: usize = 253;

impl EksctlGroup<'_> {
    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = texts(self.tree.get("labels"));
        // A label without a value, such as `{ gpu }`, has an empty one for eksctl.
        let empty = self.stated_labels().iter().filter(|(_, value)| value.is_null());
        labels.extend(empty.map(|(key, _)| (key.clone(), String::new())));
        let own = [
            ("cluster-name", self.cluster.name.clone()),
            ("nodegroup-name", self.text("name")),
        ];
        for (key, value) in own {
            labels.insert(format!("alpha.eksctl.io/{key}"), value.unwrap_or_default());
        }
        labels
    }

    fn stated_labels(&self) -> &[(String, Tree)] {
        self.tree.get("labels").map(Tree::entries).unwrap_or_default()
    }

    /// A list of mappings, or `KEY: VALUE:EFFECT`.
    pub(super) fn taints(&self) -> Vec<Taint> {
        let Some(taints) = self.tree.get("taints") else {
            return Vec::new();
        };
        if let TreeValue::List(items) = &taints.value {
            return items.iter().filter_map(taint).collect();
        }
        let pairs = texts(Some(taints)).into_iter();
        let taint = |(key, text): (String, String)| {
            let (value, word) = value_and_effect(&text);
            Some(Taint {
                key,
                value: value.to_owned(),
                effect: effect(word)?,
            })
        };
        pairs.filter_map(taint).collect()
    }

    /// Checks keys and values as Kubernetes does. One that is not filled in yet is left to a later stop.
    ///
    /// # Errors
    /// eksctl refuses a label.
    pub(super) fn check_labels(&self) -> Result<(), ImportError> {
        check_texts(self.tree.get("labels"), "the label", REFUSED)?;
        for (key, value) in self.stated_labels() {
            let text = value.text().unwrap_or_default();
            if !is_set_by_kubelets(key) {
                return Err(refused(
                    value,
                    format!("eksctl refuses the label `{key}`: a kubelet may not set it itself"),
                    "use a label of another domain, or give it to the Node after the join: `kubectl label node`",
                ));
            }
            if !is_open(key) && !is_label_key(key) {
                return Err(refused(
                    value,
                    format!("eksctl refuses the label `{key}`: its key is not valid in Kubernetes"),
                    "write letters, digits, `-`, `_` and `.`, and before them at most one domain with `/`, such as `example.com/team`",
                ));
            }
            if !is_open(text) && !is_label_value(text) {
                return Err(refused(
                    value,
                    format!(
                        "eksctl refuses the label `{key}`: its value `{text}` is not valid in Kubernetes"
                    ),
                    "write at most 63 letters, digits, `-`, `_` and `.`; the first and the last is a letter or a digit",
                ));
            }
        }
        Ok(())
    }

    /// Checks that each taint has an effect that Kubernetes knows.
    ///
    /// # Errors
    /// eksctl refuses a taint.
    pub(super) fn check_taints(&self) -> Result<(), ImportError> {
        let Some(taints) = self.tree.get("taints") else {
            return Ok(());
        };
        for taint in taints.items() {
            check_taint(taint, REFUSED)?;
        }
        for (key, text) in taints.entries() {
            check_text(text, &format!("the taint `{key}`"), REFUSED)?;
            let (_, effect) = value_and_effect(text.text().unwrap_or_default());
            check_effect(text, key, effect, REFUSED)?;
        }
        Ok(())
    }
}

/// `VALUE:EFFECT`, `:EFFECT` or `EFFECT`.
fn value_and_effect(text: &str) -> (&str, &str) {
    text.split_once(':').unwrap_or(("", text))
}

fn is_label_key(key: &str) -> bool {
    let Some((domain, name)) = key.split_once('/') else {
        return is_name(key);
    };
    is_name(name) && domain.len() <= LONGEST_DOMAIN && domain.split('.').all(is_domain_part)
}

fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_name(value)
}

fn is_name(name: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.len() <= LONGEST_NAME
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(is_inside)
}

fn is_domain_part(part: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !part.is_empty() && part.chars().all(is_inside) && !part.starts_with('-') && !part.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_those_of_kubernetes() {
        for (key, is_valid) in [
            ("team", true),
            ("Team_1.a-b", true),
            ("example.com/team", true),
            ("too/many/slashes", false),
            ("/team", false),
            ("example.com/", false),
            ("Example.com/team", false),
            ("-team", false),
            ("team.", false),
            ("", false),
        ] {
            assert_eq!(is_label_key(key), is_valid, "{key}");
        }
        assert!(is_label_value("") && is_label_value(&"a".repeat(63)));
        assert!(!is_label_value(&"a".repeat(64)) && !is_label_value("a b"));
    }
}
