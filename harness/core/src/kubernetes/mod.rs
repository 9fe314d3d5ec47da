//! Versions of Kubernetes: how they are written, which combinations are supported, and how they differ; the names of
//! its API.
//!
//! All code that depends on a version asks this module, so that a new version is one edit of `differences`.
//!
//! | file | content |
//! | --- | --- |
//! | `version` | parsing and comparing versions |
//! | `differences` | first and last version of flags, API versions, behaviours |
//! | `kubelet_flags` | flags of the kubelet, for suggestions |
//! | `feature_gates` | feature gates of the kubelet, with the first version of each |
//! | `quantity` | numbers of quantities such as `20Gi` |
//! | `skew` | which kubelets an API server supports |
//! | `requested` | the versions that a run requests |
//! | `resources` | resources, verbs and label domains |
//! | `node_labels` | which labels a kubelet may set itself |

mod differences;
mod feature_gates;
mod kubelet_flags;
pub mod node_labels;
pub(crate) mod quantity;
mod registered;
mod requested;
pub mod resources;
mod skew;
#[cfg(test)]
mod tests;
mod version;

pub use differences::{
    CGROUP_V1_REFUSED_SINCE, Difference, DifferenceKind, certificates_api, credential_provider_versions,
    difference, differences, etcd_of, exec_credential_versions, has_dockershim, has_in_tree_aws, is_known,
    kubeadm_api, kubelet_config_map, kubelet_knows_flag, kubelet_reads, looks_again, newer_than,
    refuses_cgroup_v1, takes_config_dir, token_review_api,
};
pub use feature_gates::{GATES_UNTIL, feature_gates, gate_since, newer_gates};
pub use kubelet_flags::{FLAGS_UNTIL, is_kubelet_flag, kubelet_flags, nearest_kubelet_flag};
pub(crate) use registered::{
    canonical_taint, labels_of_flag, labels_of_node, taint_texts, taints_of_node, value_of_flag,
};
pub use requested::RequestedVersions;
pub use skew::{SkewError, check_skew, oldest_kubelet};
pub use version::{InvalidVersion, Minor, Version, VersionRequest, version_in_range};
