//! Each controller completes its work although the API server restarts in the middle of it: watches end, requests are
//! refused, writes conflict, and objects change meanwhile.

use std::sync::Arc;
use std::time::Duration;

use nodejoin_core::plan::aws::NodegroupPlan;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::{aws_auth_watch, cloud_node, node_manager, pod_cidr, serving, tagging};
use crate::controllers::aws_auth::AwsAuthStore;
use crate::iam::aws_auth::{AwsAuth, config_map_data};
use crate::observe::signing_requests::SigningRequests;
use crate::observe::watches;
use crate::tenants::{ClusterEvent, ClusterFact, Tenants};
use crate::testing::api_server::FakeApiServer;
use crate::testing::{self, ROLE_ARN};

const NAME: &str = "ip-192-168-40-16.eu-west-1.compute.internal";
const NODE: &str = "/api/v1/nodes/ip-192-168-40-16.eu-west-1.compute.internal";
const REQUEST: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests/csr-1";
const CSI_NODE: &str = "/apis/storage.k8s.io/v1/csinodes/ip-192-168-40-16.eu-west-1.compute.internal";
const AWS_AUTH: &str = "/api/v1/namespaces/kube-system/configmaps/aws-auth";
/// How an API server answers while it restarts.
const RESTART: [u16; 4] = [503, 500, 401, 429];

/// The tenants of a control plane: one node with a managed group and a pod range.
fn tenants() -> (Arc<Tenants>, mpsc::UnboundedReceiver<ClusterEvent>) {
    let (mut tenant, events) = testing::tenant();
    let group = json!({ "name": "ng", "taints": ["dedicated=batch:NoSchedule"] });
    let group: NodegroupPlan = serde_json::from_value(group).unwrap();
    tenant.cluster.eks.nodegroups = vec![group];
    tenant.pod_cidr = Some("100.64.1.0/24".to_owned());
    let tenants = Arc::new(Tenants::default());
    tenants.admit(tenant).unwrap();
    (tenants, events)
}

fn node() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": NAME, "labels": {} },
        "spec": {
            "providerID": "aws:///eu-west-1a/i-0b22a22eec53b9321",
            "taints": [{ "key": "node.cloudprovider.kubernetes.io/uninitialized", "effect": "NoSchedule" }],
        },
        "status": { "nodeInfo": {
            "kubeletVersion": "v1.20.2", "architecture": "", "bootID": "", "containerRuntimeVersion": "",
            "kernelVersion": "", "kubeProxyVersion": "", "machineID": "", "operatingSystem": "", "osImage": "",
            "systemUUID": "",
        } },
    })
}

fn signing_request() -> Value {
    let mut params = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
    let user = format!("system:node:{NAME}");
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::OrganizationName, "system:nodes");
    params.distinguished_name.push(DnType::CommonName, user.as_str());
    let key = KeyPair::generate().unwrap();
    let pem = params.serialize_request(&key).unwrap().pem().unwrap();
    json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": { "name": "csr-1" },
        "spec": {
            "request": crate::api_server::access::base64(&pem), "signerName": "kubernetes.io/kubelet-serving",
            "username": user, "usages": ["digital signature", "server auth"],
        },
    })
}

fn config_map() -> Value {
    let rows = [nodejoin_core::testing::node_mapping(ROLE_ARN)];
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "aws-auth", "namespace": "kube-system" },
        "data": config_map_data(&rows),
    })
}

/// Runs a controller, restarts the API server, and creates an object while it restarts. Each refusal must be followed
/// by another request, and the work must be done in the end.
async fn interrupted(
    server: &FakeApiServer,
    controller: impl Future<Output = ()>,
    path: &str,
    object: Value,
    is_done: impl Fn() -> bool,
) {
    server.restart(&RESTART);
    server.refuse_writes(&[500, 409, 503]);
    let steps = async {
        until(|| server.has_refused(RESTART.len())).await;
        // The watch is open now.
        tokio::time::sleep(Duration::from_secs(5)).await;
        server.restart(&RESTART);
        server.put(path, object);
        until(&is_done).await;
    };
    let limit = tokio::time::timeout(Duration::from_secs(300), steps);
    tokio::select! {
        () = controller => panic!("the controller ended"),
        done = limit => assert!(done.is_ok(), "{path}: {:?}", server.get(path)),
    }
    assert!(server.has_refused(2 * RESTART.len()));
}

