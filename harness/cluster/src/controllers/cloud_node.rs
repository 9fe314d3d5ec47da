//! The node controller of AWS' cloud controller manager. Like the real one, it initializes only Nodes whose kubelet
//! runs with `--cloud-provider=external`: they have the uninitialized taint. A kubelet with the in-tree provider sets
//! these properties itself; one without a provider never gets them.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Taint};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use nodejoin_core::plan::InstancePlan;
use serde_json::{Value, json};

use crate::api_server::reconcile::reconcile;
use crate::tenants::{Tenant, Tenants};

const ZONE_ID: &str = "topology.k8s.aws/zone-id";
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// Initializes nodes until the future is dropped.
pub(crate) async fn run(client: Client, tenants: Arc<Tenants>) {
    let api = Api::<Node>::all(client);
    reconcile(api.clone(), |node| sync(api.clone(), tenants.clone(), node)).await;
}

async fn sync(api: Api<Node>, tenants: Arc<Tenants>, node: Node) -> kube::Result<()> {
    let name = node.metadata.name.as_deref();
    let Some(tenant) = name.and_then(|name| tenants.by_node(name)) else {
        return Ok(());
    };
    let tenant = &tenant.tenant;
    if !is_uninitialized(&node) || !tenant.cluster.cloud_node_controller {
        return Ok(());
    }
    if !is_instance(&node, &tenant.instance) {
        tracing::warn!(
            node = node.metadata.name,
            "no instance has this name or provider id; the node stays uninitialized"
        );
        return Ok(());
    }
    initialize(&api, &node, tenant).await
}

fn is_uninitialized(node: &Node) -> bool {
    taints(node).iter().any(|taint| taint.key == UNINITIALIZED)
}

/// Matches by provider id, else by the node's name. An address from `--node-ip` must be one of the instance's.
fn is_instance(node: &Node, instance: &InstancePlan) -> bool {
    let name = node.metadata.name.as_deref().unwrap_or_default();
    let provider_id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref());
    let is_found = match provider_id {
        Some(id) => id.ends_with(&format!("/{}", instance.id)),
        None => name == instance.private_dns_name || name == instance.id.as_str(),
    };
    is_found
        && given_address(node).is_none_or(|given| instance.addresses().any(|own| own.to_string() == given))
}

/// The value of the kubelet's `--node-ip`.
fn given_address(node: &Node) -> Option<&str> {
    let annotations = node.metadata.annotations.as_ref()?;
    annotations
        .get("alpha.kubernetes.io/provided-node-ip")
        .map(String::as_str)
}

async fn initialize(api: &Api<Node>, node: &Node, tenant: &Tenant) -> kube::Result<()> {
    let name = node.metadata.name.as_deref().unwrap_or_default();
    let params = PatchParams::default();
    // Addresses first: once the taint is gone, others rely on the node.
    let status = json!({ "status": { "addresses": addresses(node, tenant) } });
    let node = api.patch_status(name, &params, &Patch::Strategic(status)).await?;
    api.patch(name, &params, &Patch::Merge(properties(&node, tenant)))
        .await?;
    Ok(())
}

/// Addresses of one IP family, like the controller of EKS: the family of the kubelet's `--node-ip`.
fn addresses(node: &Node, tenant: &Tenant) -> Value {
    let instance = &tenant.instance;
    let private_ip = instance.private_ip.to_string();
    json!([
        { "type": "InternalIP", "address": given_address(node).unwrap_or(&private_ip) },
        { "type": "Hostname", "address": instance.private_dns_name },
        { "type": "InternalDNS", "address": instance.private_dns_name },
    ])
}

/// The patch. It replaces the whole list of taints, so it names the resource version that was read: another client may
/// add a taint in between.
fn properties(node: &Node, tenant: &Tenant) -> Value {
    let instance = &tenant.instance;
    let (zone, region) = (&instance.availability_zone, &tenant.region);
    let left: Vec<&Taint> = taints(node)
        .iter()
        .filter(|taint| taint.key != UNINITIALIZED)
        .collect();
    let provider_id = format!("aws:///{zone}/{}", instance.id);
    let labels = BTreeMap::from([
        (
            "beta.kubernetes.io/instance-type",
            instance.instance_type.as_str(),
        ),
        ("node.kubernetes.io/instance-type", &instance.instance_type),
        ("failure-domain.beta.kubernetes.io/zone", zone),
        ("failure-domain.beta.kubernetes.io/region", region.as_str()),
        ("topology.kubernetes.io/zone", zone),
        ("topology.kubernetes.io/region", region.as_str()),
    ]);
    let labels = labels
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
    let labels: BTreeMap<String, String> = labels.chain(additional(node, tenant)).collect();
    json!({
        "metadata": { "resourceVersion": node.metadata.resource_version, "labels": labels },
        "spec": { "providerID": provider_id, "taints": left },
    })
}

