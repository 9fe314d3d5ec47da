//! What makes a cluster of EKS one that takes Windows nodes: a ConfigMap that whoever runs it creates, as eksctl does
//! (its `pkg/windows`). Its reader, the VPC resource controller, gives Windows pods their addresses. It is no part of this
//! control plane, as no Windows kubelet runs here: the object is there for those who look whether a cluster takes Windows nodes.

use serde_json::{Value, json};

/// The ConfigMap `kube-system/amazon-vpc-cni` of a cluster that takes Windows nodes.
pub(crate) fn config_map() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "amazon-vpc-cni", "namespace": "kube-system" },
        "data": { "enable-windows-ipam": "true" },
    })
}