async fn until(is_done: impl Fn() -> bool) {
    while !is_done() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_serving_certificate_is_approved_although_the_api_server_restarts() {
    let (server, (tenants, _events)) = (FakeApiServer::default(), tenants());
    let controller = serving::run(server.client(), tenants);
    let is_approved = || {
        server
            .get(REQUEST)
            .is_some_and(|found| found["status"]["conditions"][0]["type"] == "Approved")
    };
    interrupted(&server, controller, REQUEST, signing_request(), is_approved).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_is_initialized_although_the_api_server_restarts() {
    let (server, (tenants, _events)) = (FakeApiServer::default(), tenants());
    let controller = cloud_node::run(server.client(), tenants);
    let is_initialized = || {
        server.get(NODE).is_some_and(|node| {
            node["spec"]["taints"] == json!([]) && node["status"]["addresses"][0]["type"] == "InternalIP"
        })
    };
    interrupted(&server, controller, NODE, node(), is_initialized).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_is_tagged_although_the_api_server_restarts() {
    let (server, (tenants, _events)) = (FakeApiServer::default(), tenants());
    let controller = tagging::run(server.client(), tenants);
    let label = "/metadata/labels/k8s.io~1cloud-provider-aws";
    let is_tagged = || server.get(NODE).is_some_and(|node| node.pointer(label).is_some());
    interrupted(&server, controller, NODE, node(), is_tagged).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_gets_the_taints_of_its_group_although_the_api_server_restarts() {
    let (server, (tenants, _events)) = (FakeApiServer::default(), tenants());
    let controller = node_manager::run(server.client(), tenants);
    let is_tainted = || {
        server
            .get(NODE)
            .is_some_and(|node| node["spec"]["taints"][1]["key"] == "dedicated")
    };
    interrupted(&server, controller, NODE, node(), is_tainted).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_gets_its_pod_range_although_the_api_server_restarts() {
    let (server, (tenants, _events)) = (FakeApiServer::default(), tenants());
    server.put(NODE, node());
    let controller = pod_cidr::run(server.client(), tenants);
    let set_up = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": { "name": NAME }, "spec": { "drivers": [] },
    });
    let has_range = || {
        server
            .get(NODE)
            .is_some_and(|node| node["spec"]["podCIDR"] == "100.64.1.0/24")
    };
    interrupted(&server, controller, CSI_NODE, set_up, has_range).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_gets_its_pod_range_once_it_follows_its_pods() {
    let (server, (tenants, _events)) = (FakeApiServer::default(), tenants());
    server.put(NODE, node());
    let set_up = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": { "name": NAME }, "spec": { "drivers": [] },
    });
    server.put(CSI_NODE, set_up);
    let begun = tokio::time::Instant::now();
    let has_range = || {
        server
            .get(NODE)
            .is_some_and(|node| node["spec"]["podCIDR"] == "100.64.1.0/24")
    };
    let follow = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(!has_range(), "before the kubelet follows its pods");
        tenants.by_node(NAME).unwrap().note_pods();
        until(has_range).await;
    };
    tokio::select! {
        () = pod_cidr::run(server.client(), tenants.clone()) => unreachable!("a controller does not end"),
        () = follow => {}
    }
    assert!(
        begun.elapsed() < Duration::from_millis(900),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn the_authenticator_reads_aws_auth_although_the_api_server_restarts() {
    let server = FakeApiServer::default();
    let (updates, read) = watch::channel(AwsAuth::default());
    let controller = aws_auth_watch::run(server.client(), updates);
    let has_rows = || *read.borrow() != AwsAuth::default();
    interrupted(&server, controller, AWS_AUTH, config_map(), has_rows).await;
}

#[tokio::test(start_paused = true)]
async fn rows_of_aws_auth_are_written_although_the_api_server_restarts() {
    let server = FakeApiServer::default();
    let (updates, read) = watch::channel(AwsAuth::default());
    let store = AwsAuthStore::new(server.client(), server.client(), read, Default::default());
    let (tenant, _events) = testing::tenant();
    server.restart(&RESTART[..2]);
    server.refuse_writes(&[500, 409]);
    let rows = [nodejoin_core::testing::node_mapping(ROLE_ARN)];
    tokio::select! {
        () = aws_auth_watch::run(server.client(), updates) => panic!("the watch ended"),
        added = store.add(&tenant.instance.id, &rows) => added.unwrap(),
    }
    assert!(
        server.get(AWS_AUTH).unwrap()["data"]["mapRoles"]
            .to_string()
            .contains(ROLE_ARN)
    );
}

#[tokio::test(start_paused = true)]
async fn a_config_map_that_was_deleted_during_a_restart_has_no_rows() {
    let server = FakeApiServer::default();
    server.put(AWS_AUTH, config_map());
    let (updates, read) = watch::channel(AwsAuth::default());
    let steps = async {
        until(|| *read.borrow() != AwsAuth::default()).await;
        server.restart(&RESTART);
        server.delete(AWS_AUTH);
        until(|| *read.borrow() == AwsAuth::default()).await;
    };
    tokio::select! {
        () = aws_auth_watch::run(server.client(), updates) => panic!("the watch ended"),
        done = tokio::time::timeout(Duration::from_secs(60), steps) => done.unwrap(),
    }
}

/// The changes of the Node that the tenant received: whether it exists.
fn changes(events: &mut mpsc::UnboundedReceiver<ClusterEvent>) -> Vec<bool> {
    let received = std::iter::from_fn(|| events.try_recv().ok());
    let change = |event: ClusterEvent| match event.what {
        ClusterFact::Node { change, .. } => Some(change.exists),
        _ => None,
    };
    received.filter_map(change).collect()
}

#[tokio::test(start_paused = true)]
async fn a_node_that_changed_during_a_restart_is_reported() {
    let (server, (tenants, mut events)) = (FakeApiServer::default(), tenants());
    let steps = async {
        server.restart(&RESTART);
        server.put(NODE, node());
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(changes(&mut events), [true]);
        server.restart(&RESTART);
        server.delete(NODE);
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(changes(&mut events), [false]);
    };
    tokio::select! {
        () = watches::nodes(server.client(), tenants) => panic!("the watch ended"),
        () = steps => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_signing_request_that_was_created_during_a_restart_is_reported() {
    let (server, (tenants, mut events)) = (FakeApiServer::default(), tenants());
    let requests = Arc::new(SigningRequests::new(Arc::clone(&tenants)));
    let steps = async {
        server.restart(&RESTART);
        server.put(REQUEST, signing_request());
        tokio::time::sleep(Duration::from_secs(30)).await;
        let received = std::iter::from_fn(|| events.try_recv().ok());
        assert_eq!(
            received
                .filter(|event| matches!(event.what, ClusterFact::Certificate(_)))
                .count(),
            1
        );
    };
    tokio::select! {
        () = watches::requests(server.client(), tenants, requests) => panic!("the watch ended"),
        () = steps => {}
    }
}
