//! Approval of client certificates for nodes of a local cluster on an Outpost.
//!
//! Such a node requests its certificate with the token of its role, and kube-controller-manager approves users that may
//! create `certificatesigningrequests/selfnodeclient`. On an Outpost the group of all nodes has that right. Here each
//! node gets it separately, because other clusters share the control plane.

use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::Client;
use kube::api::{Api, DeleteParams};
use nodejoin_core::plan::{ClusterPlan, InstancePlan};

use crate::ClusterError;
use crate::api_server::objects::{apply, cluster_role_binding, deleted, user};
use crate::tenants::NODE_USER;

const SELF_NODE_CLIENT: &str = "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient";

/// Lets this instance's node get a client certificate, if its cluster is on an Outpost.
pub(crate) async fn allow(
    client: &Client,
    cluster: &ClusterPlan,
    instance: &InstancePlan,
) -> Result<(), ClusterError> {
    if !has_rule(cluster) {
        return Ok(());
    }
    let node = user(&format!("{NODE_USER}{}", instance.private_dns_name));
    apply(
        client,
        cluster_role_binding(&binding_name(instance), SELF_NODE_CLIENT, &[node]),
    )
    .await
}

/// Removes the right.
pub(crate) async fn disallow(
    client: &Client,
    cluster: &ClusterPlan,
    instance: &InstancePlan,
) -> Result<(), ClusterError> {
    if !has_rule(cluster) {
        return Ok(());
    }
    let name = binding_name(instance);
    let api = Api::<ClusterRoleBinding>::all(client.clone());
    let result = api.delete(&name, &DeleteParams::default()).await;
    deleted(result, "ClusterRoleBinding", &name)
}

fn has_rule(cluster: &ClusterPlan) -> bool {
    cluster.eks.outpost.is_some() && cluster.approve_clients.is_on()
}

fn binding_name(instance: &InstancePlan) -> String {
    format!("eks:local-outpost-node-client:{}", instance.id)
}
