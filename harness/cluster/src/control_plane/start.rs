//! Starts a control plane with any provider and adds the EKS layer.
//!
//! ```text
//! PKI, webhooks -> wiring -> provider: API server -> /readyz -> EKS layer -> service account -> ready
//!   harness (some ms)           programs                         harness (some ms)   programs
//! ```

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::{Run, RunNetwork};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use super::eks_layer::{EksLayer, SharedState, Tasks, await_service_account};
use super::running::ControlPlane;
use crate::ClusterError;
use crate::api_server::access::{Access, await_ready_at};
use crate::client_certificates::kubeadm::Bootstrap;
use crate::iam::authenticator::Authenticator;
use crate::iam::aws_auth::AwsAuth;
use crate::iam::sts::SecurityTokens;
use crate::install::Install;
use crate::needs::Lack;
use crate::observe::audit::AuditLog;
use crate::observe::signing_requests::SigningRequests;
use crate::pki::Pki;
use crate::provider::{Provider, ProviderKind, StartContext, StartedApiServer};
use crate::stopwatch::Stopwatch;
use crate::tenants::Tenants;
use crate::webhooks::probe::WebhookProbe;
use crate::webhooks::server::{BoundWebhooks, Handlers};
use crate::wiring::ApiServerWiring;

/// Until the API server is ready.
const READY_TIMEOUT: Duration = Duration::from_secs(180);

impl ControlPlane {
    /// Starts a control plane with this provider on a network of the run. Its certificate covers the host name
    /// `endpoint` besides those of EKS. Nodes can join when this returns.
    ///
    /// # Errors
    /// When the provider fails, its programs end or are not ready in time, or the webhooks cannot listen. The run
    /// removes what was created until then.
    pub async fn start(
        provider: &dyn Provider,
        run: &Run,
        network: &RunNetwork,
        endpoint: Option<&str>,
        tokens: impl SecurityTokens,
    ) -> Result<Self, ClusterError> {
        let mut times = Stopwatch::start();
        let listening =
            ListeningWebhooks::start(provider, network.gateway, endpoint, Arc::new(tokens)).await?;
        times.lap("certificates and webhooks", false);
        let context = StartContext {
            run,
            network,
            wiring: &listening.wiring,
            endpoint,
            times: &mut times,
        };
        let started = provider.start(context).await?;
        debug_assert_eq!(
            ProviderKind::of(provider.name()).capabilities.client_certificates,
            started.install.kubeadm().is_some()
        );
        listening.attach(started, times, run.engine().time_factor()).await
    }
}

/// The harness's side of a control plane before the API server starts.
struct ListeningWebhooks {
    wiring: ApiServerWiring,
    state: SharedState,
    mapping: (watch::Sender<AwsAuth>, watch::Receiver<AwsAuth>),
    tasks: Tasks,
    probe: Arc<WebhookProbe>,
}

impl ListeningWebhooks {
    /// Generates the PKI and listens: on the network's gateway address, or on the address in the provider's wiring
    /// folder.
    async fn start(
        provider: &dyn Provider,
        gateway: Ipv4Addr,
        endpoint: Option<&str>,
        tokens: Arc<dyn SecurityTokens>,
    ) -> Result<Self, ClusterError> {
        let pki = Pki::with_endpoint(endpoint)?;
        // The digest of a private key is as hard to guess as the key.
        let word = hex::encode(Sha256::digest(pki.service_account_key.reveal()));
        let probe = Arc::new(WebhookProbe::new(word));
        let wiring = match provider.wiring_folder() {
            Some(folder) => folder.wiring(pki)?,
            None => ApiServerWiring {
                webhooks: SocketAddrV4::new(gateway, 0).into(),
                pki,
            },
        };
        let webhooks = BoundWebhooks::bind(wiring.webhooks, &wiring.pki.webhooks).await?;
        let wiring = ApiServerWiring {
            webhooks: webhooks.address,
            ..wiring
        };
        let tenants = Arc::new(Tenants::default());
        let state = SharedState {
            signing_requests: Arc::new(SigningRequests::new(Arc::clone(&tenants))),
            tenants,
        };
        let mapping = watch::channel(AwsAuth::default());
        let handlers = Handlers {
            authenticator: Authenticator::new(tokens, Arc::clone(&state.tenants), mapping.1.clone()),
            audit: Some(AuditLog::new(
                Arc::clone(&state.tenants),
                Arc::clone(&state.signing_requests),
            )),
            probe: Arc::clone(&probe),
        };
        let tasks = Tasks::new();
        tasks.spawn(webhooks.serve(Arc::new(handlers), tasks.cancellation()));
        Ok(Self {
            wiring,
            state,
            mapping,
            tasks,
            probe,
        })
    }

