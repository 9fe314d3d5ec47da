//! Values of the kubelet's configuration with the type of their field, at which the kubelet exits nevertheless.
//!
//! From Kubernetes 1.36: `metav1.Duration`, `ValidateKubeletConfiguration`, `eviction.ParseThresholdConfig`,
//! `parseResourceList` and the managers of the processors and the memory.

use super::quantities::{is_duration, is_positive, is_quantity};
use super::types::{BY_KUBELET, CONFIG, FieldType, WrongType, is_open, wrong};
use crate::known_fields::plain_type;
use crate::tree::Tree;

/// What the value of a field can be.
#[derive(Debug, Clone, Copy)]
enum KubeletValue {
    Duration,
    Quantity,
    /// One of these words.
    Word(&'static [&'static str]),
    Between(i64, i64),
    /// Of an eviction.
    Threshold,
    Reclaim,
    GracePeriod,
    /// What is reserved.
    Reserved,
}

const VALUES: &[(&str, KubeletValue)] = &[
    ("authentication.webhook.cacheTTL", KubeletValue::Duration),
    ("authorization.webhook.cacheAuthorizedTTL", KubeletValue::Duration),
    (
        "authorization.webhook.cacheUnauthorizedTTL",
        KubeletValue::Duration,
    ),
    ("containerLogMaxFiles", KubeletValue::Between(2, LARGEST)),
    ("containerLogMaxSize", KubeletValue::Quantity),
    ("containerLogMonitorInterval", KubeletValue::Duration),
    ("cpuCFSQuotaPeriod", KubeletValue::Duration),
    ("cpuManagerPolicy", KubeletValue::Word(&["none", "static"])),
    ("cpuManagerReconcilePeriod", KubeletValue::Duration),
    (
        "crashLoopBackOff.maxContainerRestartPeriod",
        KubeletValue::Duration,
    ),
    ("eventBurst", NOT_NEGATIVE),
    ("eventRecordQPS", NOT_NEGATIVE),
    ("evictionPressureTransitionPeriod", KubeletValue::Duration),
    ("fileCheckFrequency", KubeletValue::Duration),
    (
        "hairpinMode",
        KubeletValue::Word(&["promiscuous-bridge", "hairpin-veth", "none"]),
    ),
    ("httpCheckFrequency", KubeletValue::Duration),
    ("imageGCHighThresholdPercent", PERCENT),
    ("imageGCLowThresholdPercent", PERCENT),
    ("imageMaximumGCAge", KubeletValue::Duration),
    ("imageMinimumGCAge", KubeletValue::Duration),
    ("kubeAPIBurst", NOT_NEGATIVE),
    ("kubeAPIQPS", NOT_NEGATIVE),
    ("maxOpenFiles", KubeletValue::Between(0, i64::MAX)),
    ("maxParallelImagePulls", KubeletValue::Between(1, LARGEST)),
    ("maxPods", NOT_NEGATIVE),
    ("memoryManagerPolicy", KubeletValue::Word(&["None", "Static"])),
    ("nodeStatusMaxImages", KubeletValue::Between(-1, LARGEST)),
    ("nodeStatusReportFrequency", KubeletValue::Duration),
    ("nodeStatusUpdateFrequency", KubeletValue::Duration),
    ("oomScoreAdj", KubeletValue::Between(-1000, 1000)),
    ("podsPerCore", NOT_NEGATIVE),
    ("readOnlyPort", KubeletValue::Between(0, 65_535)),
    ("registryBurst", NOT_NEGATIVE),
    ("registryPullQPS", NOT_NEGATIVE),
    ("runtimeRequestTimeout", KubeletValue::Duration),
    ("shutdownGracePeriod", KubeletValue::Duration),
    ("shutdownGracePeriodCriticalPods", KubeletValue::Duration),
    ("streamingConnectionIdleTimeout", KubeletValue::Duration),
    ("syncFrequency", KubeletValue::Duration),
    (
        "topologyManagerPolicy",
        KubeletValue::Word(&["none", "best-effort", "restricted", "single-numa-node"]),
    ),
    ("topologyManagerScope", KubeletValue::Word(&["container", "pod"])),
    ("volumeStatsAggPeriod", KubeletValue::Duration),
];
const LARGEST: i64 = 2_147_483_647;
const NOT_NEGATIVE: KubeletValue = KubeletValue::Between(0, LARGEST);
const PERCENT: KubeletValue = KubeletValue::Between(0, 100);

