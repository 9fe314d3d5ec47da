//! A pod that proves the whole path: image pull, container runtime, network, and the API server's way to it.

use std::time::Duration;

use http::Request;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, ResourceExt as _};
use nodejoin_core::observation::PodResult;
use nodejoin_core::plan::PodPlan;
use serde_json::json;
use tokio::time::{Instant, timeout, timeout_at};

use crate::ClusterError;
use crate::plane::ControlPlane;
use crate::tenants::Admitted;

/// Makes the pod, waits until it runs, asks it, and removes it.
///
/// The node is named in the spec, since no scheduler runs, and every taint is tolerated, since taints are not what is
/// asked about.
pub(crate) async fn run(
    plane: &ControlPlane,
    tenant: &Admitted,
    node: &str,
    ask: &PodPlan,
    limit: Duration,
) -> Result<PodResult, ClusterError> {
    let until = Instant::now() + limit;
    let api = Api::<Pod>::namespaced(plane.client(), NAMESPACE);
    let name = format!("nodejoin-{}", tenant.instance().id);
    let pod = pod(&name, node, &image(tenant, ask));
    api.create(&PostParams::default(), &pod)
        .await
        .map_err(ClusterError::api(format!("create pod `{name}`")))?;
    let running = timeout_at(until, await_condition(api.clone(), &name, is_running)).await;
    let result = match running {
        Ok(Ok(Some(pod))) => ask_pod(plane, tenant, &pod, until).await,
        Ok(Ok(None)) => silent("the pod was deleted while it started"),
        Ok(Err(error)) => silent(format!("the watch of the pod broke: {error}")),
        Err(_) => silent(format!(
            "not running after {} s: {}",
            limit.as_secs(),
            last_seen(&api, &name).await
        )),
    };
    let _ = api.delete(&name, &DeleteParams::default().grace_period(0)).await;
    Ok(result)
}

/// Asks through the API server's proxy, which goes to the pod's address; the route to it exists only while it is asked.
async fn ask_pod(plane: &ControlPlane, tenant: &Admitted, pod: &Pod, until: Instant) -> PodResult {
    let Some(address) = pod.status.as_ref().and_then(|status| status.pod_ip.clone()) else {
        return silent("the pod runs without an address");
    };
    let Some(via) = tenant.via() else {
        return silent("no route to the node was given");
    };
    let _asking = plane.parts.asking.lock().await;
    // A pod on the host's network has the node's address, which has its route already.
    let is_own_network = address != tenant.instance().private_ip.to_string();
    let subnet = format!("{address}/32");
    if is_own_network && let Err(error) = plane.route_subnet(&subnet, via).await {
        return silent(error.to_string());
    }
    let result = answer(plane, &pod.name_any(), until).await;
    if is_own_network && let Err(error) = plane.parts.container.ip(&["route", "del", &subnet]).await {
        tracing::warn!(%error, "the route to a pod stays");
    }
    result
}

/// The container runs a moment before its program listens.
async fn answer(plane: &ControlPlane, name: &str, until: Instant) -> PodResult {
    let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/http:{name}:{PORT}/proxy/");
    let mut last = silent("it was not asked in time");
    while Instant::now() < until {
        let Ok(request) = Request::get(&path).body(Vec::new()) else {
            return silent("the pod's path is no URI");
        };
        match timeout(ONE_QUESTION, plane.client().request_text(request)).await {
            Ok(Ok(text)) => {
                return PodResult {
                    answered: true,
                    detail: text.trim().to_owned(),
                };
            }
            Ok(Err(error)) => last = silent(format!("running, and the API server's proxy says: {error}")),
            Err(_) => last = silent(format!("running, and silent for {} s", ONE_QUESTION.as_secs())),
        }
        tokio::time::sleep(RETRY).await;
    }
    last
}

fn pod(name: &str, node: &str, image: &str) -> Pod {
    let text = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": {
            "nodeName": node,
            // Service account tokens are no part of a join, and kube-controller-manager makes them in its own time.
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{ "operator": "Exists" }],
            "containers": [{ "name": "echo", "image": image, "ports": [{ "containerPort": PORT }] }],
        }
    });
    serde_json::from_value(text).unwrap_or_default()
}

/// A repository of the tenant's own registry, unless the plan names a registry itself.
fn image(tenant: &Admitted, ask: &PodPlan) -> String {
    let (account, region) = (&tenant.tenant.account, &tenant.tenant.region);
    let has_registry = ask
        .image
        .split('/')
        .next()
        .is_some_and(|first| first.contains('.'));
    let tag = if ask
        .image
        .rsplit('/')
        .next()
        .is_some_and(|last| last.contains(':'))
    {
        ""
    } else {
        ":latest"
    };
    match has_registry {
        true => format!("{}{tag}", ask.image),
        false => format!(
            "{account}.dkr.ecr.{region}.{}/{}{tag}",
            region.dns_suffix(),
            ask.image
        ),
    }
}

fn is_running(pod: Option<&Pod>) -> bool {
    let phase = pod.and_then(|pod| pod.status.as_ref()?.phase.as_deref());
    let ip = pod.and_then(|pod| pod.status.as_ref()?.pod_ip.as_deref());
    phase == Some("Running") && ip.is_some()
}

/// Why it does not run, as the kubelet tells it.
async fn last_seen(api: &Api<Pod>, name: &str) -> String {
    let status = api
        .get(name)
        .await
        .ok()
        .and_then(|pod| pod.status)
        .unwrap_or_default();
    let phase = status.phase.unwrap_or_else(|| "no status".to_owned());
    let states = status
        .container_statuses
        .unwrap_or_default()
        .into_iter()
        .filter_map(|container| container.state);
    let waiting = states.filter_map(|state| state.waiting).map(|waiting| {
        format!(
            ", {}: {}",
            waiting.reason.unwrap_or_default(),
            waiting.message.unwrap_or_default()
        )
    });
    phase + &waiting.collect::<String>()
}

fn silent(detail: impl Into<String>) -> PodResult {
    PodResult {
        answered: false,
        detail: detail.into(),
    }
}

const NAMESPACE: &str = "default";
const PORT: u16 = 8080;
const ONE_QUESTION: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(50);
