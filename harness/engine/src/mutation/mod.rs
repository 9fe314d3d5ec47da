//! Runs the scenarios of a script with changed versions of it: a probe of each, and a join where the machine differs.

mod base;
mod broken;
mod end;
mod kills;
mod mutant;
mod progress;
mod runs;
mod script;
mod settings;
mod together;

use std::collections::BTreeMap;

use futures::future::Either;
use futures::stream::{FuturesUnordered, StreamExt as _};
use nodejoin_core::mutation::MutantResult;
use tokio_util::sync::CancellationToken;

use crate::plan_runner::PlanRunner;
use progress::MutantProgress;
use runs::MutantRuns;
use together::take_group;

pub use base::{BaseScenario, base_scenarios};
pub use mutant::{KillingExpectation, MutantCase, MutantOutcome};
pub use script::{MutatedScript, ReplaceScript};
pub use settings::MutationSettings;

/// Runs all mutants, several at a time, and returns their results in order: each in one scenario alone, and those whose
/// machine is the same there in further scenarios together.
pub async fn mutate(
    runner: &PlanRunner,
    base: &[BaseScenario],
    mutants: &[MutantCase],
    script: &MutatedScript<'_>,
    settings: &MutationSettings,
    report: &(dyn Fn(&MutantCase, &MutantOutcome) + Sync),
    cancel: &CancellationToken,
) -> Vec<MutantOutcome> {
    let runs = MutantRuns::new(runner, base, script, settings, cancel);
    let jobs = settings.jobs.max(1);
    let conclude = async |progress: &MutantProgress<'_>, result| {
        let outcome = runs.outcome(progress, result).await;
        report(progress.mutant, &outcome);
        (progress.mutant.id.clone(), outcome)
    };
    let alone = async |index: usize| {
        let mutant = &mutants[index];
        let mut progress = runs.begin(mutant);
        let result = match mutant.reached_by.is_empty() {
            true => Some(MutantResult::Uncovered),
            false => runs.run_next(&mut progress).await,
        };
        vec![match result {
            Some(result) => (None, Some(conclude(&progress, result).await)),
            None => (Some(progress), None),
        }]
    };
    let together = async |(indexes, group)| {
        let mut ended = Vec::new();
        for (progress, result) in runs.run_together(indexes, group).await {
            ended.push(match result {
                Some(result) => (None, Some(conclude(&progress, result).await)),
                None => (Some(progress), None),
            });
        }
        ended
    };
    let (mut next, mut pending) = (0..mutants.len(), Vec::new());
    let mut outcomes = BTreeMap::new();
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < jobs {
            if let Some(index) = next.next() {
                running.push(Either::Left(alone(index)));
                continue;
            }
            runs.prefer_killers(&mut pending);
            let idle = jobs - running.len();
            let Some(group) = take_group(script.original, &mut pending, idle) else {
                break;
            };
            running.push(Either::Right(together(group)));
        }
        let Some(ended) = running.next().await else { break };
        for (progress, outcome) in ended {
            pending.extend(progress);
            outcomes.extend(outcome);
        }
    }
    drop(running);
    let outcome = |mutant: &MutantCase| outcomes.remove(&mutant.id);
    let outcomes = mutants.iter().map(outcome);
    outcomes
        .map(|outcome| outcome.unwrap_or_else(|| MutantResult::LeftOut.into()))
        .collect()
}
