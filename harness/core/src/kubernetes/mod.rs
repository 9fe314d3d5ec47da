//! Versions of Kubernetes: what they are called, which ones go together, and what one has that another has not.
//!
//! Everything in this project that differs between versions asks this module, so that a new version is one edit of
//! `differences`.
//!
//! | file | question |
//! | --- | --- |
//! | `version` | how is a version written and compared? |
//! | `differences` | since when, and until when, is there a flag, an API version, a behaviour? |
//! | `skew` | which kubelets go with which API server? |
//! | `matrix` | how do scenarios run on several versions, and which are not for one? |

mod differences;
mod matrix;
mod skew;
#[cfg(test)]
mod tests;
mod version;

pub use differences::{
    CGROUP_V1_REFUSED_SINCE, Difference, DifferenceKind, certificates_api, credential_provider_versions,
    difference, differences, etcd_of, exec_credential_versions, has_dockershim, has_in_tree_aws, is_known,
    kubeadm_api, kubelet_config_map, kubelet_knows_flag, kubelet_reads, looks_again, refuses_cgroup_v1,
    takes_config_dir, token_review_api,
};
pub use matrix::{Matrix, MatrixError, RequestedVersions, not_for, not_for_asked};
pub use skew::{SkewError, check_skew, oldest_kubelet};
pub use version::{InvalidVersion, Minor, Version, VersionAsk};
