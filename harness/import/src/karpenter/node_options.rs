//! What Karpenter tells a node.

use std::collections::BTreeMap;

use crate::machine::{ClusterTraits, Taint};
use crate::tree::Tree;

/// What Karpenter's part of the user data contains.
pub(super) struct NodeOptions<'a> {
    pub(super) cluster: ClusterTraits,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) taints: Vec<Taint>,
    /// `None`: only Karpenter knows the instance type.
    pub(super) max_pods: Option<u32>,
    pub(super) kubelet: Option<&'a Tree>,
    /// Instance stores become one file system.
    pub(super) is_raid0: bool,
}
