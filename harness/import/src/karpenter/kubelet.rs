//! Settings of the kubelet as flags, in the order that Karpenter writes them.

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
/// Mappings, each with its flag and the sign between key and value.
const MAPPINGS: &[(&str, &str, &str)] = &[
    ("systemReserved", "--system-reserved", "="),
    ("kubeReserved", "--kube-reserved", "="),
    ("evictionHard", "--eviction-hard", "<"),
    ("evictionSoft", "--eviction-soft", "<"),
    ("evictionSoftGracePeriod", "--eviction-soft-grace-period", "="),
];

pub(super) fn flags(kubelet: &Tree) -> Vec<String> {
    let plain = PLAIN
        .iter()
        .filter_map(|(key, flag)| Some(format!("{flag}={}", kubelet.text_at(&[key])?)));
    let mappings = MAPPINGS.iter().filter_map(|(key, flag, sign)| {
        let pairs: Vec<String> = texts(kubelet.get(key))
            .iter()
            .map(|(key, value)| format!("{key}{sign}{value}"))
            .collect();
        (!pairs.is_empty()).then(|| format!("{flag}={}", pairs.join(",")))
    });
    plain.chain(mappings).collect()
}
