//! Differences between versions of Kubernetes: one table, and functions that look them up.

mod row;
mod table;

pub use row::{Difference, DifferenceKind};
pub use table::CGROUP_V1_REFUSED_SINCE;

use super::version::Minor;
use table::{
    CONFIG_MAP_WITH_VERSION, DOCKERSHIM, IN_TREE_AWS, LOOKS_AGAIN, REFUSES_CGROUP_V1, TABLE, TAKES_CONFIG_DIR,
};

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

/// The fields of the configuration file, or the flags, that only kubelets newer than this version have.
pub fn newer_than(what: DifferenceKind, minor: Minor) -> impl Iterator<Item = &'static Difference> {
    let is_newer = move |row: &&Difference| row.since.is_some_and(|since| minor < since);
    TABLE.iter().filter(move |row| row.what == what).filter(is_newer)
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

#[cfg(test)]
mod tests;
