//! Sets `spec.podCIDR` on the Node of an old kubelet, which makes it report its readiness earlier.
//!
//! EKS sets none, so a kubelet before 1.22 reports its readiness only with its next status, up to 10 s after it
//! registers. When a podCIDR appears, it updates its status at once. The range is the one of the harness's CNI
//! configuration. EKS does not do this: the engine reports it as a deviation.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::storage::v1::CSINode;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use nodejoin_core::kubernetes::{Minor, looks_again};
use serde_json::json;

use crate::api_server::reconcile::reconcile;
use crate::tenants::Tenants;

/// Time for a kubelet that does not list runtime classes.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Runs until the future is dropped. The CSINode appears when the kubelet has set up its storage. Its last part follows
/// the pods, and begins after it has listed the runtime classes: a status before that is not ready, and the next one
/// follows after 10 s.
pub(crate) async fn run(client: Client, tenants: Arc<Tenants>) {
    let nodes = Api::<Node>::all(client.clone());
    reconcile(Api::<CSINode>::all(client), |set_up| {
        sync(nodes.clone(), tenants.clone(), set_up)
    })
    .await;
}

async fn sync(nodes: Api<Node>, tenants: Arc<Tenants>, set_up: CSINode) -> kube::Result<()> {
    let name = set_up.name_any();
    let Some(tenant) = tenants.by_node(&name) else {
        return Ok(());
    };
    let Some(cidr) = &tenant.tenant.pod_cidr else {
        return Ok(());
    };
    if !needs_pod_cidr(&nodes.get(&name).await?) {
        return Ok(());
    }
    tenant.pods_followed(LONGEST_WAIT).await;
    let patch = json!({ "spec": { "podCIDR": cidr, "podCIDRs": [cidr] } });
    nodes
        .patch(&name, &PatchParams::default(), &Patch::Strategic(patch))
        .await
        .map(drop)
}

fn needs_pod_cidr(node: &Node) -> bool {
    let kubelet = node
        .status
        .as_ref()
        .and_then(|status| status.node_info.as_ref())
        .map(|info| info.kubelet_version.as_str());
    let has_one = node.spec.as_ref().is_some_and(|spec| spec.pod_cidr.is_some());
    !has_one && kubelet.is_some_and(|kubelet| !looks_again(Minor::of(kubelet)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_kubelets_without_a_pod_cidr_get_one() {
        let node = |version: &str, cidr: Option<&str>| -> Node {
            serde_json::from_value(json!({
                "metadata": { "name": "a" },
                "spec": { "podCIDR": cidr },
                "status": { "nodeInfo": { "kubeletVersion": version, "architecture": "", "bootID": "", "containerRuntimeVersion": "",
                    "kernelVersion": "", "kubeProxyVersion": "", "machineID": "", "operatingSystem": "", "osImage": "", "systemUUID": "" } }
            }))
            .unwrap()
        };
        let cases = [
            ("v1.20.2", None, true),
            ("v1.21.14-eks-1", None, true),
            ("v1.22.0", None, false),
            ("v1.36.2", None, false),
        ];
        for (version, cidr, expected) in cases {
            assert_eq!(needs_pod_cidr(&node(version, cidr)), expected, "{version}");
        }
        assert!(!needs_pod_cidr(&node("v1.20.2", Some("100.64.1.0/24"))));
    }
}
