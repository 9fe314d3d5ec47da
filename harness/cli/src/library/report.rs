//! What a run returns.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use nodejoin_core::diagnosis::Cause;
use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::plan::Plan;
use nodejoin_engine::Runner;
use nodejoin_engine::report::text;
use tokio_util::sync::CancellationToken;

use super::kept::KeptRuns;

/// The result of one scenario. Its text is that of `nodejoin run`.
#[derive(Debug, Clone)]
pub struct ScenarioReport {
    name: String,
    verdict: Verdict,
    seconds: f64,
    evidence: Option<PathBuf>,
}

/// Runs a plan, in the keeper if there is one.
pub(super) async fn of(
    runner: &Runner,
    kept: Option<&KeptRuns>,
    plan: Plan,
    cancel: &CancellationToken,
) -> ScenarioReport {
    if let Some(kept) = kept
        && let Some(end) = kept.run(&plan, cancel).await
    {
        return ScenarioReport {
            name: plan.name,
            verdict: end.verdict,
            seconds: end.seconds,
            evidence: end.evidence,
        };
    }
    let started = Instant::now();
    let verdict = runner.run(&plan, cancel).await;
    let folder = runner.evidence_folder(&plan);
    ScenarioReport {
        name: plan.name,
        verdict,
        seconds: started.elapsed().as_secs_f64(),
        evidence: folder.is_dir().then_some(folder),
    }
}

impl ScenarioReport {
    /// The verdict: its outcome, checks, phases, diagnosis and notes.
    #[must_use]
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Whether the node joined and every expectation held.
    #[must_use]
    pub fn joined(&self) -> bool {
        self.verdict.outcome == Outcome::Passed
    }

    /// Why the scenario does not apply to this host or version; `None` if it ran.
    #[must_use]
    pub fn skipped(&self) -> Option<&str> {
        match &self.verdict.outcome {
            Outcome::Skipped(reason) => Some(reason),
            _ => None,
        }
    }

    /// Why the join failed, if nodejoin found a cause.
    #[must_use]
    pub fn cause(&self) -> Option<Cause> {
        self.verdict.diagnosis.as_ref().map(|diagnosis| diagnosis.cause)
    }

    /// Seconds from the request to the verdict.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The folder with the evidence, if the scenario left any.
    #[must_use]
    pub fn evidence(&self) -> Option<&Path> {
        self.evidence.as_deref()
    }

    /// The outcome in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        text::summary(&self.verdict)
    }

    /// # Panics
    /// With the whole report, unless the node joined and every expectation held. A skipped scenario did not join.
    #[track_caller]
    pub fn assert_joined(&self) -> &Self {
        assert!(
            self.joined(),
            "the node did not join as the scenario expects\n{self}"
        );
        self
    }

    /// # Panics
    /// With the whole report, unless the join failed for this cause.
    #[track_caller]
    pub fn assert_cause(&self, cause: Cause) -> &Self {
        assert_eq!(
            self.cause(),
            Some(cause),
            "the join did not fail for this cause\n{self}"
        );
        self
    }
}

impl fmt::Display for ScenarioReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let evidence = self.evidence.as_ref().map(|folder| folder.display().to_string());
        f.write_str(&text::scenario(
            &self.name,
            &self.verdict,
            self.seconds,
            evidence.as_deref(),
        ))
    }
}
