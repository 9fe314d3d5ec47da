//! Differences between versions of Kubernetes: one table, and functions that look them up.

use super::version::Minor;

/// The subject of a row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DifferenceKind {
    /// A flag of the kubelet.
    KubeletFlag,
    /// A field of the kubelet's configuration file, `kubelet.config.k8s.io/v1beta1`.
    KubeletField,
    /// A feature gate of the kubelet, which does not start with an unknown one.
    KubeletGate,
    /// A behaviour of the kubelet.
    KubeletBehaviour,
    /// A version of `client.authentication.k8s.io`, for a kubeconfig with an `exec` user.
    ExecCredential,
    /// A version of `kubelet.config.k8s.io` for the file of `--image-credential-provider-config`.
    CredentialProvider,
    /// A version of `certificates.k8s.io` that the API server serves.
    CertificatesApi,
    /// A version of `authentication.k8s.io` with TokenReview that the API server serves.
    TokenReviewApi,
    /// A version of `kubeadm.k8s.io` that kubeadm reads.
    KubeadmApi,
    /// A flag of kube-apiserver.
    ApiServerFlag,
    /// A flag of kube-controller-manager.
    ControllerManagerFlag,
    /// A flag of `k3s server`.
    K3sFlag,
    /// The minor version of etcd that the release is built and tested with.
    Etcd,
}

/// A row of the table: a feature that not every version has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    pub what: DifferenceKind,
    /// Its name, as in a configuration.
    pub name: &'static str,
    /// The first version that has it; `None` if all older versions do.
    pub since: Option<Minor>,
    /// The last version that has it; `None` if the newest version does.
    pub until: Option<Minor>,
    /// The source of this fact.
    pub source: &'static str,
}

impl Difference {
    #[must_use]
    pub fn is_in(&self, minor: Minor) -> bool {
        self.since.is_none_or(|since| since <= minor) && self.until.is_none_or(|until| minor <= until)
    }

    /// The versions in words, such as `up to 1.26`.
    #[must_use]
    pub fn range(&self) -> String {
        match (self.since, self.until) {
            (None, None) => "in every version".to_owned(),
            (Some(since), None) => format!("from {since} on"),
            (None, Some(until)) => format!("up to {until}"),
            (Some(since), Some(until)) => format!("from {since} to {until}"),
        }
    }
}

/// The first kubelet that does not start on a host with cgroup v1 without `failCgroupV1: false`.
pub const CGROUP_V1_REFUSED_SINCE: Minor = Minor::new(35);

#[must_use]
pub fn differences() -> &'static [Difference] {
    TABLE
}

/// The row of a feature, if versions differ in it.
#[must_use]
pub fn difference(what: DifferenceKind, name: &str) -> Option<&'static Difference> {
    TABLE.iter().find(|row| row.what == what && row.name == name)
}

/// Whether a version has a feature. Every version of the table has the features without a row.
#[must_use]
pub fn is_known(what: DifferenceKind, name: &str, minor: Minor) -> bool {
    difference(what, name).is_none_or(|row| row.is_in(minor))
}

/// Whether a kubelet starts with a flag, as `--name` or `--name=value`.
#[must_use]
pub fn kubelet_knows_flag(flag: &str, minor: Minor) -> bool {
    let name = flag.split('=').next().unwrap_or(flag);
    is_known(DifferenceKind::KubeletFlag, name, minor)
}

/// Whether a kubelet reads a field of its configuration file.
#[must_use]
pub fn kubelet_reads(field: &str, minor: Minor) -> bool {
    is_known(DifferenceKind::KubeletField, field, minor)
}

/// The versions of `client.authentication.k8s.io` that a kubelet supports in a kubeconfig, oldest first.
#[must_use]
pub fn exec_credential_versions(minor: Minor) -> Vec<&'static str> {
    names(DifferenceKind::ExecCredential, minor)
}

/// The versions in which a kubelet reads the configuration of credential providers, oldest first.
#[must_use]
pub fn credential_provider_versions(minor: Minor) -> Vec<&'static str> {
    names(DifferenceKind::CredentialProvider, minor)
}

/// The versions of `certificates.k8s.io` that an API server serves by default, oldest first.
#[must_use]
pub fn certificates_api(minor: Minor) -> Vec<&'static str> {
    names(DifferenceKind::CertificatesApi, minor)
}

