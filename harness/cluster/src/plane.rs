//! A running control plane, whoever runs its API server: admits tenants, answers questions, and ends.

use std::any::Any;
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Request;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client, ResourceExt as _};
use nodejoin_core::ids::InstanceId;
use nodejoin_core::observation::PodResult;
use nodejoin_core::plan::{Plan, PodPlan};
use nodejoin_core::time_factor::TimeFactor;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::ClusterError;
use crate::access::Access;
use crate::certificates::Certificates;
use crate::container::Container;
use crate::controllers::aws_auth::AwsAuthOwner;
use crate::foreign::{self, Foreign};
use crate::needs::{self, Lack};
use crate::pod;
use crate::stopwatch::StartTime;
use crate::tenants::{Admitted, Tenant, Tenants, lock};
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
    pub(crate) start_times: Vec<StartTime>,
    pub(crate) tasks: Mutex<JoinSet<()>>,
    pub(crate) cancel: CancellationToken,
    /// What the provider needs as long as it runs.
    pub(crate) _holds: Option<Box<dyn Any + Send + Sync>>,
}

impl ControlPlane {
    /// Takes a tenant in; its rows of `aws-auth` count when this returns.
    ///
    /// # Errors
    /// When another tenant has the instance's id, address or private DNS name, or the API server refuses.
    pub async fn admit(&self, tenant: Tenant) -> Result<(), ClusterError> {
        let admitted = self.parts.tenants.admit(tenant)?;
        let tenant = &admitted.tenant;
        self.parts
            .aws_auth
            .add(&tenant.instance.id, &tenant.cluster.aws_auth)
            .await
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

    /// Removes everything of a tenant: its rows of `aws-auth`, Node, lease, certificate signing requests, pods, redirection.
    /// Remove the node's container first: the API server believes a token for some seconds after it was good, and a
    /// kubelet registers again.
    ///
    /// # Errors
    /// All that could not be removed, the first of them; the others are in the log.
    pub async fn withdraw(&self, instance: &InstanceId) -> Result<(), ClusterError> {
        let Some(tenant) = self.parts.tenants.withdraw(instance) else {
            return Ok(());
        };
        let removals = tokio::join!(
            self.parts.aws_auth.remove(instance),
            self.remove_requests(&tenant),
            self.remove_nodes(&tenant),
            self.remove_route(&tenant),
        );
        let failed = [removals.0, removals.1, removals.2, removals.3]
            .into_iter()
            .filter_map(Result::err);
        let mut failed =
            failed.inspect(|error| tracing::warn!(%error, %instance, "left behind on the control plane"));
        let first = failed.next();
        failed.for_each(drop);
        first.map_or(Ok(()), Err)
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
        self.parts.foreign.as_ref()?;
        if let Some(reason) = needs::lacking(plan, &self.parts.lacks) {
            return Some(reason);
        }
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

    /// By a list and not by what the watch has told: the last request may be younger than that.
    async fn remove_requests(&self, tenant: &Admitted) -> Result<(), ClusterError> {
        let api = Api::<CertificateSigningRequest>::all(self.client());
        let all = api.list(&ListParams::default()).await;
        let all = all.map_err(ClusterError::api("list certificate signing requests"))?;
        for request in all
            .items
            .into_iter()
            .filter(|request| tenant.is_requestor(&request.spec))
        {
            let name = request.name_any();
            gone(
                api.delete(&name, &DeleteParams::default()).await,
                "request",
                &name,
            )?;
        }
        self.parts.certificates.forget(&tenant.instance().id);
        Ok(())
    }

    /// Pods first and at once: no kubelet is left that could confirm their end.
    async fn remove_nodes(&self, tenant: &Admitted) -> Result<(), ClusterError> {
        let at_once = DeleteParams::default().grace_period(0);
        let leases = Api::<Lease>::namespaced(self.client(), "kube-node-lease");
        for name in tenant.node_names() {
            let pods = Api::<Pod>::all(self.client());
            let on_node = ListParams::default().fields(&format!("spec.nodeName={name}"));
            for pod in pods
                .list(&on_node)
                .await
                .map_err(ClusterError::api("list pods"))?
            {
                let metadata = pod.metadata;
                let (Some(pod), Some(namespace)) = (metadata.name, metadata.namespace) else {
                    continue;
                };
                gone(
                    Api::<Pod>::namespaced(self.client(), &namespace)
                        .delete(&pod, &at_once)
                        .await,
                    "pod",
                    &pod,
                )?;
            }
            gone(
                Api::<Node>::all(self.client()).delete(&name, &at_once).await,
                "node",
                &name,
            )?;
            gone(leases.delete(&name, &at_once).await, "lease", &name)?;
        }
        Ok(())
    }

    async fn remove_route(&self, tenant: &Admitted) -> Result<(), ClusterError> {
        let Some(via) = tenant.via() else { return Ok(()) };
        self.parts
            .container
            .end_redirect(tenant.instance().private_ip, via)
            .await
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

/// Makes of a deletion that found nothing a deletion that worked.
fn gone<T>(result: kube::Result<T>, kind: &str, name: &str) -> Result<(), ClusterError> {
    match result {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(ClusterError::api(format!("delete {kind} `{name}`"))(error)),
        Ok(_) => Ok(()),
    }
}

const KUBELET_LIMIT: Duration = Duration::from_secs(10);
