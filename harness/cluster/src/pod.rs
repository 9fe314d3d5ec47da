//! A pod that proves the whole path: image pull, container runtime, network, and the API server's way to it.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use kube::runtime::wait::await_condition;
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
    let limits = Limits {
        until: Instant::now() + limit,
        one_question: plane.parts.time_factor.limit(ONE_QUESTION),
    };
    let api = Api::<Pod>::namespaced(plane.client(), NAMESPACE);
    let name = format!("nodejoin-{}", tenant.instance().id);
    let pod = pod(&name, node, &image(tenant, ask));
    api.create(&PostParams::default(), &pod)
        .await
        .map_err(ClusterError::api(format!("create pod `{name}`")))?;
    let running = timeout_at(limits.until, await_condition(api.clone(), &name, is_running)).await;
    let result = match running {
        Ok(Ok(Some(_))) => ask_pod(&api, &name, &limits).await,
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

/// How long a pod and its answer are waited for.
struct Limits {
    until: Instant,
    one_question: Duration,
}

/// Asks as `kubectl port-forward` does: API server, kubelet, container runtime, the pod's own network. The way needs the
/// kubelet's serving certificate, and no route into the pod network, which nothing outside the node has here.
async fn ask_pod(api: &Api<Pod>, name: &str, limits: &Limits) -> PodResult {
    let mut last = silent("it was not asked in time");
    // The container runs a moment before its program listens.
    while Instant::now() < limits.until {
        match timeout(limits.one_question, answer(api, name)).await {
            Ok(Ok(text)) => {
                return PodResult {
                    answered: true,
                    detail: text.trim().to_owned(),
                };
            }
            Ok(Err(why)) => last = silent(format!("running, and asked through its kubelet: {why}")),
            Err(_) => {
                last = silent(format!(
                    "running, and silent for {} s",
                    limits.one_question.as_secs()
                ))
            }
        }
        tokio::time::sleep(RETRY).await;
    }
    last
}

async fn answer(api: &Api<Pod>, name: &str) -> Result<String, Box<dyn Error + Send + Sync>> {
    let mut forwarder = api.portforward(name, &[PORT]).await?;
    let stream = forwarder.take_stream(PORT).ok_or("the port was not forwarded")?;
    let refused = forwarder.take_error(PORT);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::get("/")
        .header("host", name)
        .header("connection", "close")
        .body(Empty::<Bytes>::new())?;
    let ask = async {
        let response = sender.send_request(request).await?;
        Ok::<_, hyper::Error>((
            response.status(),
            response.into_body().collect().await?.to_bytes(),
        ))
    };
    // The connection does its work only while it is polled, and ends with the answer.
    let (asked, _) = tokio::join!(ask, connection);
    match asked {
        Ok((status, body)) if status.is_success() => Ok(String::from_utf8_lossy(&body).into_owned()),
        Ok((status, _)) => Err(format!("it answered {status}").into()),
        Err(error) => {
            // The kubelet's word, where it has one, says more than a closed stream.
            let word = match refused {
                Some(refused) => timeout(WORD, refused).await.ok().flatten(),
                None => None,
            };
            Err(word.map_or_else(|| error.into(), Into::into))
        }
    }
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
const WORD: Duration = Duration::from_millis(500);
