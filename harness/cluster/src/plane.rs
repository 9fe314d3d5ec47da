//! A running control plane, whoever runs its API server: answers questions, and ends.

use std::collections::{BTreeSet, HashMap};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Request;
use kube::Client;
use nodejoin_core::observation::PodResult;
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::plan::{Plan, PodPlan};
use nodejoin_core::run::time_factor::TimeFactor;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::ClusterError;
use crate::access::{Access, await_ready};
use crate::certificates::Certificates;
use crate::container::Container;
use crate::controllers::aws_auth::AwsAuthOwner;
use crate::foreign::{self, Foreign};
use crate::kubeadm::Bootstrap;
use crate::needs::{self, Lack};
use crate::pod;
use crate::provider::Holding;
use crate::stopwatch::StartTime;
use crate::tenants::{Admitted, Tenants, lock};
use crate::webhook::raise;

/// A running control plane. Scenarios share it as tenants; everything takes `&self`.
pub struct ControlPlane {
    /// Version of its API server, such as `v1.20.2`.
    pub version: String,
    /// Where nodes reach it.
    pub endpoint: SocketAddrV4,
    /// The cluster's CA.
    pub ca_pem: String,
    /// The CA of another cluster: well formed, and wrong.
    pub other_ca_pem: String,
    /// Labels for the containers of its nodes, by which the tools of its provider know them.
    pub node_labels: HashMap<String, String>,
    pub(crate) parts: Parts,
}

/// What a running control plane is made of.
pub(crate) struct Parts {
    pub(crate) client: Client,
    pub(crate) access: Access,
    pub(crate) time_factor: TimeFactor,
    pub(crate) container: Container,
    pub(crate) foreign: Option<Foreign>,
    pub(crate) lacks: Vec<Lack>,
    pub(crate) tenants: Arc<Tenants>,
    pub(crate) certificates: Arc<Certificates>,
    pub(crate) aws_auth: AwsAuthOwner,
    /// `None` where a scenario with bootstrap tokens is skipped.
    pub(crate) bootstrap: Option<Bootstrap>,
    /// Names of the Nodes that were left for a person to look at.
    pub(crate) left: Mutex<BTreeSet<String>>,
    pub(crate) start_times: Vec<StartTime>,
    pub(crate) tasks: Mutex<JoinSet<()>>,
    pub(crate) cancel: CancellationToken,
    /// What the provider needs as long as it runs.
    pub(crate) holds: Option<Box<dyn Holding>>,
}

impl ControlPlane {
    /// The host name by which kubeadm's ConfigMaps call the API server; nodes must be able to resolve it.
    #[must_use]
    pub fn kubeadm_host(&self) -> Option<&str> {
        self.parts.bootstrap.as_ref().map(Bootstrap::host)
    }

    /// Lets the API server reach the instance's private address, which its container at `via` has.
    ///
    /// # Errors
    /// When the instance is unknown or the redirection cannot be set.
    pub async fn route(&self, instance: &InstanceId, via: Ipv4Addr) -> Result<(), ClusterError> {
        let tenant = self.tenant(instance)?;
        let address = tenant.instance().private_ip;
        if let Some(before) = tenant.learn_via(via) {
            self.parts.container.end_redirect(address, before).await?;
        }
        self.parts.container.redirect(address, via).await
    }

    /// Runs a pod on a node of this instance and asks it through the API server.
    ///
    /// # Errors
    /// When the instance is unknown or the API server refuses the pod; a pod that does not answer is no error.
    pub async fn run_pod(
        &self,
        instance: &InstanceId,
        node: &str,
        ask: &PodPlan,
        limit: Duration,
    ) -> Result<PodResult, ClusterError> {
        let tenant = self.tenant(instance)?;
        pod::run(self, &tenant, node, ask, limit).await
    }

    /// The kubelet's running configuration, through the API server.
    ///
    /// # Errors
    /// When the kubelet cannot be reached, which an unapproved serving certificate is enough for.
    pub async fn configz(&self, node: &str) -> Result<Value, ClusterError> {
        let operation = format!("read /configz of node `{node}`");
        let request = Request::get(format!("/api/v1/nodes/{node}/proxy/configz")).body(Vec::new());
        let request = request
            .map_err(kube::Error::HttpError)
            .map_err(ClusterError::api(operation.clone()))?;
        // A node that is gone is not refused by anybody, and TCP waits for minutes.
        let limit = self.parts.time_factor.limit(KUBELET_LIMIT);
        let answer = timeout(limit, self.client().request::<Value>(request)).await;
        let answer = answer.map_err(|_| ClusterError::TimedOut {
            what: format!("/configz of node `{node}`"),
            limit,
            last_seen: "no answer".to_owned(),
        })?;
        let mut value = answer.map_err(ClusterError::api(operation))?;
        Ok(value.get_mut("kubeletconfig").map_or(Value::Null, Value::take))
    }

