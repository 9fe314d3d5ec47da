//! The rule by which client certificates of nodes of a local cluster on an Outpost are approved.
//!
//! Such a node asks for one with its role's token, as itself, and kube-controller-manager approves who may create
//! `certificatesigningrequests/selfnodeclient`. There that is the group of all nodes; here each node for itself, because other
//! clusters share the control plane.

use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::Client;
use kube::api::{Api, DeleteParams};
use nodejoin_core::plan::{ClusterPlan, InstancePlan};
use serde_json::json;

use crate::ClusterError;
use crate::controllers::rbac::apply_one;
use crate::tenants::NODE_USER;

/// Lets the node of this instance be given a client certificate, where its cluster is one of an Outpost.
pub(crate) async fn allow(
    client: &Client,
    cluster: &ClusterPlan,
    instance: &InstancePlan,
) -> Result<(), ClusterError> {
    if !has_rule(cluster) {
        return Ok(());
    }
    let user = format!("{NODE_USER}{}", instance.private_dns_name);
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": name(instance) },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                     "name": "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient" },
    });
    apply_one(client, binding).await
}

/// Takes that back.
pub(crate) async fn forget(
    client: &Client,
    cluster: &ClusterPlan,
    instance: &InstancePlan,
) -> Result<(), ClusterError> {
    if !has_rule(cluster) {
        return Ok(());
    }
    let name = name(instance);
    let api = Api::<ClusterRoleBinding>::all(client.clone());
    match api.delete(&name, &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(ClusterError::api(format!("delete ClusterRoleBinding `{name}`"))(
            error,
        )),
        Ok(_) => Ok(()),
    }
}

fn has_rule(cluster: &ClusterPlan) -> bool {
    cluster.eks.outpost.is_some() && cluster.approve_clients
}

fn name(instance: &InstancePlan) -> String {
    format!("eks:local-outpost-node-client:{}", instance.id)
}
