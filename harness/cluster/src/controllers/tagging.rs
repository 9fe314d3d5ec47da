//! The tagging controller of AWS' cloud controller manager: it tags the instance of every Node, for any cloud provider
//! of the kubelet, and labels the Node with a digest of the tags. The tags are an assumption: EKS does not publish its
//! set.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use md5::{Digest as _, Md5};
use serde_json::json;

use crate::api_server::reconcile::reconcile;
use crate::tenants::{Tenant, Tenants};

const LABEL: &str = "k8s.io/cloud-provider-aws";

/// Labels nodes until the future is dropped.
pub(crate) async fn run(client: Client, tenants: Arc<Tenants>) {
    let api = Api::<Node>::all(client);
    reconcile(api.clone(), |node| sync(api.clone(), tenants.clone(), node)).await;
}

async fn sync(api: Api<Node>, tenants: Arc<Tenants>, node: Node) -> kube::Result<()> {
    let name = node.metadata.name.clone().unwrap_or_default();
    let Some(tenant) = tenants.by_node(&name) else {
        return Ok(());
    };
    let tenant = &tenant.tenant;
    let digest = digest(&tags(tenant));
    if !tenant.cluster.cloud_node_controller || !is_of_instance(&node, tenant) || is_labelled(&node, &digest)
    {
        return Ok(());
    }
    let patch = json!({ "metadata": { "labels": { LABEL: digest } } });
    api.patch(&name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .map(drop)
}

/// The controller finds the instance by the Node's provider id and skips a Node without one.
fn is_of_instance(node: &Node, tenant: &Tenant) -> bool {
    let provider_id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref());
    provider_id.is_some_and(|id| id.ends_with(&format!("/{}", tenant.instance.id)))
}

fn is_labelled(node: &Node, digest: &str) -> bool {
    let labels = node.metadata.labels.as_ref();
    labels
        .and_then(|labels| labels.get(LABEL))
        .is_some_and(|value| value == digest)
}

fn tags(tenant: &Tenant) -> BTreeMap<String, String> {
    BTreeMap::from([("aws:eks:cluster-name".to_owned(), tenant.cluster.name.clone())])
}

/// MD5 of the sorted, comma-separated `key=value` pairs, in hexadecimal.
fn digest(tags: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
    hex::encode(Md5::digest(pairs.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn the_digest_is_of_sorted_pairs() {
        let tags = [("b", "2"), ("a", "1")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        // `printf a=1,b=2 | md5sum`
        assert_eq!(digest(&tags.into()), "9dc867b7f2bf1e40160f90e46628512e");
    }

    #[test]
    fn only_a_node_with_the_instances_provider_id_is_labelled() {
        let (tenant, _events) = testing::tenant();
        let node = |id: Option<&str>| -> Node {
            serde_json::from_value(json!({ "metadata": {}, "spec": { "providerID": id } })).unwrap()
        };
        assert!(is_of_instance(
            &node(Some("aws:///eu-west-1a/i-0b22a22eec53b9321")),
            &tenant
        ));
        assert!(!is_of_instance(&node(Some("aws:///eu-west-1a/i-1")), &tenant));
        assert!(!is_of_instance(&node(None), &tenant));
    }
}