/// The versions in which an API server serves TokenReview by default, oldest first.
#[must_use]
pub fn token_review_api(minor: Minor) -> Vec<&'static str> {
    names(DifferenceKind::TokenReviewApi, minor)
}

/// The newest version of `kubeadm.k8s.io` that kubeadm reads.
#[must_use]
pub fn kubeadm_api(minor: Minor) -> &'static str {
    newest(DifferenceKind::KubeadmApi, minor)
}

/// The minor version of etcd that a release is built and tested with.
#[must_use]
pub fn etcd_of(minor: Minor) -> &'static str {
    newest(DifferenceKind::Etcd, minor)
}

/// The ConfigMap in `kube-system` with the configuration that kubeadm gives kubelets.
#[must_use]
pub fn kubelet_config_map(minor: Minor) -> String {
    match is_known(DifferenceKind::KubeletBehaviour, CONFIG_MAP_WITH_VERSION, minor) {
        true => format!("kubelet-config-{minor}"),
        false => "kubelet-config".to_owned(),
    }
}

/// Whether a kubelet does not start on a host with cgroup v1 without `failCgroupV1: false`.
#[must_use]
pub fn refuses_cgroup_v1(minor: Minor) -> bool {
    is_known(DifferenceKind::KubeletBehaviour, REFUSES_CGROUP_V1, minor)
}

/// Whether a kubelet can run pods over Docker by itself.
#[must_use]
pub fn has_dockershim(minor: Minor) -> bool {
    is_known(DifferenceKind::KubeletBehaviour, DOCKERSHIM, minor)
}

/// Whether a kubelet supports `--cloud-provider=aws`.
#[must_use]
pub fn has_in_tree_aws(minor: Minor) -> bool {
    is_known(DifferenceKind::KubeletBehaviour, IN_TREE_AWS, minor)
}

/// Whether a kubelet checks its conditions again as soon as they change, instead of with its next status.
#[must_use]
pub fn looks_again(minor: Minor) -> bool {
    is_known(DifferenceKind::KubeletBehaviour, LOOKS_AGAIN, minor)
}

/// Whether a kubelet supports `--config-dir` without `KUBELET_CONFIG_DROPIN_DIR_ALPHA` in its environment.
#[must_use]
pub fn takes_config_dir(minor: Minor) -> bool {
    is_known(DifferenceKind::KubeletBehaviour, TAKES_CONFIG_DIR, minor)
}

fn names(what: DifferenceKind, minor: Minor) -> Vec<&'static str> {
    let rows = TABLE.iter().filter(|row| row.what == what && row.is_in(minor));
    rows.map(|row| row.name).collect()
}

fn newest(what: DifferenceKind, minor: Minor) -> &'static str {
    names(what, minor).last().copied().unwrap_or_default()
}

const REFUSES_CGROUP_V1: &str = "refuses cgroup v1";
const DOCKERSHIM: &str = "runs pods over Docker";
const IN_TREE_AWS: &str = "includes the AWS cloud provider";
const LOOKS_AGAIN: &str = "checks its conditions again as soon as they change";
const TAKES_CONFIG_DIR: &str = "supports --config-dir without an environment variable";
const CONFIG_MAP_WITH_VERSION: &str = "reads a ConfigMap with its version from kubeadm";

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

/// Rows of one kind are ordered from old to new.
const TABLE: &[Difference] = &{
    use DifferenceKind::*;
    const OPTIONS: &str = "the options of cmd/kubelet, compared from release to release";
    const DOCKER: &str = "kubernetes#106907: dockershim and its flags removed in 1.24";
    const LOGGING: &str = "KEP-2845: flags of klog's files removed in 1.26";
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
        row(KubeletFlag, "--topology-manager-policy-options", OPTIONS).since(26),
        row(KubeletFlag, "--config-dir", OPTIONS).since(28),
        row(KubeletFlag, "--fail-cgroupv1", OPTIONS).since(31),
        //
        row(KubeletField, "registerWithTaints", "KubeletConfiguration of 1.23").since(23),
        row(
            KubeletField,
            "containerRuntimeEndpoint",
            "KubeletConfiguration of 1.27",
        )
        .since(27),
        row(KubeletField, "failCgroupV1", "KubeletConfiguration of 1.31").since(31),
        //
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

#[cfg(test)]
mod tests;
