//! A pod that tests the whole path: image pull, container runtime, network, and the connection from the API server.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use nodejoin_core::observation::PodResult;
use nodejoin_core::plan::PodPlan;
use nodejoin_core::run::time_factor::TimeFactor;
use serde_json::json;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use crate::ClusterError;
use crate::tenants::TenantState;

const NAMESPACE: &str = "default";
const PORT: u16 = 8080;
/// Until the pod answers one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(50);
/// Until the kubelet has sent the reason of a closed stream.
const REASON_TIMEOUT: Duration = Duration::from_millis(500);

/// Creates the pod, waits until it runs, sends it a request, and deletes it.
///
/// The spec names the node, because no scheduler runs, and tolerates every taint, because taints are not tested here.
pub(super) async fn run(
    client: &Client,
    tenant: &TenantState,
    node: &str,
    plan: &PodPlan,
    limit: Duration,
    time_factor: TimeFactor,
) -> Result<PodResult, ClusterError> {
    let timeouts = PodTimeouts {
        until: Instant::now() + limit,
        request: time_factor.scale(REQUEST_TIMEOUT),
        reason: time_factor.scale(REASON_TIMEOUT),
    };
    let api = Api::<Pod>::namespaced(client.clone(), NAMESPACE);
    let name = format!("nodejoin-{}", tenant.instance().id);
    let pod = pod(&name, node, &image(tenant, plan));
    api.create(&PostParams::default(), &pod)
        .await
        .map_err(ClusterError::api(format!("create pod `{name}`")))?;
    // In a task of its own: a watch of pods uses a third of the stack of a test's thread in a debug build.
    let (watched, watched_name) = (api.clone(), name.clone());
    let running = AbortOnDropHandle::new(tokio::spawn(async move {
        await_condition(watched, &watched_name, is_running).await
    }));
    let running = timeout_at(timeouts.until, running)
        .await
        .map(|ended| match ended {
            Ok(running) => running,
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime ends, and with it this run.
                Err(_) => Ok(None),
            },
        });
    let result = match running {
        Ok(Ok(Some(_))) => request_until_answered(&api, &name, &timeouts).await,
        Ok(Ok(None)) => failed("the pod was deleted while it started"),
        Ok(Err(error)) => failed(format!("the watch of the pod failed: {error}")),
        Err(_) => failed(format!(
            "not running after {} s: {}{}",
            limit.as_secs(),
            last_status(&api, &name).await,
            warnings(client, &name).await
        )),
    };
    let _ = api.delete(&name, &DeleteParams::default().grace_period(0)).await;
    Ok(result)
}

struct PodTimeouts {
    until: Instant,
    request: Duration,
    reason: Duration,
}

/// Connects like `kubectl port-forward`: API server, kubelet, container runtime, the pod's network. This path needs the
/// kubelet's serving certificate but no route into the pod network, which only the node has.
async fn request_until_answered(api: &Api<Pod>, name: &str, timeouts: &PodTimeouts) -> PodResult {
    let mut last = failed("no time left for a request");
    // The container runs a moment before its program listens.
    while Instant::now() < timeouts.until {
        match timeout(timeouts.request, response(api, name, timeouts.reason)).await {
            Ok(Ok(text)) => {
                return PodResult {
                    answered: true,
                    detail: text.trim().to_owned(),
                };
            }
            Ok(Err(reason)) => {
                last = failed(format!("running, but no response through its kubelet: {reason}"))
            }
            Err(_) => {
                last = failed(format!(
                    "running, but no response within {} s",
                    timeouts.request.as_secs()
                ))
            }
        }
        tokio::time::sleep(RETRY).await;
    }
    last
}

