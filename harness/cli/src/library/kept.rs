//! Scenarios that run in a keeper, so that each process of a test runner finds a control plane.

use std::ffi::OsStr;
use std::path::PathBuf;

use nodejoin_core::judge::verdict::Verdict;
use nodejoin_core::plan::Plan;
use nodejoin_core::run::event::RunEvent;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_engine::{Events, Settings, TraceLog};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::progress::show;
use crate::commands::keeper::{self, KeeperUse};

/// Runs scenarios in the keeper of this program and folder. It stays when the process ends.
#[derive(Debug)]
pub(super) struct KeptRuns {
    pub(super) settings: Settings,
    pub(super) factor: TimeFactor,
}

/// The end of a scenario in a keeper.
pub(super) struct KeptEnd {
    pub(super) verdict: Verdict,
    pub(super) seconds: f64,
    pub(super) evidence: Option<PathBuf>,
}

impl KeptRuns {
    /// Runs a plan. `None` if no keeper ran it to its end: the reason is printed, and the caller runs it itself.
    pub(super) async fn run(&self, plan: &Plan, cancel: &CancellationToken) -> Option<KeptEnd> {
        let (events, stream) = Events::stream();
        let leased = async {
            let used = KeeperUse::default();
            let plans = std::slice::from_ref(plan);
            let traces = TraceLog::default();
            let ran = keeper::run(
                &self.settings,
                self.factor,
                plans,
                &events,
                &traces,
                cancel,
                &used,
            )
            .await;
            drop(events);
            ran
        };
        let (ran, end) = tokio::join!(leased, end(stream));
        ran.and_then(Result::ok).and(end)
    }
}

/// Follows the events of a run with one scenario.
async fn end(mut stream: UnboundedReceiver<RunEvent>) -> Option<KeptEnd> {
    let mut end = None;
    while let Some(event) = stream.recv().await {
        match event {
            RunEvent::ScenarioFinished {
                verdict,
                seconds,
                evidence,
                ..
            } => {
                end = Some(KeptEnd {
                    verdict: *verdict,
                    seconds,
                    evidence: evidence.map(PathBuf::from),
                });
            }
            event => show(event),
        }
    }
    end
}

/// Whether these are the arguments with which a process starts its own program as a keeper.
pub(super) fn is_keeper<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> bool {
    let mut arguments = arguments.into_iter().skip(1);
    let mut next = || arguments.next().map(|argument| argument.as_ref().to_owned());
    let (flag, _, command, end) = (next(), next(), next(), next());
    flag.as_deref() == Some(OsStr::new("--time-factor"))
        && command.as_deref() == Some(OsStr::new("keeper"))
        && end.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_of_tests_starts_no_keeper() {
        assert!(is_keeper(["nodejoin", "--time-factor", "1", "keeper"]));
        assert!(!is_keeper(["nodes", "keeper"]));
        assert!(!is_keeper(["nodes", "--test-threads", "1", "keeper"]));
        assert!(!is_keeper(["nodes", "--time-factor", "1", "keeper", "--exact"]));
        assert!(!is_keeper::<&str>([]));
    }
}
