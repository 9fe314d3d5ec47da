//! Watches Nodes and certificate signing requests and sends tenants their changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use futures::{StreamExt as _, pin_mut};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::watcher::Event;
use kube::{Api, Client, ResourceExt as _};
use nodejoin_core::observation::NodeChange;

use crate::api_server::watch::{events, touched};
use crate::observe::audit::without_managed_fields;
use crate::observe::signing_requests::SigningRequests;
use crate::tenants::{ClusterFact, Tenants};

/// Sends tenants the changes of their Nodes until the future is dropped. A Node that was deleted while the watch was
/// interrupted is missing in the list after that.
pub(crate) async fn nodes(client: Client, tenants: Arc<Tenants>) {
    let events = events(Api::<Node>::all(client));
    pin_mut!(events);
    let mut known: BTreeMap<String, Node> = BTreeMap::new();
    let mut listed: BTreeMap<String, Node> = BTreeMap::new();
    while let Some(event) = events.next().await {
        match event {
            Event::Apply(node) => {
                send(&tenants, &node, true);
                known.insert(node.name_any(), node);
            }
            Event::Delete(node) => {
                send(&tenants, &node, false);
                known.remove(&node.name_any());
            }
            Event::Init => listed.clear(),
            Event::InitApply(node) => {
                send(&tenants, &node, true);
                listed.insert(node.name_any(), node);
            }
            Event::InitDone => {
                let gone = known.iter().filter(|(name, _)| !listed.contains_key(*name));
                gone.for_each(|(_, node)| send(&tenants, node, false));
                known = std::mem::take(&mut listed);
            }
        }
    }
}

/// Sends tenants the changes of their certificate signing requests until the future is dropped.
pub(crate) async fn requests(client: Client, tenants: Arc<Tenants>, signing_requests: Arc<SigningRequests>) {
    let requests = touched(Api::<CertificateSigningRequest>::all(client));
    pin_mut!(requests);
    while let Some(request) = requests.next().await {
        if let Some(tenant) = tenants.by_request(&request.spec) {
            signing_requests.set_object(&request, &tenant.instance().id);
        }
    }
}

fn send(tenants: &Tenants, node: &Node, exists: bool) {
    let name = node.metadata.name.clone().unwrap_or_default();
    let Some(tenant) = tenants.by_node(&name) else {
        return;
    };
    let object = serde_json::to_value(node)
        .ok()
        .filter(|_| exists)
        .map(without_managed_fields);
    let change = NodeChange {
        name,
        exists,
        ready: exists && is_ready(node),
    };
    tenant.send(SystemTime::now(), ClusterFact::Node { change, object });
}

fn is_ready(node: &Node) -> bool {
    let conditions = node
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref())
        .unwrap_or_default();
    conditions
        .iter()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}