/// Fields with a mapping: what its keys are, and what its values can be.
const MAPPINGS: [(&str, &str, &[&str], KubeletValue); 6] = [
    ("evictionHard", SIGNAL, &SIGNALS, KubeletValue::Threshold),
    ("evictionMinimumReclaim", SIGNAL, &SIGNALS, KubeletValue::Reclaim),
    ("evictionSoft", SIGNAL, &SIGNALS, KubeletValue::Threshold),
    (
        "evictionSoftGracePeriod",
        SIGNAL,
        &SIGNALS,
        KubeletValue::GracePeriod,
    ),
    ("kubeReserved", RESOURCE, &RESOURCES, KubeletValue::Reserved),
    ("systemReserved", RESOURCE, &RESOURCES, KubeletValue::Reserved),
];
const SIGNAL: &str = "a signal of evictions";
const SIGNALS: [&str; 9] = [
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "containerfs.available",
    "containerfs.inodesFree",
    "pid.available",
    "allocatableMemory.available",
];
const RESOURCE: &str = "a resource that the kubelet reserves";
const RESOURCES: [&str; 4] = ["cpu", "memory", "ephemeral-storage", "pid"];

/// The values of a document at which the kubelet exits.
pub(super) fn rejected(document: &Tree) -> Vec<WrongType<'_>> {
    let mut found = Vec::new();
    for (field, expected) in VALUES {
        let path: Vec<&str> = CONFIG.split('.').chain(field.split('.')).collect();
        let Some(value) = document.at(&path) else { continue };
        if let Some(what) = expected.problem(value) {
            let key = path.last().copied().unwrap_or_default();
            found.push(wrong_value(path.join("."), key, value, what));
        }
    }
    for (field, kind, keys, expected) in MAPPINGS {
        let path: Vec<&str> = CONFIG.split('.').chain([field]).collect();
        let entries = document.at(&path).map(Tree::entries).unwrap_or_default();
        for (key, value) in entries {
            // The types of the fields tell other values.
            let is_checked = wrong(value, FieldType::Text).is_none() && !is_open(key);
            let what = match keys.contains(&key.as_str()) {
                true => expected.problem(value),
                false => Some(format!(
                    "is not {kind}: the kubelet knows {}",
                    listed(keys, "and")
                )),
            };
            if let Some(what) = what.filter(|_| is_checked) {
                found.push(wrong_value(format!("{}.{key}", path.join(".")), key, value, what));
            }
        }
    }
    found
}

fn wrong_value<'t>(field: String, key: &str, value: &'t Tree, what: String) -> WrongType<'t> {
    WrongType {
        by: BY_KUBELET,
        field,
        key: key.to_owned(),
        value,
        what,
    }
}

impl KubeletValue {
    /// What is wrong with a value. `None`: nothing, or a run fills it in.
    fn problem(self, value: &Tree) -> Option<String> {
        let of_type = match self {
            Self::Between(..) => None,
            _ => wrong(value, FieldType::Text),
        };
        let text = value.text();
        match (self, of_type, text) {
            // In quotes it would lack a unit.
            (Self::Duration, Some(_), Some(text)) => {
                let kind = plain_type(text).unwrap_or("text");
                Some(format!("is {kind}, and {} is expected", self.expected()))
            }
            (_, Some(what), _) => Some(what),
            (_, None, Some(text)) if !text.is_empty() && !is_open(text) && !self.admits(text) => {
                Some(format!("is `{text}`, and {} is expected", self.expected()))
            }
            _ => None,
        }
    }

    fn admits(self, text: &str) -> bool {
        let percentage = text.strip_suffix('%').map(str::parse::<f32>);
        match (self, percentage) {
            (Self::Duration, _) => is_duration(text),
            (Self::GracePeriod, _) => is_duration(text) && !text.starts_with('-'),
            (Self::Quantity, _) => is_quantity(text),
            (Self::Reserved, _) => is_quantity(text) && !text.starts_with('-'),
            (Self::Word(words), _) => words.contains(&text),
            // The types of the fields tell what is not a number.
            (Self::Between(least, most), _) => {
                let number = text.parse::<i64>().ok();
                number.is_none_or(|number| (least..=most).contains(&number))
            }
            (Self::Threshold, Some(percentage)) => {
                percentage.is_ok_and(|percentage| (0.0..=100.0).contains(&percentage))
            }
            (Self::Threshold, None) => is_quantity(text) && is_positive(text),
            (Self::Reclaim, Some(percentage)) => percentage.is_ok_and(|percentage| percentage > 0.0),
            (Self::Reclaim, None) => is_quantity(text) && !text.starts_with('-'),
        }
    }

    /// The rule in words.
    fn expected(self) -> String {
        match self {
            Self::Duration | Self::GracePeriod => "a duration such as `30s`".to_owned(),
            Self::Quantity | Self::Reserved => "a quantity such as `100Mi`".to_owned(),
            Self::Word(words) => listed(words, "or"),
            Self::Between(least, LARGEST | i64::MAX) => format!("a number from {least} on"),
            Self::Between(least, most) => format!("a number from {least} to {most}"),
            Self::Threshold => {
                "a quantity above zero such as `100Mi`, or a percentage such as `10%`,".to_owned()
            }
            Self::Reclaim => "a quantity such as `100Mi`, or a percentage such as `10%`,".to_owned(),
        }
    }
}

