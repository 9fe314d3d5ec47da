//! The settings of Bottlerocket that nodejoin knows, their types, and the fields of the kubelet that they set.

/// Keys of `settings`.
pub(super) const SETTINGS: &[&str] = &[
    "autoscaling",
    "aws",
    "boot",
    "bootstrap-commands",
    "bootstrap-containers",
    "cloudformation",
    "container-registry",
    "container-runtime",
    "container-runtime-plugins",
    "dns",
    "host-containers",
    "image-verifier-plugins",
    "kernel",
    "kubelet-device-plugins",
    "kubelet-dra-drivers",
    "kubernetes",
    "measurement",
    "metrics",
    "motd",
    "network",
    "ntp",
    "nvidia-container-runtime",
    "oci-defaults",
    "oci-hooks",
    "pki",
    "updates",
];

/// The type of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Text,
    Number,
    /// A number, also as text.
    Percent,
    Switch,
    /// Names, each with a text.
    Table,
    /// Names, each with a text or a list of texts.
    Taints,
    Texts,
    /// A text or a list of texts.
    Addresses,
    /// Not checked.
    Any,
}

/// A key of `settings.kubernetes`.
#[derive(Debug, Clone, Copy)]
pub(super) struct KubernetesKey {
    pub(super) name: &'static str,
    pub(super) kind: ValueKind,
    /// The field of KubeletConfiguration with its value.
    pub(super) field: Option<&'static str>,
}

/// Keys of `settings.kubernetes`.
pub(super) const KUBERNETES: &[KubernetesKey] = &[
    field("allowed-unsafe-sysctls", ValueKind::Texts, "allowedUnsafeSysctls"),
    own("api-server", ValueKind::Text),
    own("authentication-mode", ValueKind::Text),
    own("bootstrap-token", ValueKind::Text),
    own("cloud-provider", ValueKind::Text),
    own("cluster-certificate", ValueKind::Text),
    field("cluster-dns-ip", ValueKind::Addresses, "clusterDNS"),
    field("cluster-domain", ValueKind::Text, "clusterDomain"),
    own("cluster-name", ValueKind::Text),
    field(
        "container-log-max-files",
        ValueKind::Number,
        "containerLogMaxFiles",
    ),
    field("container-log-max-size", ValueKind::Text, "containerLogMaxSize"),
    field(
        "container-log-max-workers",
        ValueKind::Number,
        "containerLogMaxWorkers",
    ),
    field(
        "container-log-monitor-interval",
        ValueKind::Text,
        "containerLogMonitorInterval",
    ),
    field("cpu-cfs-quota-enforced", ValueKind::Switch, "cpuCFSQuota"),
    field("cpu-manager-policy", ValueKind::Text, "cpuManagerPolicy"),
    own("cpu-manager-policy-options", ValueKind::Texts),
    field(
        "cpu-manager-reconcile-period",
        ValueKind::Text,
        "cpuManagerReconcilePeriod",
    ),
    own("credential-providers", ValueKind::Any),
    own("device-ownership-from-security-context", ValueKind::Any),
    field("event-burst", ValueKind::Number, "eventBurst"),
    field("event-qps", ValueKind::Number, "eventRecordQPS"),
    field("eviction-hard", ValueKind::Table, "evictionHard"),
    field(
        "eviction-max-pod-grace-period",
        ValueKind::Number,
        "evictionMaxPodGracePeriod",
    ),
    field("eviction-soft", ValueKind::Table, "evictionSoft"),
    field(
        "eviction-soft-grace-period",
        ValueKind::Table,
        "evictionSoftGracePeriod",
    ),
    own("fail-cgroup-v1", ValueKind::Any),
    own("fail-cgroupv1", ValueKind::Any),
    own("hostname-override", ValueKind::Text),
    own("hostname-override-source", ValueKind::Any),
    own("ids-per-pod", ValueKind::Any),
    field(
        "image-gc-high-threshold-percent",
        ValueKind::Percent,
        "imageGCHighThresholdPercent",
    ),
    field(
        "image-gc-low-threshold-percent",
        ValueKind::Percent,
        "imageGCLowThresholdPercent",
    ),
    field("image-maximum-gc-age", ValueKind::Text, "imageMaximumGCAge"),
    field("image-minimum-gc-age", ValueKind::Text, "imageMinimumGCAge"),
    field("kube-api-burst", ValueKind::Number, "kubeAPIBurst"),
    field("kube-api-qps", ValueKind::Number, "kubeAPIQPS"),
    field("kube-reserved", ValueKind::Table, "kubeReserved"),
    own("kubelet-extra-config", ValueKind::Any),
    own("log-level", ValueKind::Number),
    own("max-parallel-image-pulls", ValueKind::Any),
    field("max-pods", ValueKind::Number, "maxPods"),
    field("memory-manager-policy", ValueKind::Text, "memoryManagerPolicy"),
    own("memory-manager-reserved-memory", ValueKind::Any),
    own("memory-swap-behavior", ValueKind::Any),
    own("node-ip", ValueKind::Text),
    own("node-labels", ValueKind::Table),
    own("node-taints", ValueKind::Taints),
    own("pod-infra-container-image", ValueKind::Text),
    field("pod-pids-limit", ValueKind::Number, "podPidsLimit"),
    field("provider-id", ValueKind::Text, "providerID"),
    field("registry-burst", ValueKind::Number, "registryBurst"),
    field("registry-qps", ValueKind::Number, "registryPullQPS"),
    field("reserved-cpus", ValueKind::Text, "reservedSystemCPUs"),
    field("seccomp-default", ValueKind::Switch, "seccompDefault"),
    own("server-certificate", ValueKind::Any),
    own("server-key", ValueKind::Any),
    field("server-tls-bootstrap", ValueKind::Switch, "serverTLSBootstrap"),
    field("shutdown-grace-period", ValueKind::Text, "shutdownGracePeriod"),
    field(
        "shutdown-grace-period-for-critical-pods",
        ValueKind::Text,
        "shutdownGracePeriodCriticalPods",
    ),
    field(
        "single-process-oom-kill",
        ValueKind::Switch,
        "singleProcessOOMKill",
    ),
    own("standalone-mode", ValueKind::Switch),
    own("static-pods", ValueKind::Any),
    own("static-pods-enabled", ValueKind::Any),
    field("system-reserved", ValueKind::Table, "systemReserved"),
    field(
        "topology-manager-policy",
        ValueKind::Text,
        "topologyManagerPolicy",
    ),
    own("topology-manager-policy-options", ValueKind::Any),
    field("topology-manager-scope", ValueKind::Text, "topologyManagerScope"),
];

