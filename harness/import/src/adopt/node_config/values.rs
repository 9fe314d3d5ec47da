//! Values of a NodeConfig that the kubelet or `setup-local-disks` rejects, and names that nodeadm ignores.

use super::containerd;
use super::kubelet_values;
use super::types::{BY_KUBELET, CONFIG, FieldType, WrongType, is_open, wrong};
use crate::adopt::feature_gates;
use crate::adopt::kubelet_flags::effect_of;
use crate::known_fields::meant;
use crate::tree::Tree;

/// `setup-local-disks` takes them in small letters, as nodeadm writes them, and `none` (v20260304).
const STRATEGIES: [&str; 3] = ["RAID0", "RAID10", "Mount"];
const NO_STRATEGY: &str = "none";
/// nodeadm compares them with their capitals (v20260304: local_disk.go).
const MOUNTS: [&str; 3] = ["Containerd", "PodLogs", "SOCI"];
const GATES: [&str; 2] = ["InstanceIdNodeName", "FastImagePull"];

const LOCAL_STORAGE: [&str; 3] = ["spec", "instance", "localStorage"];

/// The values of a document that are rejected.
pub(super) fn rejected(document: &Tree) -> Vec<WrongType<'_>> {
    let mut found = taints(document);
    found.extend(strategy(document));
    found.extend(containerd::not_toml(document));
    found.extend(kubelet_values::rejected(document));
    found
}

/// Whether the kubelet rejects a taint of `registerWithTaints`.
pub(super) fn is_rejected_taint(item: &Tree) -> bool {
    wrong(item, FieldType::Mapping).is_some() || item.get("effect").is_some_and(is_other_effect)
}

/// A sentence for each name that means another one. `at` says where a field is.
pub(super) fn misspelt(document: &Tree, at: &dyn Fn(&str, &Tree) -> String) -> Vec<String> {
    let path = LOCAL_STORAGE.join(".");
    let mounts = document.items_at(&[&LOCAL_STORAGE[..], &["disabledMounts"]].concat());
    let mounts = mounts.iter().filter_map(|item| {
        let name = item.text()?;
        let meant = other_name(name, &MOUNTS)?;
        let at = at("", item);
        Some(format!(
            "nodeadm has no mount `{name}`{at} for `{path}.disabledMounts` and ignores it; did you mean `{meant}`?"
        ))
    });
    let gates = document.at(&["spec", "featureGates"]).map(Tree::entries);
    let gates = gates.unwrap_or_default().iter().filter_map(|(name, value)| {
        let meant = other_name(name, &GATES)?;
        let at = at(name.as_str(), value);
        Some(format!(
            "nodeadm has no feature gate `{name}`{at} and ignores it; did you mean `{meant}`?"
        ))
    });
    let of_kubelet = document.at(&["spec", "kubelet", "config", "featureGates"]);
    let of_kubelet = of_kubelet.map(Tree::entries).unwrap_or_default();
    let of_kubelet = of_kubelet.iter().filter_map(|(name, value)| {
        let at = at(name.as_str(), value);
        match feature_gates::meant(name) {
            Some(meant) => Some(feature_gates::sentence(name, meant, &at)),
            None => feature_gates::is_unknown(name).then(|| feature_gates::sentence_of_unknown(name, &at)),
        }
    });
    mounts.chain(gates).chain(of_kubelet).collect()
}

/// The name that a misspelt one means. Others may be of a newer nodeadm.
fn other_name(name: &str, known: &[&'static str]) -> Option<&'static str> {
    let meant = meant(name, known.iter().copied())?;
    (meant != name).then_some(meant)
}

/// A kubelet that reads such a taint exits (Kubernetes v1.34: `ValidateKubeletConfiguration`, `CheckTaintValidation`).
/// It takes one without an effect, which the API server rejects.
fn taints(document: &Tree) -> Vec<WrongType<'_>> {
    const LIST: &str = "registerWithTaints";
    let mut found = Vec::new();
    let mut add = |field: String, value, what: String| {
        found.push(WrongType {
            by: BY_KUBELET,
            field,
            key: String::new(),
            value,
            what,
        });
    };
    let items = document.items_at(&["spec", "kubelet", "config", LIST]);
    for (index, item) in items.iter().enumerate() {
        let path = format!("{CONFIG}.{LIST}[{index}]");
        if let Some(what) = wrong(item, FieldType::Mapping) {
            add(
                path.clone(),
                item,
                format!("{what} with `key`, `value` and `effect`"),
            );
        }
        for (key, value) in ["key", "value", "effect"].map(|key| (key, item.get(key))) {
            let Some(value) = value else { continue };
            if let Some(what) = wrong(value, FieldType::Text) {
                add(format!("{path}.{key}"), value, what);
            } else if let (true, Some(effect)) = (key == "effect" && is_other_effect(value), value.text()) {
                let what =
                    format!("is `{effect}`, and `NoSchedule`, `PreferNoSchedule` or `NoExecute` is expected");
                add(format!("{path}.{key}"), value, what);
            }
        }
    }
    found
}

/// Whether an effect is none of Kubernetes.
fn is_other_effect(value: &Tree) -> bool {
    value
        .text()
        .is_some_and(|text| !text.is_empty() && !is_open(text) && effect_of(text).is_none())
}

/// A strategy at which `setup-local-disks` exits: nodeadm runs it before the kubelet, and ends with it.
fn strategy(document: &Tree) -> Option<WrongType<'_>> {
    const KEY: &str = "strategy";
    let value = document.at(&LOCAL_STORAGE)?.get(KEY)?;
    let text = value.text()?;
    let mut known = STRATEGIES.iter().chain([&NO_STRATEGY]);
    let is_known = known.any(|known| known.eq_ignore_ascii_case(text));
    if is_known || text.is_empty() || is_open(text) || wrong(value, FieldType::Text).is_some() {
        return None;
    }
    Some(WrongType {
        by: "nodeadm ends before it starts the kubelet",
        field: format!("{}.{KEY}", LOCAL_STORAGE.join(".")),
        key: KEY.to_owned(),
        value,
        what: format!(
            "is `{text}`, and `setup-local-disks`, which nodeadm runs, takes `RAID0`, `RAID10` or `Mount`"
        ),
    })
}
