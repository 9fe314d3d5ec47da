//! The token webhook without a control plane, for any API server, with the authenticator of one account.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::plan::{ClusterPlan, RoleMapping};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::ClusterError;
use crate::iam::authenticator::Authenticator;
use crate::iam::aws_auth::{AwsAuth, config_map_data};
use crate::iam::sts::SecurityTokens;
use crate::tasks::resume_panic;
use crate::tenants::{Tenant, Tenants};
use crate::webhooks::probe::WebhookProbe;
use crate::webhooks::server::{BoundWebhooks, Handlers};

/// The settings of a token webhook.
pub struct TokenWebhookSettings {
    /// Address to listen on; port 0 selects a free port.
    pub address: SocketAddr,
    /// TLS certificates.
    pub server_config: Arc<rustls::ServerConfig>,
    /// The cluster. Its events include decisions on tokens without a known access key.
    pub tenant: Tenant,
    /// STS and EC2.
    pub tokens: Arc<dyn SecurityTokens>,
}

/// A token webhook that listens. Dropping it stops it; [`TokenWebhook::shut_down`] also waits.
#[derive(Debug)]
pub struct TokenWebhook {
    /// The address that it listens on.
    pub address: SocketAddr,
    instance: InstanceId,
    tenants: Arc<Tenants>,
    schedule: MappingSchedule,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

/// The rows of `aws-auth`, some of which appear after a delay.
#[derive(Debug)]
struct MappingSchedule {
    started: Instant,
    /// The current content of `aws-auth`, which the authenticator reads.
    mapping: Arc<watch::Sender<AwsAuth>>,
    /// The task that adds the delayed rows. A new cluster replaces it.
    delayed: Mutex<Option<AbortHandle>>,
}

impl TokenWebhook {
    /// Starts to listen. Call it inside a tokio runtime.
    ///
    /// # Errors
    /// When the address is not available.
    pub async fn start(settings: TokenWebhookSettings) -> Result<Self, ClusterError> {
        let bound =
            BoundWebhooks::bind_with(settings.address, TlsAcceptor::from(settings.server_config)).await?;
        let tenants = Arc::new(Tenants::default());
        let instance = settings.tenant.instance.id.clone();
        let (schedule, mapping) = MappingSchedule::start(&settings.tenant.cluster);
        tenants.admit(settings.tenant)?;
        let authenticator = Authenticator::new(settings.tokens, Arc::clone(&tenants), mapping)
            .with_fallback_tenant(instance.clone());
        let handlers = Handlers {
            authenticator,
            audit: None,
            probe: Arc::new(WebhookProbe::new(String::new())),
        };
        let (address, cancel) = (bound.address, CancellationToken::new());
        let task = tokio::spawn(bound.serve(Arc::new(handlers), cancel.clone()));
        Ok(Self {
            address,
            instance,
            tenants,
            schedule,
            cancel,
            task,
        })
    }

    /// Replaces the cluster: its rows of `aws-auth` and its authentication mode.
    ///
    /// # Errors
    /// Never in practice: the only tenant replaces itself.
    pub fn update(&self, cluster: &ClusterPlan) -> Result<(), ClusterError> {
        if let Some(admitted) = self.tenants.remove(&self.instance) {
            let tenant = admitted.tenant.clone();
            self.tenants.admit(Tenant {
                cluster: cluster.clone(),
                ..tenant
            })?;
        }
        self.schedule.publish(cluster);
        Ok(())
    }

    /// Stops listening and waits for open requests.
    ///
    /// # Panics
    /// With the first panic of a task.
    pub async fn shut_down(mut self) {
        self.cancel.cancel();
        resume_panic((&mut self.task).await);
    }
}

impl Drop for TokenWebhook {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl MappingSchedule {
    fn start(cluster: &ClusterPlan) -> (Self, watch::Receiver<AwsAuth>) {
        let (mapping, read) = watch::channel(AwsAuth::default());
        let schedule = Self {
            started: Instant::now(),
            mapping: Arc::new(mapping),
            delayed: Mutex::default(),
        };
        schedule.publish(cluster);
        (schedule, read)
    }

    /// Publishes the rows that are due now, and each other row when it becomes due.
    fn publish(&self, cluster: &ClusterPlan) {
        self.mapping.send_replace(due(cluster, self.started.elapsed()));
        let (mapping, cluster, started) = (Arc::clone(&self.mapping), cluster.clone(), self.started);
        let delayed = tokio::spawn(async move {
            for after in due_times(&cluster, started.elapsed()) {
                tokio::time::sleep_until(started + after).await;
                mapping.send_replace(due(&cluster, after));
            }
        });
        if let Some(old) = self.delayed.lock().replace(delayed.abort_handle()) {
            old.abort();
        }
    }
}

impl Drop for MappingSchedule {
    fn drop(&mut self) {
        if let Some(delayed) = self.delayed.lock().take() {
            delayed.abort();
        }
    }
}

/// The content of `aws-auth` after this time.
fn due(cluster: &ClusterPlan, elapsed: Duration) -> AwsAuth {
    if let Some(text) = &cluster.aws_auth_text {
        return AwsAuth::parse(&BTreeMap::from([("mapRoles".to_owned(), text.clone())]));
    }
    let rows = cluster.aws_auth.iter();
    let rows: Vec<RoleMapping> = rows.filter(|row| after(row) <= elapsed).cloned().collect();
    AwsAuth::parse(&config_map_data(&rows))
}

/// When the remaining rows become due, in order.
fn due_times(cluster: &ClusterPlan, elapsed: Duration) -> Vec<Duration> {
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
    fn a_delayed_row_takes_effect_at_its_time() {
        let mut cluster = testing::cluster();
        cluster.aws_auth[0].after_seconds = Some(5.0);
        let second = Duration::from_secs;
        let is_mapped = |elapsed| due(&cluster, elapsed).lookup(testing::ROLE_ARN).is_some();
        assert_eq!(
            [second(0), second(4), second(5)].map(is_mapped),
            [false, false, true]
        );
        assert_eq!(due_times(&cluster, second(0)), [second(5)]);
        assert!(due_times(&cluster, second(5)).is_empty());
    }

    #[test]
    fn a_text_replaces_the_rows() {
        let mut cluster = testing::cluster();
        cluster.aws_auth_text = Some("not: [a list".to_owned());
        let read = due(&cluster, Duration::ZERO);
        assert!(read.lookup(testing::ROLE_ARN).is_none() && !read.skipped.is_empty());
    }
}
