//! An account that is served: started as a whole or not at all, and ended with nothing left.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use nodejoin_cluster::{ClusterEvent, Tenant, TokenReviews, TokenReviewsAsk, pki};
use nodejoin_core::kubernetes::Minor;
use nodejoin_core::plan::change::{Change, Refused, Setting};
use nodejoin_core::plan::{Plan, RoleMapping};
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_core::scenario::aws_auth_rows;
use nodejoin_core::user_data;
use nodejoin_docker::Engine;
use nodejoin_fake_aws::{AccountAddresses, AccountServer, AwsEvent, FakeAws, RegistryImage, World};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::control::{Control, SocketName};
use super::error::AccountError;
use super::folder::{Folder, Told};
use super::log::{self, LogTo};
use crate::harness::new_run_id;
use crate::security_tokens::FakeSecurityTokens;
use crate::{registry, tenancy};

/// What is to be served, and where.
pub struct AccountAsk {
    /// The account, of a scenario or of an account file.
    pub plan: Plan,
    /// The container engine, where the account lists images of one.
    pub engine: Option<Engine>,
    /// The version that DescribeCluster tells.
    pub kubernetes: Minor,
    /// Where the metadata service answers; port 0 is a free one.
    pub metadata: SocketAddr,
    /// Where all other services answer.
    pub services: SocketAddr,
    /// Where token reviews are answered, where they are.
    pub webhook: Option<SocketAddr>,
    /// The folder for the files by which others find it.
    pub folder: PathBuf,
    /// Where requests and token reviews are told.
    pub log: LogTo,
    /// By what the patience with clients is multiplied.
    pub time_factor: TimeFactor,
}

/// An account that is served.
pub struct Served {
    /// Where, and in which folder.
    pub told: Told,
    shared: Arc<Shared>,
    cancel: CancellationToken,
    control: JoinHandle<()>,
    log: JoinHandle<()>,
    /// Dropped last: its files are there as long as anything answers.
    _folder: Folder,
}

/// What a change changes.
struct Shared {
    account: AccountServer,
    reviews: Option<TokenReviews>,
}

impl Served {
    /// Starts everything. Call it inside a tokio runtime.
    ///
    /// # Errors
    /// Where a port or the folder cannot be had; nothing is left of it then.
    pub async fn start(ask: AccountAsk) -> Result<Self, AccountError> {
        let images = registry::listed(&ask.plan, ask.engine.as_ref())
            .await
            .map_err(|error| AccountError::Image(Box::new(error)))?;
        let (to_aws, aws) = mpsc::unbounded_channel();
        let (to_cluster, cluster) = mpsc::unbounded_channel();
        let run = new_run_id();
        let name = SocketName::of(&run);
        let control = Control::bind(&name).map_err(AccountError::Control)?;
        let mut folder = Folder::take(&ask.folder, &name)?;
        let doors = AccountAddresses {
            metadata: ask.metadata,
            services: ask.services,
        };
        let account = FakeAws::serve_account(&run, doors, world(&ask, images, to_aws)?, ask.time_factor)?;
        // Every client of the identity document asks for signatures; their keys take a moment to make.
        std::thread::spawn(nodejoin_fake_aws::identity::make_keys);
        let reviews = match ask.webhook {
            Some(address) => Some(reviews(&ask.plan, address, &account, to_cluster).await?),
            None => None,
        };
        let told = Told {
            metadata: account.metadata,
            services: account.services,
            webhook: reviews.as_ref().map(|reviews| reviews.address),
            region: ask.plan.region.to_string(),
            folder: folder.path.clone(),
        };
        folder.tell(&told, &account.ca_pem)?;
        let shared = Arc::new(Shared { account, reviews });
        let (cancel, changed) = (CancellationToken::new(), Arc::clone(&shared));
        let serve = control.serve(move |change| changed.change(change), cancel.clone());
        Ok(Self {
            told,
            shared,
            control: tokio::spawn(serve),
            log: tokio::spawn(log::write(ask.log, aws, cluster)),
            cancel,
            _folder: folder,
        })
    }

    /// Ends everything, and raises the panic of a task that had one.
    ///
    /// # Panics
    /// With that panic.
    pub async fn shut_down(self) {
        self.cancel.cancel();
        raise(self.control.await);
        let shared =
            Arc::into_inner(self.shared).expect("the control socket's task was the only other holder");
        if let Some(reviews) = shared.reviews {
            reviews.shut_down().await;
        }
        shared.account.shut_down().await;
        // Nobody sends any more: the log writes what it still has, and ends.
        raise(self.log.await);
    }
}

impl Shared {
    fn change(&self, change: &Change) -> Result<Vec<String>, Refused> {
        let rows = self.rows(change)?;
        let said = self.account.change(change, rows.as_deref())?;
        if let Some(reviews) = &self.reviews {
            let renewed = reviews.renew(&self.account.world().cluster);
            renewed.map_err(|error| Refused {
                what: error.to_string(),
                hint: None,
            })?;
        }
        Ok(said)
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

/// The world of a plan. Its cluster's authority is made up: there is no cluster behind it.
fn world(
    ask: &AccountAsk,
    images: Vec<RegistryImage>,
    events: mpsc::UnboundedSender<AwsEvent>,
) -> Result<World, AccountError> {
    let plan = &ask.plan;
    let authority = pki::Authority::new("kubernetes")?.pem().to_owned();
    let values = tenancy::values(plan, &authority);
    let user_data = plan.user_data.as_ref();
    let user_data = user_data.map(|user_data| user_data::render(user_data, &values));
    Ok(World {
        kubernetes_version: ask.kubernetes.to_string(),
        certificate_authority: authority,
        user_data: user_data.transpose()?,
        images,
        ..World::of(plan, events)
    })
}

async fn reviews(
    plan: &Plan,
    address: SocketAddr,
    account: &AccountServer,
    events: mpsc::UnboundedSender<ClusterEvent>,
) -> Result<TokenReviews, AccountError> {
    let tenant = Tenant {
        cluster: plan.cluster.clone(),
        instance: plan.instance.clone(),
        account: plan.account.clone(),
        region: plan.region.clone(),
        pod_cidr: None,
        events,
    };
    let asked = TokenReviewsAsk {
        address,
        server_config: account.server_config(address.ip())?,
        tenant,
        tokens: Arc::new(FakeSecurityTokens(account.sts())),
    };
    Ok(TokenReviews::start(asked).await?)
}

fn raise(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}
