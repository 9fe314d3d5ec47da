//! The table of differences between versions of Kubernetes.

use super::row::{Difference, DifferenceKind};
use crate::kubernetes::version::Minor;

/// The first kubelet that does not start on a host with cgroup v1 without `failCgroupV1: false`.
pub const CGROUP_V1_REFUSED_SINCE: Minor = Minor::new(35);

pub(super) const REFUSES_CGROUP_V1: &str = "refuses cgroup v1";
pub(super) const DOCKERSHIM: &str = "runs pods over Docker";
pub(super) const IN_TREE_AWS: &str = "includes the AWS cloud provider";
pub(super) const LOOKS_AGAIN: &str = "checks its conditions again as soon as they change";
pub(super) const TAKES_CONFIG_DIR: &str = "supports --config-dir without an environment variable";
pub(super) const CONFIG_MAP_WITH_VERSION: &str = "reads a ConfigMap with its version from kubeadm";

/// Rows of one kind are ordered from old to new.
pub(super) const TABLE: &[Difference] = &{
    use DifferenceKind::*;
    const OPTIONS: &str = "the options of cmd/kubelet, compared from release to release";
    const DOCKER: &str = "kubernetes#106907: dockershim and its flags removed in 1.24";
    const FIELDS: &str = "config/v1beta1/types.go of kubernetes/kubelet, compared from release to release";
    const GRACEFUL: &str =
        "1.20 has it behind the feature gate GracefulNodeShutdown, and exits without the gate";
    const OF_A_FIELD: &str = "set the field of KubeletConfiguration with this name";
    const LOGGING: &str = "KEP-2845: flags of klog's files removed in 1.26";
    const REMOVED: &str = "the removed feature gates of the documentation";
    [
        row(
            KubeletFlag,
            "--allow-privileged",
            "missing in 1.20; Amazon's AMI omits it from 1.15 on",
        )
        .until(14),
        row(KubeletFlag, "--chaos-chance", "kubernetes#101057").until(21),
        row(KubeletFlag, "--seccomp-profile-root", "kubernetes#103941").until(22),
        row(KubeletFlag, "--network-plugin", DOCKER).until(23),
        row(KubeletFlag, "--network-plugin-mtu", DOCKER).until(23),
        row(KubeletFlag, "--cni-bin-dir", DOCKER).until(23),
        row(KubeletFlag, "--cni-conf-dir", DOCKER).until(23),
        row(KubeletFlag, "--cni-cache-dir", DOCKER).until(23),
        row(KubeletFlag, "--docker-endpoint", DOCKER).until(23),
        row(KubeletFlag, "--image-pull-progress-deadline", DOCKER).until(23),
        row(KubeletFlag, "--non-masquerade-cidr", DOCKER).until(23),
        row(
            KubeletFlag,
            "--dynamic-config-dir",
            "KEP-281: removed from the kubelet in 1.24",
        )
        .until(23),
        row(KubeletFlag, "--logtostderr", LOGGING).until(25),
        row(KubeletFlag, "--alsologtostderr", LOGGING).until(25),
        row(KubeletFlag, "--log-dir", LOGGING).until(25),
        row(KubeletFlag, "--log-file", LOGGING).until(25),
        row(KubeletFlag, "--container-runtime", OPTIONS).until(26),
        row(KubeletFlag, "--master-service-namespace", OPTIONS).until(26),
        row(KubeletFlag, "--keep-terminated-pod-volumes", OPTIONS).until(30),
        row(KubeletFlag, "--iptables-drop-bit", OPTIONS).until(30),
        row(KubeletFlag, "--iptables-masquerade-bit", OPTIONS).until(30),
        row(KubeletFlag, "--cloud-config", OPTIONS).until(33),
        row(KubeletFlag, "--register-schedulable", OPTIONS).until(33),
        row(KubeletFlag, "--pod-infra-container-image", OPTIONS).until(34),
        row(KubeletFlag, "--memory-manager-policy", OF_A_FIELD).since(21),
        row(KubeletFlag, "--reserved-memory", OF_A_FIELD).since(21),
        row(KubeletFlag, "--cpu-manager-policy-options", OF_A_FIELD).since(22),
        row(KubeletFlag, "--seccomp-default", OF_A_FIELD).since(22),
        row(KubeletFlag, "--local-storage-capacity-isolation", OF_A_FIELD).since(25),
        row(KubeletFlag, "--topology-manager-policy-options", OPTIONS).since(26),
        row(KubeletFlag, "--config-dir", OPTIONS).since(28),
        row(KubeletFlag, "--fail-cgroupv1", OPTIONS).since(31),
        //
        row(KubeletField, "shutdownGracePeriod", GRACEFUL).since(21),
        row(KubeletField, "shutdownGracePeriodCriticalPods", GRACEFUL).since(21),
        row(KubeletField, "enableDebugFlagsHandler", FIELDS).since(21),
        row(KubeletField, "enableProfilingHandler", FIELDS).since(21),
        row(KubeletField, "memoryManagerPolicy", FIELDS).since(21),
        row(KubeletField, "reservedMemory", FIELDS).since(21),
        row(KubeletField, "cpuManagerPolicyOptions", FIELDS).since(22),
        row(KubeletField, "memorySwap", FIELDS).since(22),
        row(KubeletField, "memoryThrottlingFactor", FIELDS).since(22),
        row(KubeletField, "seccompDefault", FIELDS).since(22),
        row(KubeletField, "registerNode", FIELDS).since(23),
        row(KubeletField, "registerWithTaints", FIELDS).since(23),
        row(KubeletField, "shutdownGracePeriodByPodPriority", FIELDS).since(23),
        row(KubeletField, "localStorageCapacityIsolation", FIELDS).since(25),
        row(KubeletField, "tracing", FIELDS).since(25),
        row(KubeletField, "topologyManagerPolicyOptions", FIELDS).since(26),
        row(KubeletField, "containerRuntimeEndpoint", FIELDS).since(27),
        row(KubeletField, "enableSystemLogQuery", FIELDS).since(27),
        row(KubeletField, "imageServiceEndpoint", FIELDS).since(27),
        row(KubeletField, "maxParallelImagePulls", FIELDS).since(27),
        row(KubeletField, "imageMaximumGCAge", FIELDS).since(29),
        row(KubeletField, "containerLogMaxWorkers", FIELDS).since(30),
        row(KubeletField, "containerLogMonitorInterval", FIELDS).since(30),
        row(KubeletField, "podLogsDir", FIELDS).since(30),
        row(KubeletField, "failCgroupV1", FIELDS).since(31),
        row(KubeletField, "crashLoopBackOff", FIELDS).since(32),
        row(KubeletField, "singleProcessOOMKill", FIELDS).since(32),
        row(KubeletField, "imagePullCredentialsVerificationPolicy", FIELDS).since(33),
        row(KubeletField, "mergeDefaultEvictionSettings", FIELDS).since(33),
        row(KubeletField, "preloadedImagesVerificationAllowlist", FIELDS).since(33),
        row(KubeletField, "userNamespaces", FIELDS).since(33),
        row(KubeletField, "memoryReservationPolicy", FIELDS).since(36),
        row(KubeletField, "tlsCurvePreferences", FIELDS).since(36),
        //
        row(KubeletGate, "IPv6DualStack", REMOVED).until(24),
        row(KubeletGate, "TTLAfterFinished", REMOVED).until(24),
        row(KubeletGate, "CSIMigration", REMOVED).until(26),
        row(KubeletGate, "CSIMigrationAWS", REMOVED).until(26),
        row(KubeletGate, "EphemeralContainers", REMOVED).until(26),
        row(KubeletGate, "ExpandCSIVolumes", REMOVED).until(26),
        row(KubeletGate, "ExpandInUsePersistentVolumes", REMOVED).until(26),
        row(KubeletGate, "ExpandPersistentVolumes", REMOVED).until(26),
        row(
            KubeletGate,
            "KubeletCredentialProviders",
            "pkg/features of 1.27: to be removed in 1.28",
        )
        .until(27),
        row(
            KubeletGate,
            "DisableCloudProviders",
            "pkg/features, compared from release to release",
        )
        .until(32),
        row(
            KubeletGate,
            "DisableKubeletCloudCredentialProviders",
            "pkg/features, compared from release to release",
        )
        .until(32),
        //
        row(
            KubeletBehaviour,
            LOOKS_AGAIN,
            "observed with 1.22 and later, not with 1.20.2",
        )
        .since(22),
        row(KubeletBehaviour, DOCKERSHIM, DOCKER).until(23),
        row(
            KubeletBehaviour,
            CONFIG_MAP_WITH_VERSION,
            "kubeadm's UnversionedKubeletConfigMap",
        )
        .until(23),
        row(
            KubeletBehaviour,
            IN_TREE_AWS,
            "cloud-provider-aws#635: removed in 1.27",
        )
        .until(26),
        row(KubeletBehaviour, TAKES_CONFIG_DIR, "KEP-3983: beta in 1.30").since(30),
        row(
            KubeletBehaviour,
            REFUSES_CGROUP_V1,
            "kubernetes#134298: failCgroupV1 is true by default in 1.35",
        )
        .since(CGROUP_V1_REFUSED_SINCE.number()),
        //
        row(
            ExecCredential,
            "v1alpha1",
            "client-go's clientauthentication/install",
        )
        .until(23),
        row(
            ExecCredential,
            "v1beta1",
            "client-go's clientauthentication/install",
        ),
        row(ExecCredential, "v1", "client-go's clientauthentication/install").since(22),
        //
        row(
            CredentialProvider,
            "v1alpha1",
            "the scheme of pkg/credentialprovider/plugin",
        ),
        row(
            CredentialProvider,
            "v1beta1",
            "the scheme of pkg/credentialprovider/plugin",
        )
        .since(24),
        row(
            CredentialProvider,
            "v1",
            "the scheme of pkg/credentialprovider/plugin",
        )
        .since(26),
        //
        row(CertificatesApi, "v1beta1", "deprecation guide: removed in 1.22").until(21),
        row(CertificatesApi, "v1", "deprecation guide: from 1.19 on").since(19),
        row(TokenReviewApi, "v1beta1", "deprecation guide: removed in 1.22").until(21),
        row(TokenReviewApi, "v1", "deprecation guide: from 1.6 on").since(6),
        //
        row(KubeadmApi, "v1beta1", "kubernetes#101129")
            .since(13)
            .until(21),
        row(KubeadmApi, "v1beta2", "kubeadm#2459").since(15).until(26),
        row(KubeadmApi, "v1beta3", "kubernetes#101129, kubernetes#136016")
            .since(22)
            .until(36),
        row(KubeadmApi, "v1beta4", "the scheme of kubeadm 1.31").since(31),
        //
        row(
            ApiServerFlag,
            "--insecure-port",
            "without effect from 1.20 on, removed in 1.24",
        )
        .until(23),
        row(
            ApiServerFlag,
            "--cloud-provider",
            "the options of cmd/kube-apiserver, compared from release to release",
        )
        .until(32),
        row(
            ControllerManagerFlag,
            "--port",
            "without effect from 1.20 on, removed in 1.24",
        )
        .until(23),
        //
        row(
            K3sFlag,
            "--egress-selector-mode",
            "k3s-io/k3s#5577: the releases of May 2022, 1.22 the oldest of them",
        )
        .since(22),
        row(Etcd, "3.4", "kubeadm's DefaultEtcdVersion").until(21),
        row(Etcd, "3.5", "kubeadm's DefaultEtcdVersion")
            .since(22)
            .until(33),
        row(Etcd, "3.6", "kubeadm's DefaultEtcdVersion").since(34),
    ]
};

const fn row(what: DifferenceKind, name: &'static str, source: &'static str) -> Difference {
    Difference {
        what,
        name,
        since: None,
        until: None,
        source,
    }
}

impl Difference {
    const fn since(self, minor: u32) -> Self {
        Self {
            since: Some(Minor::new(minor)),
            ..self
        }
    }

    const fn until(self, minor: u32) -> Self {
        Self {
            until: Some(Minor::new(minor)),
            ..self
        }
    }
}