/// Topology labels that only AWS knows. A label that is already set stays; the first network node decides for all of
/// them.
fn additional(node: &Node, tenant: &Tenant) -> Vec<(String, String)> {
    let instance = &tenant.instance;
    let is_set = |key: &str| {
        let labels = node.metadata.labels.as_ref();
        labels.is_some_and(|labels| labels.contains_key(key))
    };
    let mut labels = Vec::new();
    if !is_set(ZONE_ID) {
        labels.push((
            ZONE_ID.to_owned(),
            tenant.region.zone_id(&instance.availability_zone),
        ));
    }
    let layer = |number: usize| format!("topology.k8s.aws/network-node-layer-{number}");
    if !is_set(&layer(1)) {
        let nodes = (1..).zip(&instance.network.nodes);
        labels.extend(nodes.map(|(number, node)| (layer(number), node.clone())));
    }
    labels
}

fn taints(node: &Node) -> &[Taint] {
    node.spec
        .as_ref()
        .and_then(|spec| spec.taints.as_deref())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn node(value: Value) -> Node {
        serde_json::from_value(value).unwrap()
    }

    fn external(name: &str) -> Node {
        node(json!({
            "metadata": { "name": name, "annotations": { "alpha.kubernetes.io/provided-node-ip": "192.168.40.16" } },
            "spec": { "taints": [
                { "key": UNINITIALIZED, "value": "true", "effect": "NoSchedule" },
                { "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" } ] }
        }))
    }

    #[test]
    fn an_external_node_gets_its_cloud_properties() {
        let (tenant, _events) = testing::tenant();
        let node = external(&tenant.instance.private_dns_name);
        assert!(is_uninitialized(&node) && is_instance(&node, &tenant.instance));
        let patch = properties(&node, &tenant);
        assert_eq!(
            patch["spec"]["providerID"],
            "aws:///eu-west-1a/i-0b22a22eec53b9321"
        );
        assert_eq!(patch["spec"]["taints"].as_array().unwrap().len(), 1);
        assert_eq!(
            patch["metadata"]["labels"]["topology.kubernetes.io/region"],
            "eu-west-1"
        );
        assert_eq!(addresses(&node, &tenant)[0]["address"], "192.168.40.16");
    }

    #[test]
    fn topology_labels_are_added_unless_already_set() {
        let (mut tenant, _events) = testing::tenant();
        tenant.instance.network.nodes = ["nn-1", "nn-2"].map(str::to_owned).to_vec();
        let added = |node: &Node| additional(node, &tenant);
        let label = |key: &str, value: &str| (format!("topology.k8s.aws/{key}"), value.to_owned());
        let (zone, first) = (
            label("zone-id", "euw1-az1"),
            label("network-node-layer-1", "nn-1"),
        );
        let all = [zone, first.clone(), label("network-node-layer-2", "nn-2")];
        let name = tenant.instance.private_dns_name.clone();
        let mut node = external(&name);
        assert_eq!(added(&node), all);
        let patch = properties(&node, &tenant);
        assert_eq!(
            patch["metadata"]["labels"]["topology.k8s.aws/network-node-layer-2"],
            "nn-2"
        );
        node.metadata.labels = Some(BTreeMap::from([(first.0, "mine".to_owned())]));
        assert_eq!(added(&node), all[..1]);
        node.metadata.labels = Some(BTreeMap::from([label("zone-id", "mine")]));
        assert_eq!(added(&node), all[1..]);
    }

    #[test]
    fn a_node_with_an_ipv6_node_ip_has_only_ipv6_addresses() {
        let (mut tenant, _events) = testing::tenant();
        let mut node = external(&tenant.instance.private_dns_name);
        let given = node.metadata.annotations.as_mut().unwrap();
        given.values_mut().for_each(|ip| "2600::10".clone_into(ip));
        assert!(!is_instance(&node, &tenant.instance));
        tenant.instance.network.ipv6 = vec!["2600::10".parse().unwrap()];
        assert!(is_instance(&node, &tenant.instance));
        assert_eq!(addresses(&node, &tenant)[0]["address"], "2600::10");
    }

    #[test]
    fn other_nodes_are_left_alone() {
        let (tenant, _events) = testing::tenant();
        assert!(!is_uninitialized(&node(
            json!({ "metadata": { "name": "a" }, "spec": {} })
        )));
        assert!(!is_instance(&external("another"), &tenant.instance));
        let mut elsewhere = external(&tenant.instance.private_dns_name);
        elsewhere
            .metadata
            .annotations
            .as_mut()
            .unwrap()
            .values_mut()
            .for_each(|ip| "10.0.0.1".clone_into(ip));
        assert!(!is_instance(&elsewhere, &tenant.instance));
        let mut by_id = external("another");
        by_id.spec.as_mut().unwrap().provider_id = Some("aws:///eu-west-1a/i-0b22a22eec53b9321".to_owned());
        assert!(is_instance(&by_id, &tenant.instance));
    }
}
