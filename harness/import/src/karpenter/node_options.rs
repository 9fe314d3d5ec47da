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

impl NodeOptions<'_> {
    /// The DNS address of Karpenter's part, as a message names it.
    pub(super) fn named_dns(&self) -> String {
        let address = self.cluster.dns_ip.as_deref().unwrap_or_default();
        match self.states(&["clusterDNS", "0"]) {
            true => address.to_owned(),
            false => format!("the address of the cluster's DNS service, here {address}"),
        }
    }

    /// Where to state the address, unless it stands there.
    pub(super) fn advice_about_dns(&self) -> &'static str {
        match self.states(&["clusterDNS", "0"]) {
            true => "",
            false => "; state `clusterDNS` in `spec.kubelet`",
        }
    }

    /// Where to state the number of pods, unless it stands there.
    pub(super) fn advice_about_pods(&self) -> &'static str {
        match self.states(&["maxPods"]) {
            true => "",
            false => "; state `maxPods` in `spec.kubelet`",
        }
    }

    /// Whether class or pool state a setting of the kubelet.
    fn states(&self, path: &[&str]) -> bool {
        self.kubelet.is_some_and(|kubelet| kubelet.at(path).is_some())
    }
}