    /// Turns an API server into a control plane. After a failure nothing stays on a user's cluster.
    async fn attach(
        self,
        started: StartedApiServer,
        mut times: Stopwatch,
        time_factor: TimeFactor,
    ) -> Result<ControlPlane, ClusterError> {
        let StartedApiServer {
            access,
            endpoint,
            ca_pem,
            node_labels,
            install,
        } = started;
        let access = access.with_time_factor(time_factor);
        let probe = Arc::clone(&self.probe);
        let other_ca_pem = self.wiring.pki.other.pem().to_owned();
        let cancel = self.tasks.cancellation();
        let attached = match self
            .attach_layer(&install, &access, &mut times, time_factor)
            .await
        {
            Ok(attached) => attached,
            Err(error) => {
                cancel.cancel();
                for left in install.clean_up().await {
                    tracing::warn!(left, "left behind");
                }
                return Err(error);
            }
        };
        let bootstrap = install
            .kubeadm()
            .map(|kubeadm| Bootstrap::new(kubeadm.clone(), attached.client.clone(), time_factor));
        Ok(ControlPlane {
            version: attached.version,
            endpoint,
            ca_pem,
            other_ca_pem,
            node_labels,
            client: attached.client,
            access,
            time_factor,
            install,
            eks: attached.eks,
            bootstrap,
            lacks: attached.lacks,
            probe,
            kept_nodes: parking_lot::Mutex::default(),
            start_times: times.laps(),
        })
    }

    /// Waits for the API server, adds the EKS layer and waits until pods can be created.
    async fn attach_layer(
        self,
        install: &Install,
        access: &Access,
        times: &mut Stopwatch,
        time_factor: TimeFactor,
    ) -> Result<Attached, ClusterError> {
        let client = access.admin().await?;
        ready_or_ended(&client, install, time_factor.scale(READY_TIMEOUT)).await?;
        times.lap("etcd and kube-apiserver", true);
        let version = client
            .apiserver_version()
            .await
            .map_err(ClusterError::api("read the API server's version"))?;
        let eks = EksLayer::start(
            install,
            access,
            &client,
            self.state,
            self.mapping,
            self.tasks,
            time_factor,
        )
        .await?;
        times.lap("RBAC, aws-auth and controllers", false);
        await_service_account(&client, time_factor).await?;
        times.lap("kube-controller-manager", true);
        let lacks = lacks(install, access, &self.probe, time_factor).await;
        Ok(Attached {
            client,
            version: version.git_version,
            eks,
            lacks,
        })
    }
}

/// An API server with its EKS layer.
struct Attached {
    client: Client,
    version: String,
    eks: EksLayer,
    lacks: Vec<Lack>,
}

/// What a user's cluster lacks.
async fn lacks(
    install: &Install,
    access: &Access,
    probe: &WebhookProbe,
    time_factor: TimeFactor,
) -> Vec<Lack> {
    match install {
        Install::Own(_) => Vec::new(),
        Install::External(_) => {
            let mut lacks = probe.probe(access, time_factor).await.lacks();
            lacks.push(Lack::kubelets());
            lacks
        }
    }
}

async fn ready_or_ended(client: &Client, install: &Install, timeout: Duration) -> Result<(), ClusterError> {
    tokio::select! {
        ready = await_ready_at(client, install.readyz(), timeout) => ready.map(|_| ()),
        error = install.ended_at_start() => Err(error),
    }
}
