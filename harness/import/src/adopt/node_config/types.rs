//! The types of the fields in a NodeConfig: nodeadm, or the kubelet for its configuration, rejects other values.

use crate::adopt::shell::UNKNOWN;
use crate::known_fields::plain_type;
use crate::tree::{Tree, TreeValue};

/// The version and the kind that nodeadm decodes.
pub(super) const API: &str = "node.eks.aws/v1alpha1";
pub(super) const KIND: &str = "NodeConfig";
/// The field with the configuration of the kubelet.
pub(super) const CONFIG: &str = "spec.kubelet.config";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldType {
    Text,
    Boolean,
    Number,
    List,
    /// A list of text.
    Texts,
    Mapping,
    /// Mappings to text, and to booleans.
    TextMapping,
    BooleanMapping,
}

/// Fields of nodeadm's api/v1alpha1.
const OF_NODEADM: [(&str, FieldType); 25] = [
    ("spec", FieldType::Mapping),
    ("spec.cluster", FieldType::Mapping),
    ("spec.cluster.name", FieldType::Text),
    ("spec.cluster.apiServerEndpoint", FieldType::Text),
    ("spec.cluster.certificateAuthority", FieldType::Text),
    ("spec.cluster.cidr", FieldType::Text),
    ("spec.cluster.enableOutpost", FieldType::Boolean),
    ("spec.cluster.id", FieldType::Text),
    ("spec.containerd", FieldType::Mapping),
    ("spec.containerd.config", FieldType::Text),
    ("spec.containerd.baseRuntimeSpec", FieldType::Mapping),
    ("spec.instance", FieldType::Mapping),
    ("spec.instance.localStorage", FieldType::Mapping),
    ("spec.instance.localStorage.strategy", FieldType::Text),
    ("spec.instance.localStorage.mountPath", FieldType::Text),
    ("spec.instance.localStorage.disabledMounts", FieldType::Texts),
    ("spec.instance.environment", FieldType::Mapping),
    ("spec.instance.network", FieldType::Mapping),
    ("spec.instance.network.nameservers", FieldType::Texts),
    ("spec.instance.network.domains", FieldType::Texts),
    ("spec.kubelet", FieldType::Mapping),
    (CONFIG, FieldType::Mapping),
    ("spec.kubelet.flags", FieldType::Texts),
    ("spec.kubelet.maxPodsExpression", FieldType::Text),
    ("spec.featureGates", FieldType::BooleanMapping),
];

/// Fields of the kubelet's config/v1beta1 that users set.
const OF_KUBELET: [(&[&str], FieldType); 6] = [
    (
        &[
            "maxPods",
            "podsPerCore",
            "podPidsLimit",
            "registryPullQPS",
            "registryBurst",
            "eventRecordQPS",
            "eventBurst",
            "kubeAPIQPS",
            "kubeAPIBurst",
            "maxParallelImagePulls",
            "containerLogMaxFiles",
            "imageGCHighThresholdPercent",
            "imageGCLowThresholdPercent",
            "evictionMaxPodGracePeriod",
            "nodeStatusMaxImages",
            "maxOpenFiles",
            "readOnlyPort",
            "oomScoreAdj",
        ],
        FieldType::Number,
    ),
    (
        &[
            "serializeImagePulls",
            "protectKernelDefaults",
            "failSwapOn",
            "rotateCertificates",
            "serverTLSBootstrap",
            "seccompDefault",
            "cpuCFSQuota",
            "registerNode",
            "enableDebuggingHandlers",
            "enableControllerAttachDetach",
            "makeIPTablesUtilChains",
        ],
        FieldType::Boolean,
    ),
    (
        &["clusterDNS", "enforceNodeAllocatable", "allowedUnsafeSysctls"],
        FieldType::Texts,
    ),
    (&["registerWithTaints", "reservedMemory"], FieldType::List),
    (
        &[
            "evictionHard",
            "evictionSoft",
            "evictionSoftGracePeriod",
            "evictionMinimumReclaim",
            "systemReserved",
            "kubeReserved",
            "cpuManagerPolicyOptions",
        ],
        FieldType::TextMapping,
    ),
    (&["featureGates"], FieldType::BooleanMapping),
];

