//! The EKS layer on a plain API server: RBAC, `aws-auth`, and the controllers of EKS.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use nodejoin_core::run::time_factor::TimeFactor;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::ClusterError;
use crate::api_server::access::Access;
use crate::api_server::objects::{apply, apply_all};
use crate::controllers::aws_auth::AwsAuthStore;
use crate::controllers::{
    aws_auth_watch, cloud_node, node_manager, pod_cidr, rbac, serving, tagging, windows,
};
use crate::iam::aws_auth::AwsAuth;
use crate::install::Install;
use crate::observe::signing_requests::SigningRequests;
use crate::observe::watches;
use crate::tasks::resume_panic;
use crate::tenants::Tenants;

/// Until kube-controller-manager has created the default service account.
const SERVICE_ACCOUNT_TIMEOUT: Duration = Duration::from_secs(180);

/// What the webhooks and the controllers share.
#[derive(Clone)]
pub(crate) struct SharedState {
    pub(crate) tenants: Arc<Tenants>,
    pub(crate) signing_requests: Arc<SigningRequests>,
}

/// The tasks of a control plane. They end when it is shut down.
pub(crate) struct Tasks {
    set: Mutex<JoinSet<()>>,
    cancel: CancellationToken,
}

/// The EKS layer of a running control plane.
pub(crate) struct EksLayer {
    pub(crate) state: SharedState,
    pub(crate) aws_auth: AwsAuthStore,
    pub(super) tasks: Tasks,
}

impl EksLayer {
    /// Creates the objects of EKS, starts its controllers and creates `aws-auth`.
    pub(crate) async fn start(
        install: &Install,
        access: &Access,
        client: &Client,
        state: SharedState,
        mapping: (watch::Sender<AwsAuth>, watch::Receiver<AwsAuth>),
        tasks: Tasks,
        time_factor: TimeFactor,
    ) -> Result<Self, ClusterError> {
        create_objects(install, client).await?;
        let (updates, read) = mapping;
        let aws_auth = AwsAuthStore::new(
            access.user(rbac::NODE_MANAGER).await?,
            access.user(rbac::CREATOR).await?,
            read,
            time_factor,
        )
        .with_label(install.label());
        start_controllers(access, client, &state, updates, &tasks).await?;
        aws_auth.create().await?;
        Ok(Self {
            state,
            aws_auth,
            tasks,
        })
    }

    /// Ends all tasks and panics with the panic of any.
    pub(crate) async fn shut_down(&self) {
        self.tasks.shut_down().await;
    }
}

impl Tasks {
    pub(crate) fn new() -> Self {
        Self {
            set: Mutex::new(JoinSet::new()),
            cancel: CancellationToken::new(),
        }
    }

    pub(crate) fn cancellation(&self) -> CancellationToken {
        self.cancel.clone()
    }

    /// Runs a task that ends by itself after cancellation.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.set.lock().spawn(task);
    }

    /// Runs a task that cancellation drops. Controllers have no state of their own: it is in the API server.
    fn spawn_controller(&self, controller: impl Future<Output = ()> + Send + 'static) {
        let cancel = self.cancellation();
        self.spawn(async move {
            cancel.run_until_cancelled(controller).await;
        });
    }

    /// Cancels all tasks, waits for them, and panics with the panic of any.
    pub(crate) async fn shut_down(&self) {
        self.cancel.cancel();
        let mut tasks = std::mem::take(&mut *self.set.lock());
        while let Some(ended) = tasks.join_next().await {
            resume_panic(ended);
        }
    }
}

async fn create_objects(install: &Install, client: &Client) -> Result<(), ClusterError> {
    match install {
        Install::Own(_) => {
            apply_all(client, rbac::objects()).await?;
            // Not on a user's cluster, where an add-on may have created it.
            apply(client, windows::config_map()).await
        }
        Install::External(external) => external.create_objects().await,
    }
}

async fn start_controllers(
    access: &Access,
    client: &Client,
    state: &SharedState,
    updates: watch::Sender<AwsAuth>,
    tasks: &Tasks,
) -> Result<(), ClusterError> {
    let tenants = || Arc::clone(&state.tenants);
    let authenticator = access.user(rbac::AUTHENTICATOR).await?;
    let approver = access.user(rbac::CERTIFICATE_CONTROLLER).await?;
    let cloud_controller = access.user(rbac::CLOUD_CONTROLLER).await?;
    let node_manager = access.user(rbac::NODE_MANAGER).await?;
    tasks.spawn_controller(aws_auth_watch::run(authenticator, updates));
    tasks.spawn_controller(serving::run(approver, tenants()));
    tasks.spawn_controller(cloud_node::run(cloud_controller.clone(), tenants()));
    tasks.spawn_controller(tagging::run(cloud_controller, tenants()));
    tasks.spawn_controller(node_manager::run(node_manager, tenants()));
    tasks.spawn_controller(pod_cidr::run(client.clone(), tenants()));
    tasks.spawn_controller(watches::nodes(client.clone(), tenants()));
    let signing_requests = Arc::clone(&state.signing_requests);
    tasks.spawn_controller(watches::requests(client.clone(), tenants(), signing_requests));
    Ok(())
}

/// Waits for the default service account, which pods need. kube-controller-manager creates it.
pub(crate) async fn await_service_account(client: &Client, factor: TimeFactor) -> Result<(), ClusterError> {
    let timeout = factor.scale(SERVICE_ACCOUNT_TIMEOUT);
    let api = Api::<ServiceAccount>::namespaced(client.clone(), "default");
    let exists = await_condition(api, "default", |found: Option<&ServiceAccount>| found.is_some());
    let last_status = match tokio::time::timeout(timeout, exists).await {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "it does not exist".to_owned(),
    };
    Err(ClusterError::TimedOut {
        what: "kube-controller-manager to create service account `default/default`".to_owned(),
        timeout,
        last_status,
    })
}
