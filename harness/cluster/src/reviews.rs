//! The token webhook alone: for the API server of somebody else, with one account's authenticator behind it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::plan::{ClusterPlan, RoleMapping};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::ClusterError;
use crate::authenticator::Authenticator;
use crate::calls::Calls;
use crate::mapping::{AwsAuth, config_map_data};
use crate::sts::SecurityTokens;
use crate::tenants::{Tenant, Tenants, lock};
use crate::webhook::{Bound, Handlers};

/// What token reviews are to be answered by.
pub struct TokenReviewsAsk {
    /// Where to listen; port 0 is a free one.
    pub address: SocketAddr,
    /// Certificates to serve with.
    pub server_config: Arc<rustls::ServerConfig>,
    /// The cluster, and where its authenticator's decisions go, those on tokens of nobody too.
    pub tenant: Tenant,
    /// STS and EC2.
    pub tokens: Arc<dyn SecurityTokens>,
}

/// The webhook, listening. Dropping it stops it; [`TokenReviews::shut_down`] also waits.
#[derive(Debug)]
pub struct TokenReviews {
    /// Where it listens.
    pub address: SocketAddr,
    instance: InstanceId,
    tenants: Arc<Tenants>,
    rows: Rows,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

/// The rows of `aws-auth`, of which some come late.
#[derive(Debug)]
struct Rows {
    started: Instant,
    /// What stands in `aws-auth`; the authenticator reads.
    mapping: Arc<watch::Sender<AwsAuth>>,
    /// Adds the rows that come late. The next rows end it.
    late: Mutex<Option<AbortHandle>>,
}

impl TokenReviews {
    /// Starts to listen. Call it inside a tokio runtime.
    ///
    /// # Errors
    /// Where the address cannot be had.
    pub async fn start(ask: TokenReviewsAsk) -> Result<Self, ClusterError> {
        let bound = Bound::bind_with(ask.address, TlsAcceptor::from(ask.server_config)).await?;
        let tenants = Arc::new(Tenants::default());
        let instance = ask.tenant.instance.id.clone();
        let (rows, read) = Rows::of(&ask.tenant.cluster);
        tenants.admit(ask.tenant)?;
        let authenticator =
            Authenticator::new(ask.tokens, Arc::clone(&tenants), read).with_sole_tenant(instance.clone());
        let handlers = Handlers {
            authenticator,
            audit: None,
            calls: Arc::new(Calls::listen(String::new())),
        };
        let (address, cancel) = (bound.address, CancellationToken::new());
        let task = tokio::spawn(bound.serve(Arc::new(handlers), cancel.clone()));
        Ok(Self {
            address,
            instance,
            tenants,
            rows,
            cancel,
            task,
        })
    }

    /// Takes in what has changed of the cluster: its rows of `aws-auth`, and how it authenticates.
    ///
    /// # Errors
    /// Never by itself: the one tenant takes its own place.
    pub fn renew(&self, cluster: &ClusterPlan) -> Result<(), ClusterError> {
        if let Some(admitted) = self.tenants.withdraw(&self.instance) {
            let tenant = admitted.tenant.clone();
            self.tenants.admit(Tenant {
                cluster: cluster.clone(),
                ..tenant
            })?;
        }
        self.rows.publish(cluster);
        Ok(())
    }

    /// Stops listening and waits for what is under way.
    ///
    /// # Panics
    /// With the panic of a task that had one.
    pub async fn shut_down(mut self) {
        self.cancel.cancel();
        crate::webhook::raise((&mut self.task).await);
    }
}

impl Drop for TokenReviews {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Rows {
    fn of(cluster: &ClusterPlan) -> (Self, watch::Receiver<AwsAuth>) {
        let (mapping, read) = watch::channel(AwsAuth::default());
        let rows = Self {
            started: Instant::now(),
            mapping: Arc::new(mapping),
            late: Mutex::default(),
        };
        rows.publish(cluster);
        (rows, read)
    }

    /// Those that are due by now stand there at once, the others as their time comes.
    fn publish(&self, cluster: &ClusterPlan) {
        self.mapping.send_replace(due(cluster, self.started.elapsed()));
        let (mapping, cluster, started) = (Arc::clone(&self.mapping), cluster.clone(), self.started);
        let late = tokio::spawn(async move {
            for after in coming(&cluster, started.elapsed()) {
                tokio::time::sleep_until(started + after).await;
                mapping.send_replace(due(&cluster, after));
            }
        });
        if let Some(old) = lock(&self.late).replace(late.abort_handle()) {
            old.abort();
        }
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        if let Some(late) = lock(&self.late).take() {
            late.abort();
        }
    }
}

/// What stands in `aws-auth` after so much time.
fn due(cluster: &ClusterPlan, elapsed: Duration) -> AwsAuth {
    if let Some(text) = &cluster.aws_auth_text {
        return AwsAuth::parse(&BTreeMap::from([("mapRoles".to_owned(), text.clone())]));
    }
    let rows = cluster.aws_auth.iter();
    let rows: Vec<RoleMapping> = rows.filter(|row| after(row) <= elapsed).cloned().collect();
    AwsAuth::parse(&config_map_data(&rows))
}

/// When rows come that are not there yet, in order.
fn coming(cluster: &ClusterPlan, elapsed: Duration) -> Vec<Duration> {
    let mut times: Vec<Duration> = cluster.aws_auth.iter().map(after).collect();
    times.retain(|time| *time > elapsed);
    times.sort();
    times.dedup();
    times
}

fn after(row: &RoleMapping) -> Duration {
    let seconds = row.after_seconds.unwrap_or_default();
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_row_that_comes_late_counts_from_then_on() {
        let mut cluster = testing::cluster();
        cluster.aws_auth[0].after_seconds = Some(5.0);
        let second = Duration::from_secs;
        let is_mapped = |elapsed| due(&cluster, elapsed).lookup(testing::ROLE_ARN).is_some();
        assert_eq!(
            [second(0), second(4), second(5)].map(is_mapped),
            [false, false, true]
        );
        assert_eq!(coming(&cluster, second(0)), [second(5)]);
        assert!(coming(&cluster, second(5)).is_empty());
    }

    #[test]
    fn a_text_stands_there_as_it_is() {
        let mut cluster = testing::cluster();
        cluster.aws_auth_text = Some("not: [a list".to_owned());
        let read = due(&cluster, Duration::ZERO);
        assert!(read.lookup(testing::ROLE_ARN).is_none() && !read.skipped.is_empty());
    }
}
