//! Stops a run at a verdict while everything is alive, for a person who wants to look into the node.

use std::sync::atomic::Ordering;
use std::time::Duration;

use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::plan::Plan;
use nodejoin_core::run::error_chain::chain;
use nodejoin_core::run::event::RunEvent;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::context::RunContext;
use crate::environment::Environment;

/// Waits for the end of the run if the settings hold it at this verdict. Fakes, control plane and nodes stay alive. The
/// kubeconfig that it writes is removed afterwards; kept nodes write it again. Returns how long it waited.
pub(crate) async fn hold(
    context: &RunContext,
    environment: &Environment,
    plan: &Plan,
    verdict: &Verdict,
    nodes: &[&str],
    cancel: &CancellationToken,
) -> Duration {
    let is_last = context.unfinished.load(Ordering::Relaxed) <= 1;
    let Some(node) = nodes
        .first()
        .filter(|_| context.settings.hold && holds_at(&verdict.outcome, is_last) && !cancel.is_cancelled())
    else {
        return Duration::ZERO;
    };
    let kubeconfig = match context.write_kubeconfig(environment) {
        Ok(path) => Some(path),
        Err(error) => {
            context.events.send(RunEvent::Warning { text: chain(&error) });
            None
        }
    };
    context.events.send(RunEvent::Held {
        scenario: plan.id.clone(),
        name: plan.name.clone(),
        verdict: Box::new(verdict.clone()),
        commands: commands(node),
    });
    let held = until(cancel).await;
    if let Some(path) = kubeconfig {
        // The folder of the run is private to its owner; a file that remains does not change the result.
        let _ = std::fs::remove_file(path);
    }
    held
}

/// How long the signal took.
async fn until(cancel: &CancellationToken) -> Duration {
    let start = Instant::now();
    cancel.cancelled().await;
    start.elapsed()
}

fn holds_at(outcome: &Outcome, is_last: bool) -> bool {
    match outcome {
        Outcome::Failed | Outcome::Errored(_) => true,
        Outcome::Passed => is_last,
        Outcome::Skipped(_) | Outcome::Cancelled => false,
    }
}

fn commands(node: &str) -> Vec<String> {
    vec![
        format!("nodejoin shell {node}"),
        format!("nodejoin logs {node} kubelet -f"),
        "nodejoin kubectl get nodes".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_held_at_a_failure_or_at_its_end() {
        assert!(holds_at(&Outcome::Failed, false));
        assert!(holds_at(&Outcome::Errored(String::new()), false));
        assert!(holds_at(&Outcome::Passed, true));
        assert!(!holds_at(&Outcome::Passed, false));
        assert!(!holds_at(&Outcome::Skipped(String::new()), true));
        assert!(!holds_at(&Outcome::Cancelled, true));
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_until_the_signal_is_returned() {
        let cancel = CancellationToken::new();
        let signal = async {
            tokio::time::sleep(Duration::from_secs(90)).await;
            cancel.cancel();
        };
        let (held, ()) = tokio::join!(until(&cancel), signal);
        assert_eq!(held, Duration::from_secs(90));
    }
}