/// Such as `a`, `b` or `c`.
fn listed(words: &[&str], last: &str) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((end, begin)) if !begin.is_empty() => format!("{} {last} {end}", begin.join(", ")),
        _ => quoted.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::yaml;

    fn found(config: &str) -> Vec<String> {
        let text = format!("spec: {{ kubelet: {{ config: {{ {config} }} }} }}\n");
        let document = yaml(&text).unwrap().remove(0);
        let wrong = rejected(&document).into_iter();
        let field = |wrong: &WrongType<'_>| wrong.field.replace("spec.kubelet.config.", "");
        wrong
            .map(|wrong| format!("{} {}", field(&wrong), wrong.what))
            .collect()
    }

    #[test]
    fn values_at_which_a_kubelet_exits_are_found() {
        for (config, expected) in [
            (
                "shutdownGracePeriod: 30",
                "shutdownGracePeriod is a number, and a duration such as `30s` is expected",
            ),
            (
                "shutdownGracePeriod: \"30\"",
                "shutdownGracePeriod is `30`, and a duration such as `30s` is expected",
            ),
            (
                "authentication: { webhook: { cacheTTL: 2min } }",
                "authentication.webhook.cacheTTL is `2min`, and a duration such as `30s` is expected",
            ),
            (
                "kubeReserved: { memory: 100MB }",
                "kubeReserved.memory is `100MB`, and a quantity such as `100Mi` is expected",
            ),
            (
                "systemReserved: { disk: 1Gi }",
                "systemReserved.disk is not a resource that the kubelet reserves: the kubelet knows `cpu`, `memory`, `ephemeral-storage` and \
                 `pid`",
            ),
            (
                "cpuManagerPolicy: statik",
                "cpuManagerPolicy is `statik`, and `none` or `static` is expected",
            ),
            (
                "topologyManagerPolicy: true",
                "topologyManagerPolicy is a boolean, and text is expected; write `\"true\"`",
            ),
            (
                "memoryManagerPolicy: static",
                "memoryManagerPolicy is `static`, and `None` or `Static` is expected",
            ),
            (
                "evictionHard: { memory.available: 100Mb }",
                "evictionHard.memory.available is `100Mb`, and a quantity above zero such as `100Mi`, or a percentage such as `10%`, is \
                 expected",
            ),
            (
                "evictionHard: { nodefs.available: 101% }",
                "evictionHard.nodefs.available is `101%`, and a quantity above zero such as `100Mi`, or a percentage such as `10%`, is \
                 expected",
            ),
            (
                "evictionSoftGracePeriod: { memory.available: 1min }",
                "evictionSoftGracePeriod.memory.available is `1min`, and a duration such as `30s` is expected",
            ),
            (
                "imageGCHighThresholdPercent: 120",
                "imageGCHighThresholdPercent is `120`, and a number from 0 to 100 is expected",
            ),
            (
                "kubeAPIQPS: -1",
                "kubeAPIQPS is `-1`, and a number from 0 on is expected",
            ),
        ] {
            assert_eq!(found(config), [expected], "{config}");
        }
        let signal = found("evictionHard: { memory.free: 100Mi }");
        assert!(
            signal.len() == 1 && signal[0].contains("is not a signal of evictions"),
            "{signal:?}"
        );
    }

    #[test]
    fn right_values_and_those_that_a_run_fills_in_are_not_found() {
        for config in [
            "shutdownGracePeriod: 30s, shutdownGracePeriodCriticalPods: \"0\", syncFrequency: 1m0s",
            "kubeReserved: { cpu: 100m, memory: 0.5Gi, ephemeral-storage: \"0\", pid: \"1000\" }",
            "evictionHard: { memory.available: 5%, nodefs.available: 0%, imagefs.inodesFree: 100Mi, pid.available: 100% }",
            "evictionMinimumReclaim: { memory.available: 0Mi, nodefs.available: 500Mi }",
            "cpuManagerPolicy: static, memoryManagerPolicy: Static, hairpinMode: hairpin-veth",
            "cpuManagerPolicy: $POLICY, topologyManagerScope: \"\", containerLogMaxSize: 50Mi",
            "kubeReserved: { memory: $MEMORY, $NAME: 1Gi }, maxPods: $PODS, podsPerCore: 0",
            "maxPods: text, evictionHard: { memory.available: 100 }, evictionSoft: null",
            "imageGCHighThresholdPercent: 100, nodeStatusMaxImages: -1, oomScoreAdj: -999",
        ] {
            assert_eq!(found(config), [""; 0], "{config}");
        }
    }
}