const fn field(name: &'static str, kind: ValueKind, field: &'static str) -> KubernetesKey {
    KubernetesKey {
        name,
        kind,
        field: Some(field),
    }
}

const fn own(name: &'static str, kind: ValueKind) -> KubernetesKey {
    KubernetesKey {
        name,
        kind,
        field: None,
    }
}

impl ValueKind {
    /// Whether a value has this type.
    pub(super) fn admits(self, value: &toml::Value) -> bool {
        let is_list = |value: &toml::Value| {
            value
                .as_array()
                .is_some_and(|items| items.iter().all(toml::Value::is_str))
        };
        let all = |is_valid: &dyn Fn(&toml::Value) -> bool| {
            value.as_table().is_some_and(|table| table.values().all(is_valid))
        };
        match self {
            Self::Text => value.is_str(),
            Self::Number => value.is_integer(),
            Self::Percent => {
                value.is_integer() || value.as_str().is_some_and(|text| text.parse::<u8>().is_ok())
            }
            Self::Switch => value.is_bool(),
            Self::Table => all(&toml::Value::is_str),
            Self::Taints => all(&|value| value.is_str() || is_list(value)),
            Self::Texts => is_list(value),
            Self::Addresses => value.is_str() || is_list(value),
            Self::Any => true,
        }
    }

    /// The type in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number | Self::Percent => "a number",
            Self::Switch => "true or false",
            Self::Table => "a table of texts",
            Self::Taints => "a table of texts or lists",
            Self::Texts => "a list of texts",
            Self::Addresses => "an address or a list of addresses",
            Self::Any => "any value",
        }
    }
}
