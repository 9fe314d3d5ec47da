//! The provider `local`: etcd, kube-apiserver and kube-controller-manager in one container of the harness's own.
//!
//! ```text
//! PKI, policy, webhook files, flags -> container -> /readyz -> RBAC, aws-auth, controllers -> ready
//!   harness (some ms)                  the programs' own time    harness (some ms)
//! ```

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use nodejoin_docker::{ImageRef, Run, RunNetwork};
use testcontainers::core::Mount;
use testcontainers::{ContainerRequest, GenericImage, ImageExt as _};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::ClusterError;
use crate::access::{Access, await_ready};
use crate::audit::AuditLog;
use crate::authenticator::Authenticator;
use crate::certificates::Certificates;
use crate::container::Container;
use crate::controllers::aws_auth::AwsAuthOwner;
use crate::controllers::{cloud_node, mapping, pod_cidr, rbac, serving};
use crate::mapping::AwsAuth;
use crate::observer;
use crate::pki::Pki;
use crate::plane::{ControlPlane, Parts, StartTime};
use crate::settings;
use crate::sts::SecurityTokens;
use crate::tenants::Tenants;
use crate::webhook::{Bound, Handlers};

impl ControlPlane {
    /// Starts a control plane in a container of the run, on this network. Returns when nodes can join.
    ///
    /// # Errors
    /// When the container does not start, its programs end or do not get ready, or the webhooks cannot listen. The
    /// container is then the run's to remove, like any other.
    pub async fn start_local(
        run: &Run,
        image: &ImageRef,
        network: &RunNetwork,
        tokens: impl SecurityTokens,
    ) -> Result<Self, ClusterError> {
        let prepared = Prepared::new(network.gateway, minor_of(&image.kubernetes), Arc::new(tokens)).await?;
        let (name, tag) = image.name.rsplit_once(':').unwrap_or((&image.name, "latest"));
        let request = prepared.request(GenericImage::new(name, tag))?;
        let started = run
            .start("control-plane", "control-plane", network, request)
            .await;
        let started = started.map_err(ClusterError::container("start the control plane's container"))?;
        prepared
            .attach(Container::new(run.clone(), started.id), started.ip)
            .await
    }
}

/// The minor version in `v1.20.2`. An image that says nothing gets the flags of the newest.
fn minor_of(version: &str) -> u32 {
    version
        .split('.')
        .nth(1)
        .and_then(|minor| minor.parse().ok())
        .unwrap_or(u32::MAX)
}

/// A control plane that is made up to its container: webhooks listen, files are written out in memory.
struct Prepared {
    pki: Pki,
    files: Vec<settings::File>,
    tenants: Arc<Tenants>,
    certificates: Arc<Certificates>,
    mapping: (watch::Sender<AwsAuth>, watch::Receiver<AwsAuth>),
    tasks: JoinSet<()>,
    cancel: CancellationToken,
    times: Stopwatch,
}

impl Prepared {
    /// Makes the PKI and takes the webhooks' port on the network's gateway address.
    async fn new(
        gateway: Ipv4Addr,
        minor: u32,
        tokens: Arc<dyn SecurityTokens>,
    ) -> Result<Self, ClusterError> {
        let mut times = Stopwatch::start();
        let pki = Pki::generate()?;
        let webhooks = Bound::bind(IpAddr::V4(gateway), &pki.webhooks).await?;
        let files = settings::files(&pki, webhooks.address, minor);
        let tenants = Arc::new(Tenants::default());
        let certificates = Arc::new(Certificates::new(Arc::clone(&tenants)));
        let mapping = watch::channel(AwsAuth::default());
        let authenticator = Authenticator::new(tokens, Arc::clone(&tenants), mapping.1.clone());
        let audit = AuditLog::new(Arc::clone(&tenants), Arc::clone(&certificates));
        let (mut tasks, cancel) = (JoinSet::new(), CancellationToken::new());
        tasks.spawn(webhooks.serve(Arc::new(Handlers { authenticator, audit }), cancel.clone()));
        times.lap("certificates and webhooks", false);
        Ok(Self {
            pki,
            files,
            tenants,
            certificates,
            mapping,
            tasks,
            cancel,
            times,
        })
    }

