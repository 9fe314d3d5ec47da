//! Settings of the kubelet as flags of AL2 and Windows, and as settings of Bottlerocket.

use crate::toml_table::subtable;
use crate::tree::Tree;
use crate::words::texts;

/// Numbers and booleans, each with its flag.
const PLAIN: &[(&str, &str)] = &[
    ("podsPerCore", "--pods-per-core"),
    ("evictionMaxPodGracePeriod", "--eviction-max-pod-grace-period"),
    ("imageGCHighThresholdPercent", "--image-gc-high-threshold"),
    ("imageGCLowThresholdPercent", "--image-gc-low-threshold"),
    ("cpuCFSQuota", "--cpu-cfs-quota"),
];
/// Mappings, each with its flag, the sign between key and value, and its setting of Bottlerocket.
const MAPPINGS: &[(&str, &str, &str, &str)] = &[
    ("systemReserved", "--system-reserved", "=", "system-reserved"),
    ("kubeReserved", "--kube-reserved", "=", "kube-reserved"),
    ("evictionHard", "--eviction-hard", "<", "eviction-hard"),
    ("evictionSoft", "--eviction-soft", "<", "eviction-soft"),
    (
        "evictionSoftGracePeriod",
        "--eviction-soft-grace-period",
        "=",
        "eviction-soft-grace-period",
    ),
];

/// The flags. Values of mappings stand in quotes, which are part of the text.
pub(super) fn flags(kubelet: &Tree) -> Vec<String> {
    let plain = PLAIN
        .iter()
        .filter_map(|(key, flag)| Some(format!("{flag}={}", kubelet.text_at(&[key])?)));
    let mappings = MAPPINGS.iter().filter_map(|(key, flag, sign, _)| {
        let pairs: Vec<String> = texts(kubelet.get(key))
            .iter()
            .map(|(key, value)| format!("{key}{sign}{value}"))
            .collect();
        (!pairs.is_empty()).then(|| format!("{flag}=\"{}\"", pairs.join(",")))
    });
    plain.chain(mappings).collect()
}

/// Replaces the settings that the class or pool states.
pub(super) fn set(kubernetes: &mut toml::Table, kubelet: &Tree) {
    for (key, _, _, setting) in MAPPINGS {
        let pairs = texts(kubelet.get(key));
        if pairs.is_empty() {
            continue;
        }
        kubernetes.remove(*setting);
        let table = subtable(kubernetes, setting);
        table.extend(pairs.into_iter().map(|(key, value)| (key, value.into())));
    }
    for (key, setting) in [
        ("imageGCHighThresholdPercent", "image-gc-high-threshold-percent"),
        ("imageGCLowThresholdPercent", "image-gc-low-threshold-percent"),
    ] {
        if let Some(value) = kubelet.text_at(&[key]) {
            kubernetes.insert(setting.to_owned(), value.into());
        }
    }
    let grace = kubelet.text_at(&["evictionMaxPodGracePeriod"]);
    if let Some(seconds) = grace.and_then(|seconds| seconds.parse::<i64>().ok()) {
        kubernetes.insert("eviction-max-pod-grace-period".to_owned(), seconds.into());
    }
    if let Some(quota) = kubelet.text_at(&["cpuCFSQuota"]) {
        kubernetes.insert("cpu-cfs-quota-enforced".to_owned(), (quota == "true").into());
    }
}
