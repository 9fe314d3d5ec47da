//! Watches Nodes and certificate signing requests for the tenants they belong to.

use std::sync::Arc;
use std::time::SystemTime;

use futures::{StreamExt as _, pin_mut};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::watcher::Event;
use kube::{Api, Client};
use nodejoin_core::observation::NodeChange;

use crate::audit::without_managed_fields;
use crate::certificates::Certificates;
use crate::controllers::{events, touched};
use crate::tenants::{ClusterFact, Tenants};

/// Tells tenants of their Nodes until the watch is dropped.
pub(crate) async fn nodes(client: Client, tenants: Arc<Tenants>) {
    let events = events(Api::<Node>::all(client));
    pin_mut!(events);
    while let Some(event) = events.next().await {
        match event {
            Event::Apply(node) | Event::InitApply(node) => tell(&tenants, &node, true),
            Event::Delete(node) => tell(&tenants, &node, false),
            Event::Init | Event::InitDone => {}
        }
    }
}

/// Tells tenants of their certificate signing requests until the watch is dropped.
pub(crate) async fn requests(client: Client, tenants: Arc<Tenants>, certificates: Arc<Certificates>) {
    let requests = touched(Api::<CertificateSigningRequest>::all(client));
    pin_mut!(requests);
    while let Some(request) = requests.next().await {
        if let Some(tenant) = tenants.by_request(&request.spec) {
            certificates.seen(&request, &tenant.instance().id);
        }
    }
}

fn tell(tenants: &Tenants, node: &Node, exists: bool) {
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
    tenant.tell(SystemTime::now(), ClusterFact::Node { change, object });
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
