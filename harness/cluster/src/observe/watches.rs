//! Watches Nodes and certificate signing requests and sends tenants their changes.

use std::sync::Arc;
use std::time::SystemTime;

use futures::{StreamExt as _, pin_mut};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::watcher::Event;
use kube::{Api, Client};
use nodejoin_core::observation::NodeChange;

use crate::api_server::watch::{events, touched};
use crate::observe::audit::without_managed_fields;
use crate::observe::signing_requests::SigningRequests;
use crate::tenants::{ClusterFact, Tenants};

/// Sends tenants the changes of their Nodes until the future is dropped.
pub(crate) async fn nodes(client: Client, tenants: Arc<Tenants>) {
    let events = events(Api::<Node>::all(client));
    pin_mut!(events);
    while let Some(event) = events.next().await {
        match event {
            Event::Apply(node) | Event::InitApply(node) => send(&tenants, &node, true),
            Event::Delete(node) => send(&tenants, &node, false),
            Event::Init | Event::InitDone => {}
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
