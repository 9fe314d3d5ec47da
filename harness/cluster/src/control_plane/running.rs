//! A running control plane.

use std::collections::{BTreeSet, HashMap};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use kube::Client;
use nodejoin_core::observation::PodResult;
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::plan::{Plan, PodPlan};
use nodejoin_core::run::time_factor::TimeFactor;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::timeout;

use super::eks_layer::EksLayer;
use super::pod;
use crate::ClusterError;
use crate::api_server::access::{Access, await_ready};
use crate::client_certificates::kubeadm::Bootstrap;
use crate::install::Install;
use crate::needs::{self, Lack};
use crate::provider::ProviderKind;
use crate::stopwatch::StartTime;
use crate::tenants::TenantState;
use crate::webhooks::probe::WebhookProbe;

const RESTART_TIMEOUT: Duration = Duration::from_secs(180);
/// Until a kubelet answers through the API server. TCP would wait for minutes for a node that is gone.
const KUBELET_TIMEOUT: Duration = Duration::from_secs(10);

/// A running control plane. Scenarios share it as tenants, so all methods take `&self`.
pub struct ControlPlane {
    /// Version of the API server, such as `v1.20.2`.
    pub version: String,
    /// The address for nodes.
    pub endpoint: SocketAddrV4,
    /// The cluster's CA.
    pub ca_pem: String,
    /// The CA of another cluster, for scenarios with a wrong CA.
    pub other_ca_pem: String,
    /// Labels for node containers, by which the provider's own tools recognize them.
    pub node_labels: HashMap<String, String>,
    pub(super) client: Client,
    pub(super) access: Access,
    pub(super) time_factor: TimeFactor,
    pub(super) install: Install,
    pub(super) eks: EksLayer,
    /// `None` on control planes that do not support bootstrap tokens.
    pub(super) bootstrap: Option<Bootstrap>,
    pub(super) lacks: Vec<Lack>,
    pub(super) probe: Arc<WebhookProbe>,
    /// Names of Nodes that stay for a person to inspect.
    pub(super) kept_nodes: Mutex<BTreeSet<String>>,
    pub(super) start_times: Vec<StartTime>,
}

impl ControlPlane {
    /// The API server's host name in kubeadm's ConfigMaps. Nodes must resolve it.
    #[must_use]
    pub fn kubeadm_host(&self) -> Option<&str> {
        self.bootstrap.as_ref().map(Bootstrap::host)
    }

    /// Redirects the API server's connections to the instance's private address to its container at `container_ip`.
    ///
    /// # Errors
    /// When the instance is unknown or the redirection fails.
    pub async fn route(&self, instance: &InstanceId, container_ip: Ipv4Addr) -> Result<(), ClusterError> {
        let tenant = self.tenant(instance)?;
        let address = tenant.instance().private_ip;
        let previous = tenant.replace_container_ip(container_ip);
        let Some(container) = self.install.container() else {
            return Ok(());
        };
        if let Some(previous) = previous {
            container.end_redirect(address, previous).await?;
        }
        container.redirect(address, container_ip).await
    }

    /// Runs a pod on the instance's node and sends it a request through the API server.
    ///
    /// # Errors
    /// When the instance is unknown or the API server rejects the pod. A pod that does not answer is a result, not an
    /// error.
    pub async fn run_pod(
        &self,
        instance: &InstanceId,
        node: &str,
        plan: &PodPlan,
        limit: Duration,
    ) -> Result<PodResult, ClusterError> {
        let tenant = self.tenant(instance)?;
        pod::run(&self.client, &tenant, node, plan, limit, self.time_factor).await
    }

    /// The kubelet's running configuration, read through the API server.
    ///
    /// # Errors
    /// When the kubelet is not reachable, for example because its serving certificate is not approved.
    pub async fn configz(&self, node: &str) -> Result<Value, ClusterError> {
        let operation = format!("read /configz of node `{node}`");
        let request = Request::get(format!("/api/v1/nodes/{node}/proxy/configz")).body(Vec::new());
        let request = request
            .map_err(kube::Error::HttpError)
            .map_err(ClusterError::api(operation.clone()))?;
        let time_limit = self.time_factor.scale(KUBELET_TIMEOUT);
        let response = timeout(time_limit, self.client.request::<Value>(request)).await;
        let response = response.map_err(|_| ClusterError::TimedOut {
            what: format!("/configz of node `{node}`"),
            timeout: time_limit,
            last_status: "no response".to_owned(),
        })?;
        let mut value = response.map_err(ClusterError::api(operation))?;
        Ok(value.get_mut("kubeletconfig").map_or(Value::Null, Value::take))
    }

