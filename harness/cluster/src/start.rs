//! Starts a control plane on whichever provider, and does to it what EKS does.
//!
//! ```text
//! PKI, webhooks -> Wiring -> provider: API server -> /readyz -> RBAC, aws-auth, controllers -> ready
//!   harness (some ms)           the programs' own time            harness (some ms)
//! ```

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::{Run, RunNetwork};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::ClusterError;
use crate::access::await_ready;
use crate::audit::AuditLog;
use crate::authenticator::Authenticator;
use crate::calls::Calls;
use crate::certificates::Certificates;
use crate::container::Container;
use crate::controllers::aws_auth::AwsAuthOwner;
use crate::controllers::{cloud_node, mapping, node_manager, pod_cidr, rbac, serving, tagging, windows};
use crate::foreign::{self, Foreign};
use crate::kubeadm::Bootstrap;
use crate::mapping::AwsAuth;
use crate::observer;
use crate::pki::Pki;
use crate::plane::{ControlPlane, Parts};
use crate::provider::{Provider, Running, Site};
use crate::stopwatch::Stopwatch;
use crate::sts::SecurityTokens;
use crate::tenants::Tenants;
use crate::webhook::{Bound, Handlers};
use crate::wiring::Wiring;

impl ControlPlane {
    /// Starts a control plane of this provider on a network of the run. Returns when nodes can join.
    ///
    /// # Errors
    /// When the provider cannot start it, its programs end or do not get ready, or the webhooks cannot listen. What was
    /// made until then is the run's to remove.
    pub async fn start(
        provider: &dyn Provider,
        run: &Run,
        network: &RunNetwork,
        tokens: impl SecurityTokens,
    ) -> Result<Self, ClusterError> {
        let mut times = Stopwatch::start();
        let prepared = Prepared::new(provider, network.gateway, Arc::new(tokens)).await?;
        times.lap("certificates and webhooks", false);
        let site = Site { run, network };
        let running = provider.start(&site, &prepared.wiring, &mut times).await?;
        prepared.attach(running, times, run.engine().time_factor()).await
    }
}

/// A control plane that is made up to its API server: webhooks listen, and what that must be told is known.
struct Prepared {
    wiring: Wiring,
    tenants: Arc<Tenants>,
    certificates: Arc<Certificates>,
    mapping: (watch::Sender<AwsAuth>, watch::Receiver<AwsAuth>),
    tasks: JoinSet<()>,
    cancel: CancellationToken,
    calls: Arc<Calls>,
}

impl Prepared {
    /// Makes the PKI and takes the webhooks' port: on the network's gateway address, or where an API server was told.
    async fn new(
        provider: &dyn Provider,
        gateway: Ipv4Addr,
        tokens: Arc<dyn SecurityTokens>,
    ) -> Result<Self, ClusterError> {
        let pki = Pki::generate()?;
        // As hard to guess as a key, of which it is the digest.
        let word = hex::encode(Sha256::digest(pki.service_account_key.reveal()));
        let calls = Arc::new(Calls::listen(word));
        let wiring = match provider.webhooks() {
            Some(folder) => folder.wiring(pki)?,
            None => Wiring {
                webhooks: SocketAddrV4::new(gateway, 0).into(),
                pki,
            },
        };
        let webhooks = Bound::bind(wiring.webhooks, &wiring.pki.webhooks).await?;
        let wiring = Wiring {
            webhooks: webhooks.address,
            ..wiring
        };
        let tenants = Arc::new(Tenants::default());
        let certificates = Arc::new(Certificates::new(Arc::clone(&tenants)));
        let mapping = watch::channel(AwsAuth::default());
        let authenticator = Authenticator::new(tokens, Arc::clone(&tenants), mapping.1.clone());
        let audit = AuditLog::new(Arc::clone(&tenants), Arc::clone(&certificates));
        let (mut tasks, cancel) = (JoinSet::new(), CancellationToken::new());
        let handlers = Handlers {
            authenticator,
            audit: Some(audit),
            calls: Arc::clone(&calls),
        };
        tasks.spawn(webhooks.serve(Arc::new(handlers), cancel.clone()));
        Ok(Self {
            wiring,
            tenants,
            certificates,
            mapping,
            tasks,
            cancel,
            calls,
        })
    }

    /// Makes an API server a control plane. On a cluster of the user's nothing stays of an attempt that fails.
    async fn attach(
        self,
        running: Running,
        times: Stopwatch,
        time_factor: TimeFactor,
    ) -> Result<ControlPlane, ClusterError> {
        let foreign = running.foreign.clone();
        let cancel = self.cancel.clone();
        let attached = self.attach_to(running, times, time_factor).await;
        if let (Err(_), Some(foreign)) = (&attached, foreign) {
            cancel.cancel();
            for left in foreign.clean_up().await {
                tracing::warn!(left, "left behind");
            }
        }
        attached
    }

