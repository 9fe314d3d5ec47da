//! A row of the table of differences.

use crate::kubernetes::version::Minor;

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
