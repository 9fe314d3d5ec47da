//! The ConfigMap that enables Windows nodes in an EKS cluster. The cluster's operator creates it, as eksctl does
//! (`pkg/windows`). Its reader, the VPC resource controller, assigns addresses to Windows pods. That controller does
//! not run here, because no Windows kubelet does; the object exists for clients that check whether a cluster accepts
//! Windows nodes.

use serde_json::{Value, json};

/// The ConfigMap `kube-system/amazon-vpc-cni` of a cluster that accepts Windows nodes.
pub(crate) fn config_map() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "amazon-vpc-cni", "namespace": "kube-system" },
        "data": { "enable-windows-ipam": "true" },
    })
}