async fn response(
    api: &Api<Pod>,
    name: &str,
    reason_timeout: Duration,
) -> Result<String, Box<dyn Error + Send + Sync>> {
    let mut forwarder = api.portforward(name, &[PORT]).await?;
    let stream = forwarder.take_stream(PORT).ok_or("the port was not forwarded")?;
    let reason = forwarder.take_error(PORT);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::get("/")
        .header("host", name)
        .header("connection", "close")
        .body(Empty::<Bytes>::new())?;
    let exchange = async {
        let response = sender.send_request(request).await?;
        Ok::<_, hyper::Error>((
            response.status(),
            response.into_body().collect().await?.to_bytes(),
        ))
    };
    // The connection makes progress only while it is polled, and ends with the response.
    let (exchanged, _) = tokio::join!(exchange, connection);
    match exchanged {
        Ok((status, body)) if status.is_success() => Ok(String::from_utf8_lossy(&body).into_owned()),
        Ok((status, _)) => Err(format!("status {status}").into()),
        Err(error) => {
            // A reason from the kubelet explains more than a closed stream.
            let reason = match reason {
                Some(reason) => timeout(reason_timeout, reason).await.ok().flatten(),
                None => None,
            };
            Err(reason.map_or_else(|| error.into(), Into::into))
        }
    }
}

fn pod(name: &str, node: &str, image: &str) -> Pod {
    let text = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": {
            "nodeName": node,
            // A join needs no service account token, and kube-controller-manager may create it late.
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{ "operator": "Exists" }],
            "containers": [{ "name": "echo", "image": image, "ports": [{ "containerPort": PORT }] }],
        }
    });
    serde_json::from_value(text).unwrap_or_default()
}

/// The image of the plan, by default in the tenant's registry.
fn image(tenant: &TenantState, plan: &PodPlan) -> String {
    let (account, region) = (&tenant.tenant.account, &tenant.tenant.region);
    let has_registry = plan
        .image
        .split('/')
        .next()
        .is_some_and(|first| first.contains('.'));
    let tag = if plan
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
        true => format!("{}{tag}", plan.image),
        false => format!(
            "{account}.dkr.ecr.{region}.{}/{}{tag}",
            region.dns_suffix(),
            plan.image
        ),
    }
}

fn is_running(pod: Option<&Pod>) -> bool {
    let phase = pod.and_then(|pod| pod.status.as_ref()?.phase.as_deref());
    let ip = pod.and_then(|pod| pod.status.as_ref()?.pod_ip.as_deref());
    phase == Some("Running") && ip.is_some()
}

/// The pod's phase and the reasons of waiting containers.
async fn last_status(api: &Api<Pod>, name: &str) -> String {
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
        let message = waiting.message.map(|message| format!(": {message}"));
        format!(
            ", {}{}",
            waiting.reason.unwrap_or_default(),
            message.unwrap_or_default()
        )
    });
    phase + &waiting.collect::<String>()
}

/// The pod's events of type `Warning`: they have the reason while a container is in `ContainerCreating`.
async fn warnings(client: &Client, name: &str) -> String {
    let api = Api::<Event>::namespaced(client.clone(), NAMESPACE);
    let fields = format!("involvedObject.kind=Pod,involvedObject.name={name},type=Warning");
    let events = api.list(&ListParams::default().fields(&fields)).await;
    events.map_or_else(|_| String::new(), |events| texts(&events.items))
}

/// The reason and message of each event, the newest last.
fn texts(events: &[Event]) -> String {
    const MOST: usize = 3;
    let mut found: Vec<String> = Vec::new();
    for event in events {
        let reason = event.reason.as_deref().unwrap_or("Warning");
        let message = event.message.as_deref().unwrap_or("no message");
        let count = event.count.filter(|count| *count > 1);
        let count = count.map(|count| format!(" ({count} times)")).unwrap_or_default();
        found.push(format!("; event {reason}: {}{count}", message.trim()));
    }
    found.split_off(found.len().saturating_sub(MOST)).concat()
}

fn failed(detail: impl Into<String>) -> PodResult {
    PodResult {
        answered: false,
        detail: detail.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(reason: &str, message: &str, count: i32) -> Event {
        Event {
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            count: Some(count),
            ..Event::default()
        }
    }

    #[test]
    fn the_last_events_of_a_pod_are_quoted() {
        let events = [
            event("BackOff", "first", 1),
            event("FailedMount", "second", 1),
            event(
                "FailedCreatePodSandBox",
                "Failed to create pod sandbox: rpc error\n",
                4,
            ),
            event("Failed", "fourth", 1),
        ];
        assert_eq!(
            texts(&events),
            "; event FailedMount: second; event FailedCreatePodSandBox: Failed to create pod sandbox: rpc error (4 times); \
             event Failed: fourth"
        );
        assert_eq!(texts(&[]), "");
    }
}