    /// Restarts the API server, and waits until it answers again. Only the provider `local` can.
    ///
    /// # Errors
    /// When it cannot be told to, or does not come back.
    pub async fn restart_api_server(&self) -> Result<(), ClusterError> {
        let script = "old=$(pidof kube-apiserver) && kill -USR1 1 && \
                      until new=$(pidof kube-apiserver) && [ \"$new\" != \"$old\" ]; do sleep 0.05; done";
        let limit = self.parts.time_factor.limit(RESTART_LIMIT);
        let told = timeout(limit, self.parts.container.run(&["sh", "-c", script])).await;
        told.map_err(|_| ClusterError::TimedOut {
            what: "the API server to be restarted".to_owned(),
            limit,
            last_seen: "the process that ran before".to_owned(),
        })??;
        await_ready(&self.client(), limit).await.map(|_| ())
    }

    /// Lets the provider's files on this machine stay, because its container is kept.
    pub fn keep_files(&self) {
        if let Some(holds) = &self.parts.holds {
            holds.keep();
        }
    }

    /// A client with every right.
    #[must_use]
    pub fn client(&self) -> Client {
        self.parts.client.clone()
    }

    /// The admin's kubeconfig, for the user's own `kubectl` on this machine. It holds a key: it is for a file that only
    /// the user reads, never for a report.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        self.parts.access.kubeconfig()
    }

    /// Where the time of the start went.
    #[must_use]
    pub fn start_times(&self) -> &[StartTime] {
        &self.parts.start_times
    }

    /// What the programs printed, for evidence.
    pub async fn logs(&self) -> String {
        self.parts.container.logs().await
    }

    /// The id of its container, where it runs in one of the harness's.
    #[must_use]
    pub fn container_id(&self) -> Option<&str> {
        self.parts.container.id()
    }

    /// What this control plane is not wired to; empty for those that the harness starts.
    #[must_use]
    pub fn lacks(&self) -> &[Lack] {
        &self.parts.lacks
    }

    /// Why a scenario cannot be told passed or failed here; `None` where it can.
    pub async fn not_for(&self, plan: &Plan) -> Option<String> {
        let of_kubeadm = self.parts.bootstrap.is_none().then(Lack::of_client_certificates);
        let lacks: Vec<Lack> = self.parts.lacks.iter().cloned().chain(of_kubeadm).collect();
        if let Some(reason) = needs::lacking(plan, &lacks) {
            return Some(reason);
        }
        self.parts.foreign.as_ref()?;
        let host = plan.cluster.endpoint_host(&plan.region);
        let served = foreign::serves(self.endpoint, &host, &self.ca_pem).await;
        let (_, wildcard) = host.split_once('.')?;
        served.err().map(|error| {
            format!(
                "nodes ask for `https://{host}`, and the API server's certificate is not for that name ({error}): add `*.{wildcard}` \
                 to its names, or a certificate with it by `--tls-sni-cert-key`"
            )
        })
    }

    /// Waits until the API server is gone, which it should not be before the run's end.
    pub async fn ended(&self) -> ClusterError {
        match &self.parts.foreign {
            Some(foreign) => foreign.gone().await,
            None => ClusterError::Ended {
                phase: "nodes joined",
                lines: self.parts.container.ended().await,
            },
        }
    }

    /// Ends the controllers and the webhooks, and raises the panic of any. The container is the run's to remove; what was made
    /// on a cluster of the user's is removed here, and what could not be is returned.
    ///
    /// # Panics
    /// When a controller has panicked.
    pub async fn shut_down(&self) -> Vec<String> {
        self.parts.cancel.cancel();
        let mut tasks = std::mem::take(&mut *lock(&self.parts.tasks));
        while let Some(ended) = tasks.join_next().await {
            raise(ended);
        }
        match &self.parts.foreign {
            Some(foreign) => foreign.clean_up().await,
            None => Vec::new(),
        }
    }

    pub(crate) fn tenant(&self, instance: &InstanceId) -> Result<Arc<Admitted>, ClusterError> {
        let tenant = self.parts.tenants.by_instance(instance);
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

const RESTART_LIMIT: Duration = Duration::from_secs(60);
const KUBELET_LIMIT: Duration = Duration::from_secs(10);