/// A value of another type than that of its field.
pub(super) struct WrongType<'t> {
    /// Who rejects it.
    pub(super) by: &'static str,
    /// The path of the field.
    pub(super) field: String,
    /// Its last key.
    pub(super) key: String,
    pub(super) value: &'t Tree,
    /// What it is, what is expected, and what to write.
    pub(super) what: String,
}

/// Who rejects a value of the kubelet's configuration.
pub(super) const BY_KUBELET: &str = "the kubelet rejects its configuration";

/// The fields of a document with a value of another type.
pub(super) fn wrong_types(document: &Tree) -> Vec<WrongType<'_>> {
    let mut found = Vec::new();
    for (path, expected) in OF_NODEADM {
        check(
            "nodeadm rejects the NodeConfig",
            document,
            path,
            expected,
            &mut found,
        );
    }
    for (fields, expected) in OF_KUBELET {
        for field in fields {
            let path = format!("{CONFIG}.{field}");
            check(BY_KUBELET, document, &path, expected, &mut found);
        }
    }
    found
}

fn check<'t>(
    by: &'static str,
    document: &'t Tree,
    path: &str,
    expected: FieldType,
    found: &mut Vec<WrongType<'t>>,
) {
    let keys: Vec<&str> = path.split('.').collect();
    let Some(value) = document.at(&keys) else { return };
    let mut add = |field: String, key: &str, value: &'t Tree, expected: FieldType| {
        if let Some(what) = wrong(value, expected) {
            let key = key.to_owned();
            found.push(WrongType {
                by,
                field,
                key,
                value,
                what,
            });
        }
    };
    let last = keys.last().copied().unwrap_or_default();
    add(path.to_owned(), last, value, expected);
    let inner = match expected {
        FieldType::TextMapping => FieldType::Text,
        FieldType::BooleanMapping => FieldType::Boolean,
        FieldType::Texts => {
            for (index, item) in value.items().iter().enumerate() {
                add(format!("{path}[{index}]"), "", item, FieldType::Text);
            }
            return;
        }
        _ => return,
    };
    for (key, item) in value.entries() {
        add(format!("{path}.{key}"), key, item, inner);
    }
}

/// Why a value does not have the type. `None`: it has, or a run fills it in.
pub(super) fn wrong(value: &Tree, expected: FieldType) -> Option<String> {
    let kind = match &value.value {
        _ if value.is_null() => return None,
        TreeValue::Scalar { text, .. } if is_open(text) => return None,
        TreeValue::Scalar { text, is_plain: true } => plain_type(text).unwrap_or("text"),
        TreeValue::Scalar { .. } => "text",
        TreeValue::List(_) => "a list",
        TreeValue::Map(_) => "a mapping",
    };
    let wanted = match expected {
        FieldType::Text => "text",
        FieldType::Boolean => "a boolean",
        FieldType::Number => "a number",
        FieldType::List | FieldType::Texts => "a list",
        FieldType::Mapping | FieldType::TextMapping | FieldType::BooleanMapping => "a mapping",
    };
    if kind == wanted {
        return None;
    }
    let text = value.text().unwrap_or_default();
    let advice = match (kind, wanted) {
        ("text", "a list") if !text.contains('\n') => format!("; write `[\"{text}\"]`"),
        ("a boolean" | "a number", "text") => format!("; write `\"{text}\"`"),
        ("text", "a number") if plain_type(text) == Some("a number") => {
            format!("; write `{text}` without quotes")
        }
        ("text", "a boolean") if plain_type(text) == Some("a boolean") => {
            format!("; write `{text}` without quotes")
        }
        _ => String::new(),
    };
    Some(format!("is {kind}, and {wanted} is expected{advice}"))
}

/// Whether a run fills in a value, or a part of it.
pub(super) fn is_open(text: &str) -> bool {
    text.contains([UNKNOWN, '$', '{', '<'])
}
