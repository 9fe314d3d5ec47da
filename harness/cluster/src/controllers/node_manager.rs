//! Taints the Nodes of managed node groups after they register. EKS does that when the launch template names an AMI,
//! because it then generates no user data that could pass the taints to the kubelet.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Taint};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use crate::api_server::reconcile::reconcile;
use crate::tenants::{Tenant, Tenants};

/// Taints nodes until the future is dropped.
pub(crate) async fn run(client: Client, tenants: Arc<Tenants>) {
    let api = Api::<Node>::all(client);
    reconcile(api.clone(), |node| sync(api.clone(), tenants.clone(), node)).await;
}

async fn sync(api: Api<Node>, tenants: Arc<Tenants>, node: Node) -> kube::Result<()> {
    let name = node.metadata.name.clone().unwrap_or_default();
    let missing = tenants
        .by_node(&name)
        .map(|tenant| missing(&node, &tenant.tenant));
    let Some(missing) = missing.filter(|missing| !missing.is_empty()) else {
        return Ok(());
    };
    // The patch replaces the whole list, so it names the resource version that was read.
    let taints: Vec<&Taint> = taints(&node).iter().chain(&missing).collect();
    let patch = json!({ "metadata": { "resourceVersion": node.metadata.resource_version }, "spec": { "taints": taints } });
    api.patch(&name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .map(drop)
}

/// The taints of its node group that the node lacks.
fn missing(node: &Node, tenant: &Tenant) -> Vec<Taint> {
    let groups = tenant.cluster.eks.nodegroups.iter();
    let wanted = groups
        .flat_map(|group| &group.taints)
        .filter_map(|text| parse(text));
    let has = |wanted: &Taint| {
        taints(node)
            .iter()
            .any(|taint| taint.key == wanted.key && taint.effect == wanted.effect)
    };
    wanted.filter(|taint| !has(taint)).collect()
}

fn parse(text: &str) -> Option<Taint> {
    let (pair, effect) = text.rsplit_once(':')?;
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    Some(Taint {
        key: key.to_owned(),
        value: Some(value.to_owned()).filter(|value| !value.is_empty()),
        effect: effect.to_owned(),
        time_added: None,
    })
}

fn taints(node: &Node) -> &[Taint] {
    let spec = node.spec.as_ref();
    spec.and_then(|spec| spec.taints.as_deref()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use nodejoin_core::plan::aws::NodegroupPlan;

    use super::*;
    use crate::testing;

    #[test]
    fn a_node_gets_the_missing_taints_of_its_group() {
        let (mut tenant, _events) = testing::tenant();
        let node = |taints: serde_json::Value| -> Node {
            serde_json::from_value(json!({ "metadata": {}, "spec": { "taints": taints } })).unwrap()
        };
        assert_eq!(missing(&node(json!([])), &tenant), []);
        let group = json!({ "name": "ng", "taints": ["dedicated=batch:NoSchedule", "gpu:NoExecute"] });
        let group: NodegroupPlan = serde_json::from_value(group).unwrap();
        tenant.cluster.eks.nodegroups = vec![group];
        let lacks = missing(&node(json!([{ "key": "gpu", "effect": "NoExecute" }])), &tenant);
        assert_eq!(lacks.len(), 1);
        assert_eq!(
            (lacks[0].key.as_str(), lacks[0].value.as_deref()),
            ("dedicated", Some("batch"))
        );
    }
}