    /// Restarts the API server and waits until it is ready. Requires [`Capabilities::restarts_api_server`].
    ///
    /// [`Capabilities::restarts_api_server`]: crate::Capabilities::restarts_api_server
    ///
    /// # Errors
    /// When the restart fails or times out.
    pub async fn restart_api_server(&self) -> Result<(), ClusterError> {
        let script = "old=$(pidof kube-apiserver) && kill -USR1 1 && \
                      until new=$(pidof kube-apiserver) && [ \"$new\" != \"$old\" ]; do sleep 0.05; done";
        let Some(container) = self.install.container() else {
            return Ok(());
        };
        let time_limit = self.time_factor.scale(RESTART_TIMEOUT);
        let restarted = timeout(time_limit, container.run(&["sh", "-c", script])).await;
        restarted.map_err(|_| ClusterError::TimedOut {
            what: "the API server to restart".to_owned(),
            timeout: time_limit,
            last_status: "the old process still runs".to_owned(),
        })??;
        await_ready(&self.client, time_limit).await.map(|_| ())
    }

    /// Keeps the provider's files on this machine, because its container is kept.
    pub fn keep_files(&self) {
        self.install.keep_files();
    }

    /// A client with every right.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The admin's kubeconfig, for `kubectl` on this machine. It contains a private key: write it only to a private
    /// file.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        self.access.kubeconfig()
    }

    /// The duration of each phase of the start.
    #[must_use]
    pub fn start_times(&self) -> &[StartTime] {
        &self.start_times
    }

    /// The output of the control plane's programs, for evidence.
    pub async fn logs(&self) -> String {
        self.install.logs().await
    }

    /// The id of its container; `None` for a user's cluster.
    #[must_use]
    pub fn container_id(&self) -> Option<&str> {
        self.install.container().map(|container| container.id())
    }

    /// What a user's cluster lacks. Empty for control planes that the harness starts.
    #[must_use]
    pub fn lacks(&self) -> &[Lack] {
        &self.lacks
    }

    /// Why this control plane cannot judge a scenario; `None` if it can.
    pub async fn not_for(&self, plan: &Plan) -> Option<String> {
        let client_certificates = self.bootstrap.is_none().then(|| {
            let providers = ProviderKind::names_with(|can| can.client_certificates);
            Lack::client_certificates(&providers)
        });
        let lacks: Vec<Lack> = self.lacks.iter().cloned().chain(client_certificates).collect();
        if let Some(reason) = needs::lacking(plan, &lacks) {
            return Some(reason);
        }
        match &self.install {
            Install::Own(_) => None,
            Install::External(external) => {
                let host = plan.cluster.endpoint_host(&plan.region);
                let served = external.serves_certificate_for(self.endpoint, &host, &self.ca_pem);
                let (_, domain) = host.split_once('.')?;
                served.await.err().map(|error| {
                    format!(
                        "nodes connect to `https://{host}`, but the API server's certificate does not cover that name ({error}); add \
                         `*.{domain}` to its names, or a certificate with that name with `--tls-sni-cert-key`"
                    )
                })
            }
        }
    }

    /// Waits until the API server is gone, which is unexpected before the run's end.
    pub async fn ended(&self) -> ClusterError {
        self.install.ended().await
    }

    /// Ends the controllers and the webhooks. The run removes the container; objects on a user's cluster are removed
    /// here. Returns one line per object that could not be removed.
    ///
    /// # Panics
    /// With the panic of a controller.
    pub async fn shut_down(&self) -> Vec<String> {
        self.eks.shut_down().await;
        self.install.clean_up().await
    }

    pub(super) fn tenant(&self, instance: &InstanceId) -> Result<Arc<TenantState>, ClusterError> {
        let tenant = self.eks.state.tenants.by_instance(instance);
        tenant.ok_or_else(|| ClusterError::UnknownInstance {
            instance: instance.to_string(),
        })
    }
}

impl std::fmt::Debug for ControlPlane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControlPlane")
            .field("version", &self.version)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}
