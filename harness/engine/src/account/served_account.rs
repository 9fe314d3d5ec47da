//! A running account: it starts completely or not at all, and leaves nothing behind.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use nodejoin_cluster::{ClusterEvent, Tenant, TokenWebhook, TokenWebhookSettings, pki};
use nodejoin_core::kubernetes::Minor;
use nodejoin_core::plan::change::{Change, ChangeRequest, Refused, Setting};
use nodejoin_core::plan::{Plan, RoleMapping};
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_core::scenario::aws_auth_rows;
use nodejoin_core::user_data;
use nodejoin_docker::{Engine, new_run_id};
use nodejoin_fake_aws::{
    AccountAddresses, AccountServer, AwsEvent, FakeAws, RegistryImage, SharedAccount, World,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::control_socket::{ControlSocket, SocketName};
use super::error::AccountError;
use super::folder::{AccountEndpoints, AccountFolder};
use super::log::{self, LogTarget};
use crate::security_tokens::FakeSecurityTokens;
use crate::{registry, user_data as rendered};

/// Parameters of a served account.
pub struct AccountRequest {
    /// The account, of a scenario or of an account file.
    pub plan: Plan,
    /// The container engine; required only for images that the account lists of it.
    pub engine: Option<Engine>,
    /// The version that DescribeCluster returns.
    pub kubernetes: Minor,
    /// Address of the metadata service of the first instance; the others follow on the next ports. Port 0 picks free
    /// ports.
    pub metadata: SocketAddr,
    /// Address of all other services.
    pub services: SocketAddr,
    /// Address of the token webhook; `None` for no webhook.
    pub webhook: Option<SocketAddr>,
    /// The folder for the files of clients.
    pub folder: PathBuf,
    /// The log of requests and token reviews.
    pub log: LogTarget,
    /// The factor of all timeouts.
    pub time_factor: TimeFactor,
}

/// A running account.
pub struct ServedAccount {
    pub endpoints: AccountEndpoints,
    live: Arc<LiveAccount>,
    cancel: CancellationToken,
    control: JoinHandle<()>,
    log: JoinHandle<()>,
    /// Dropped last: its files exist as long as a service responds.
    _folder: AccountFolder,
}

/// The services that a change updates.
struct LiveAccount {
    account: AccountServer,
    reviews: Option<TokenWebhook>,
}

impl ServedAccount {
    /// Starts everything. Call it inside a tokio runtime.
    ///
    /// # Errors
    /// When a port or the folder is not available. Nothing remains then.
    pub async fn start(request: AccountRequest) -> Result<Self, AccountError> {
        let images = registry::listed(&request.plan, request.engine.as_ref())
            .await
            .map_err(|error| AccountError::Image(Box::new(error)))?;
        let (to_aws, aws) = mpsc::unbounded_channel();
        let (to_cluster, cluster) = mpsc::unbounded_channel();
        let run = new_run_id();
        let name = SocketName::of(&run);
        let control = ControlSocket::bind(&name).map_err(AccountError::Control)?;
        let mut folder = AccountFolder::take(&request.folder, &name)?;
        let addresses = AccountAddresses {
            metadata: request.metadata,
            services: request.services,
        };
        let account = FakeAws::serve_account(
            &run,
            addresses,
            worlds(&request, &images, &to_aws)?,
            request.time_factor,
        )?;
        // Every client of the identity document requests signatures, whose keys take a moment to generate.
        std::thread::spawn(nodejoin_fake_aws::identity::make_keys);
        let reviews = match request.webhook {
            Some(address) => Some(reviews(&request.plan, address, &account, to_cluster).await?),
            None => None,
        };
        let endpoints = AccountEndpoints {
            metadata: account.instances.clone(),
            services: account.services,
            webhook: reviews.as_ref().map(|reviews| reviews.address),
            region: request.plan.region.to_string(),
            folder: folder.path.clone(),
        };
        folder.write_files(&endpoints, &account.ca_pem)?;
        let live = Arc::new(LiveAccount { account, reviews });
        let (cancel, changed) = (CancellationToken::new(), Arc::clone(&live));
        let serve = control.serve(
            move |change| changed.change(change),
            request.time_factor,
            cancel.clone(),
        );
        Ok(Self {
            endpoints,
            live,
            control: tokio::spawn(serve),
            log: tokio::spawn(log::write(request.log, aws, cluster)),
            cancel,
            _folder: folder,
        })
    }

    /// Stops everything, and resumes the panic of a task that panicked.
    ///
    /// # Panics
    /// With that panic.
    pub async fn shut_down(self) {
        self.cancel.cancel();
        raise(self.control.await);
        let live = Arc::into_inner(self.live).expect("the control socket's task was the only other owner");
        if let Some(reviews) = live.reviews {
            reviews.shut_down().await;
        }
        live.account.shut_down().await;
        // All senders are dropped: the log writes what remains, and ends.
        raise(self.log.await);
    }
}

impl LiveAccount {
    fn change(&self, request: &ChangeRequest) -> Result<Vec<String>, Refused> {
        let rows = self.rows(&request.change)?;
        let lines = self.account.change(request, rows.as_deref())?;
        if let Some(reviews) = &self.reviews {
            let renewed = reviews.update(&self.account.world().cluster);
            renewed.map_err(|error| Refused {
                what: error.to_string(),
                hint: None,
            })?;
        }
        Ok(lines)
    }

    fn rows(&self, change: &Change) -> Result<Option<Vec<RoleMapping>>, Refused> {
        let Change::AwsAuth(Setting::Value(rows)) = change else {
            return Ok(None);
        };
        let world = self.account.world();
        let rows = aws_auth_rows(rows, &world.account, &world.region);
        rows.map(Some).map_err(|error| Refused {
            what: error.to_string(),
            hint: error.hint().map(str::to_owned),
        })
    }
}

/// The worlds of a plan, one per instance, in one account. Their cluster has a new certificate authority, because no
/// cluster exists.
fn worlds(
    request: &AccountRequest,
    images: &[RegistryImage],
    events: &mpsc::UnboundedSender<AwsEvent>,
) -> Result<Vec<World>, AccountError> {
    let authority = pki::Ca::new("kubernetes")?.pem().to_owned();
    let shared = SharedAccount::default();
    let world = |plan: &Plan| {
        let values = rendered::values(plan, &authority);
        let user_data = plan.user_data.as_ref();
        let user_data = user_data.map(|user_data| user_data::render(user_data, &values));
        Ok(World {
            kubernetes_version: request.kubernetes.to_string(),
            certificate_authority: authority.clone(),
            user_data: user_data.transpose()?,
            images: images.to_vec(),
            aws: plan.aws.filled(&values),
            shared: shared.clone(),
            ..World::of(plan, events.clone())
        })
    };
    request.plan.nodes().iter().map(world).collect()
}

async fn reviews(
    plan: &Plan,
    address: SocketAddr,
    account: &AccountServer,
    events: mpsc::UnboundedSender<ClusterEvent>,
) -> Result<TokenWebhook, AccountError> {
    let tenant = Tenant {
        cluster: plan.cluster.clone(),
        instance: plan.instance.clone(),
        account: plan.account.clone(),
        region: plan.region.clone(),
        pod_cidr: None,
        events,
    };
    let reviews = TokenWebhookSettings {
        address,
        server_config: account.server_config(address.ip())?,
        tenant,
        tokens: Arc::new(FakeSecurityTokens(account.sts())),
    };
    Ok(TokenWebhook::start(reviews).await?)
}

fn raise(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}
