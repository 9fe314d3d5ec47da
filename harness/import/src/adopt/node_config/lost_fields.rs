//! Fields of a NodeConfig that nothing reads, and the flags that their content means.

use super::types::CONFIG;
use crate::adopt::kubelet_flags::effect_of;
use crate::machine::Taint;
use crate::tree::Tree;

/// Fields that users expect for the labels and the taints of the node: nothing reads them.
const LABELS: [&str; 4] = ["labels", "nodeLabels", "node-labels", "node_labels"];
const TAINTS: [&str; 5] = [
    "taints",
    "nodeTaints",
    "registerWithTaints",
    "register-with-taints",
    "node-taints",
];

/// Where the content of such a field belongs.
pub(super) fn place_of(key: &str) -> Option<String> {
    match key {
        key if LABELS.contains(&key) => Some("spec.kubelet.flags: [--node-labels=KEY=VALUE]".to_owned()),
        key if TAINTS.contains(&key) => Some(format!("{CONFIG}.registerWithTaints")),
        _ => None,
    }
}

/// Finds the flags in a field that nothing reads.
pub(super) fn lose(key: &str, value: &Tree, lost: &mut Vec<String>) {
    if LABELS.contains(&key) {
        let pair = |(key, value): &(String, Tree)| Some(format!("{key}={}", value.text()?));
        let pairs: Vec<String> = value.entries().iter().filter_map(pair).collect();
        let labels = value.text().map_or_else(|| pairs.join(","), str::to_owned);
        if labels.contains('=') {
            lost.push(format!("--node-labels={labels}"));
        }
        return;
    }
    if TAINTS.contains(&key) {
        let texts = value.items().iter().filter_map(|item| {
            let text = item.text().map(str::to_owned);
            text.or_else(|| Some(taint(item)?.to_string()))
        });
        let texts: Vec<String> = value.text().map(str::to_owned).into_iter().chain(texts).collect();
        if !texts.is_empty() {
            lost.push(format!("--register-with-taints={}", texts.join(",")));
        }
        return;
    }
    match value.text() {
        Some(text) if key == "maxPods" => lost.push(format!("--max-pods={text}")),
        Some(text) if text.starts_with("--") => lost.push(text.to_owned()),
        _ => {}
    }
    for (key, value) in value.entries() {
        lose(key, value, lost);
    }
    for item in value.items() {
        lose("", item, lost);
    }
}

pub(super) fn taint(tree: &Tree) -> Option<Taint> {
    Some(Taint {
        key: tree.text_at(&["key"])?,
        value: tree.text_at(&["value"]).unwrap_or_default(),
        effect: effect_of(&tree.text_at(&["effect"])?)?,
    })
}