    /// Waits for the programs, lays EKS' own objects down and starts its controllers.
    async fn attach_to(
        self,
        running: Running,
        mut times: Stopwatch,
        time_factor: TimeFactor,
    ) -> Result<ControlPlane, ClusterError> {
        let Running {
            access,
            endpoint,
            ca_pem,
            container,
            node_labels,
            holds,
            foreign,
            relay,
            kubeadm,
        } = running;
        let other_ca_pem = self.wiring.pki.other.pem().to_owned();
        let access = access.with_time_factor(time_factor);
        let client = access.admin().await?;
        let ready_limit = time_factor.limit(READY_LIMIT);
        ready_or_ended(&client, &container, ready_limit).await?;
        times.lap("etcd and kube-apiserver", true);
        let version = client
            .apiserver_version()
            .await
            .map_err(ClusterError::api("read the API server's version"))?;
        match &foreign {
            Some(foreign) => foreign.lay_down().await?,
            None => {
                rbac::apply(&client).await?;
                // Not on a cluster of somebody else's, whose add-on may have made it.
                rbac::apply_one(&client, windows::config_map()).await?;
            }
        }
        let aws_auth = AwsAuthOwner::new(
            access.user(rbac::NODE_MANAGER).await?,
            access.user(rbac::CREATOR).await?,
            self.mapping.1,
            time_factor,
        )
        .with_label(foreign.as_ref().map(Foreign::label));
        let mut controllers = Controllers {
            tasks: self.tasks,
            cancel: self.cancel.clone(),
        };
        if let Some(relay) = relay {
            controllers.tasks.spawn(relay.run(self.cancel.clone()));
        }
        let tenants = || Arc::clone(&self.tenants);
        controllers.start(mapping::run(
            access.user(rbac::AUTHENTICATOR).await?,
            self.mapping.0,
        ));
        controllers.start(serving::run(
            access.user(rbac::CERTIFICATE_CONTROLLER).await?,
            tenants(),
        ));
        controllers.start(cloud_node::run(
            access.user(rbac::CLOUD_CONTROLLER).await?,
            tenants(),
        ));
        let cloud_controller = access.user(rbac::CLOUD_CONTROLLER).await?;
        controllers.start(tagging::run(cloud_controller, tenants()));
        let node_manager = access.user(rbac::NODE_MANAGER).await?;
        controllers.start(node_manager::run(node_manager, tenants()));
        controllers.start(pod_cidr::run(client.clone(), tenants()));
        controllers.start(observer::nodes(client.clone(), tenants()));
        controllers.start(observer::requests(
            client.clone(),
            tenants(),
            Arc::clone(&self.certificates),
        ));
        aws_auth.create().await?;
        times.lap("RBAC, aws-auth and controllers", false);
        default_service_account(&client, ready_limit).await?;
        times.lap("kube-controller-manager", true);
        let lacks = match &foreign {
            Some(_) => foreign::lacks(Foreign::hear(&access, &self.calls, time_factor).await),
            None => Vec::new(),
        };
        let bootstrap = kubeadm.map(|kubeadm| Bootstrap::new(kubeadm, client.clone(), time_factor));
        let parts = Parts {
            client,
            bootstrap,
            access,
            time_factor,
            container,
            foreign,
            lacks,
            tenants: self.tenants,
            certificates: self.certificates,
            aws_auth,
            left: Mutex::default(),
            start_times: times.laps(),
            tasks: Mutex::new(controllers.tasks),
            cancel: self.cancel,
            holds,
        };
        Ok(ControlPlane {
            version: version.git_version,
            endpoint,
            ca_pem,
            other_ca_pem,
            node_labels,
            parts,
        })
    }
}

/// Tasks that end when the control plane is shut down.
struct Controllers {
    tasks: JoinSet<()>,
    cancel: CancellationToken,
}

impl Controllers {
    fn start(&mut self, controller: impl Future<Output = ()> + Send + 'static) {
        let cancel = self.cancel.clone();
        self.tasks.spawn(async move {
            // A controller holds nothing that a dropped wait would lose: its state is in the API server.
            cancel.run_until_cancelled(controller).await;
        });
    }
}

async fn ready_or_ended(client: &Client, container: &Container, limit: Duration) -> Result<(), ClusterError> {
    tokio::select! {
        ready = await_ready(client, limit) => ready.map(|_| ()),
        lines = container.ended() => Err(ClusterError::Ended { phase: "it started", lines }),
    }
}

/// Pods need it; kube-controller-manager makes it.
async fn default_service_account(client: &Client, limit: Duration) -> Result<(), ClusterError> {
    let api = Api::<ServiceAccount>::namespaced(client.clone(), "default");
    let exists = await_condition(api, "default", |found: Option<&ServiceAccount>| found.is_some());
    match tokio::time::timeout(limit, exists).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(timed_out(limit, error.to_string())),
        Err(_) => Err(timed_out(limit, "it does not exist".to_owned())),
    }
}

fn timed_out(limit: Duration, last_seen: String) -> ClusterError {
    let what = "kube-controller-manager to make service account `default/default`".to_owned();
    ClusterError::TimedOut {
        what,
        limit,
        last_seen,
    }
}

const READY_LIMIT: Duration = Duration::from_secs(60);