    /// What the container gets beside its image and network.
    fn request(&self, image: GenericImage) -> Result<ContainerRequest<GenericImage>, ClusterError> {
        let archive = settings::archive(&self.files).map_err(ClusterError::container("pack the settings"))?;
        Ok(image
            .with_mount(Mount::tmpfs_mount("/var/lib/etcd"))
            // Redirections to the containers of nodes are set from inside.
            .with_cap_add("NET_ADMIN")
            .with_copy_to(settings::ARCHIVE, archive))
    }

    /// Waits for the programs, lays EKS' own objects down and starts its controllers.
    async fn attach(mut self, container: Container, ip: Ipv4Addr) -> Result<ControlPlane, ClusterError> {
        self.times.lap("container", false);
        let (ca_pem, other_ca_pem) = (self.pki.cluster.pem().to_owned(), self.pki.other.pem().to_owned());
        let access = Access::new(format!("https://{ip}:{}", settings::SECURE_PORT), self.pki);
        let client = access.admin().await?;
        ready_or_ended(&client, &container).await?;
        self.times.lap("etcd and kube-apiserver", true);
        let version = client
            .apiserver_version()
            .await
            .map_err(ClusterError::api("read the API server's version"))?;
        rbac::apply(&client).await?;
        let aws_auth = AwsAuthOwner::new(access.user(rbac::NODE_MANAGER).await?, self.mapping.1);
        let mut controllers = Controllers {
            tasks: self.tasks,
            cancel: self.cancel.clone(),
        };
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
        controllers.start(pod_cidr::run(client.clone(), tenants()));
        controllers.start(observer::nodes(client.clone(), tenants()));
        controllers.start(observer::requests(
            client.clone(),
            tenants(),
            Arc::clone(&self.certificates),
        ));
        aws_auth.create().await?;
        self.times.lap("RBAC, aws-auth and controllers", false);
        default_service_account(&client).await?;
        self.times.lap("kube-controller-manager", true);
        let parts = Parts {
            client,
            access,
            container,
            tenants: self.tenants,
            certificates: self.certificates,
            aws_auth,
            start_times: self.times.laps,
            tasks: Mutex::new(controllers.tasks),
            cancel: self.cancel,
        };
        Ok(ControlPlane {
            version: version.git_version,
            ip,
            ca_pem,
            other_ca_pem,
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

/// Laps of the start.
struct Stopwatch {
    last: Instant,
    laps: Vec<StartTime>,
}

impl Stopwatch {
    fn start() -> Self {
        Self {
            last: Instant::now(),
            laps: Vec::new(),
        }
    }

    fn lap(&mut self, phase: &'static str, by_programs: bool) {
        let now = Instant::now();
        self.laps.push(StartTime {
            phase,
            took: now - self.last,
            by_programs,
        });
        self.last = now;
    }
}

async fn ready_or_ended(client: &Client, container: &Container) -> Result<(), ClusterError> {
    let ended = async {
        // The engine tells of an end by no event that would come before the log line, so it is asked, rarely.
        while container.is_running().await {
            tokio::time::sleep(ENDED_CHECK).await;
        }
        let logs = container.logs().await;
        let lines: Vec<&str> = logs.lines().rev().take(LAST_LINES).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    };
    tokio::select! {
        ready = await_ready(client, READY_LIMIT) => ready.map(|_| ()),
        lines = ended => Err(ClusterError::Ended { phase: "it started", lines }),
    }
}

/// Pods need it; kube-controller-manager makes it.
async fn default_service_account(client: &Client) -> Result<(), ClusterError> {
    let api = Api::<ServiceAccount>::namespaced(client.clone(), "default");
    let exists = await_condition(api, "default", |found: Option<&ServiceAccount>| found.is_some());
    match tokio::time::timeout(READY_LIMIT, exists).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(timed_out(error.to_string())),
        Err(_) => Err(timed_out("it does not exist".to_owned())),
    }
}

fn timed_out(last_seen: String) -> ClusterError {
    let what = "kube-controller-manager to make service account `default/default`".to_owned();
    ClusterError::TimedOut {
        what,
        limit: READY_LIMIT,
        last_seen,
    }
}

const READY_LIMIT: Duration = Duration::from_secs(60);
const ENDED_CHECK: Duration = Duration::from_millis(200);
const LAST_LINES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minor_version_chooses_the_flags() {
        assert_eq!(minor_of("v1.20.2"), 20);
        assert_eq!(minor_of(""), u32::MAX);
    }
}
