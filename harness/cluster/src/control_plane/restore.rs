//! Uses a control plane again: checks it, and restores the objects that it had before its first tenant.

use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use nodejoin_core::run::error_chain::chain;
use tokio::time::Instant;

use super::running::ControlPlane;
use crate::ClusterError;
use crate::api_server::access::await_ready;
use crate::api_server::baseline::Baseline;

/// Until an API server that is not being restarted answers.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Until all objects are as before, and a request has reached both webhooks. The namespace controller deletes what a
/// namespace contains; an API server calls its audit webhook again ten seconds after a failed call.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(30);
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(100);

impl ControlPlane {
    /// Lists all objects, to restore them later. Call it before the first tenant is admitted.
    ///
    /// # Errors
    /// When the API server rejects a request.
    pub async fn baseline(&self) -> Result<Baseline, ClusterError> {
        Baseline::take(&self.client).await
    }

    /// Checks that the API server answers.
    ///
    /// # Errors
    /// When it does not.
    pub async fn check(&self) -> Result<(), ClusterError> {
        let timeout = self.time_factor.scale(ANSWER_TIMEOUT);
        await_ready(&self.client, timeout).await.map(|_| ())
    }

    /// Checks the control plane without tenants and restores its objects. Audit events of earlier requests have arrived
    /// when this returns.
    ///
    /// # Errors
    /// When it is not as before its first tenant: discard it then.
    pub async fn restore(&self, baseline: &Baseline) -> Result<(), ClusterError> {
        if !self.eks.state.tenants.is_empty() || !self.kept_nodes.lock().is_empty() {
            return Err(self.not_restored("tenants remain".to_owned(), Duration::ZERO));
        }
        self.check().await?;
        let timeout = self.time_factor.scale(RESTORE_TIMEOUT);
        let until = Instant::now() + timeout;
        let restored = until_nothing_is_left(until, || self.restore_objects(baseline).boxed());
        let failed = |left| self.not_restored(left, timeout);
        restored.await.map_err(failed)?;
        let probed = until_nothing_is_left(until, || self.uncalled_webhooks().boxed());
        probed.await.map_err(failed)
    }

    /// Restores once. Returns what differed, or why it failed.
    async fn restore_objects(&self, baseline: &Baseline) -> Vec<String> {
        let restored = baseline.restore_once(&self.client).await;
        restored.unwrap_or_else(|error| vec![chain(&error)])
    }

    /// The webhooks that a request did not reach.
    async fn uncalled_webhooks(&self) -> Vec<String> {
        let lacks = self.probe.probe(&self.access, self.time_factor).await.lacks();
        let needs = lacks.iter().map(|lack| lack.need);
        needs
            .map(|need| format!("it does not call the webhook for {need:?}"))
            .collect()
    }

    fn not_restored(&self, last_status: String, timeout: Duration) -> ClusterError {
        ClusterError::TimedOut {
            what: format!(
                "the control plane at {} to be as before its first scenario",
                self.endpoint
            ),
            timeout,
            last_status,
        }
    }
}

/// Repeats a step that returns what is left to do, until nothing is. At the end, returns what is left.
async fn until_nothing_is_left<'a>(
    until: Instant,
    mut step: impl FnMut() -> BoxFuture<'a, Vec<String>>,
) -> Result<(), String> {
    loop {
        let left = step().await;
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() >= until {
            return Err(left.join(", "));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use futures::future;

    use super::*;

    async fn steps(results: &[&[&str]]) -> Result<(), String> {
        let mut results = results.iter().cycle();
        let step = || {
            let next = results.next().expect("the results repeat");
            let lines = next.iter().map(|line| (*line).to_owned()).collect();
            future::ready(lines).boxed()
        };
        until_nothing_is_left(Instant::now() + Duration::from_secs(1), step).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_that_fails_is_repeated_until_the_timeout() {
        assert_eq!(steps(&[&["no answer"], &["Node `a` is new"], &[]]).await, Ok(()));
        let failed = steps(&[&["Node `a` is new", "Pod `b` is new"]]).await;
        assert_eq!(failed, Err("Node `a` is new, Pod `b` is new".to_owned()));
    }
}
