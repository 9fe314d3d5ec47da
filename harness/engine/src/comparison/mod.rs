//! Compares two versions of the same scenarios: a probe of each, and a join of both for each difference.

mod blessed;
mod compared;
mod pair;
mod settings;
mod step;
mod worlds;

use std::collections::BTreeSet;
use std::time::Instant;

use futures::stream::{self, StreamExt as _};
use nodejoin_core::compare::{
    Comparison, Group, JoinOutcome, OnlyKubelet, Shown, SideOutcome, differences, group,
};
use nodejoin_core::judge::verdict::{Check, Outcome, Verdict};
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::ids::ScenarioId;
use tokio_util::sync::CancellationToken;

use crate::plan_runner::PlanRunner;
use crate::probe::ProbeEnd;
use crate::report::text::outcome_word;
use compared::Compared;
use pair::has_same_files;
use worlds::{worlds_of, worlds_of_newest_kubelet};

pub use blessed::{RecordedMachine, record};
pub use pair::Pair;
pub use settings::{CompareSettings, JoinsWhen};
pub use step::CompareStep;
pub use worlds::WorldsWhen;

/// Why a world was not compared.
const BUDGET_OVER: &str = "the time of `--budget` was over";
const CANCELLED: &str = "cancelled";

/// Compares all pairs. If it is cancelled, the comparison has what ended before.
pub async fn compare(
    runner: &PlanRunner,
    pairs: &[Pair],
    settings: CompareSettings,
    report: &(dyn Fn(CompareStep<'_>) + Sync),
    cancel: &CancellationToken,
) -> Comparison {
    let started = Instant::now();
    let chosen = settings.worlds.chosen(pairs);
    let jobs = settings.jobs;
    let mut compared = compare_pairs(runner, chosen, jobs, None, report, cancel).await;
    if settings.worlds != WorldsWhen::Never && !cancel.is_cancelled() {
        let until = settings.budget.map(|budget| started + budget);
        let worlds = worlds_of(&compared, &settings.worlds);
        compared.extend(compare_pairs(runner, worlds, jobs, until, report, cancel).await);
        let further = worlds_of_newest_kubelet(&compared, &settings.worlds);
        compared.extend(compare_pairs(runner, further, jobs, until, report, cancel).await);
    }
    let shown: Vec<Shown> = compared
        .iter()
        .filter_map(|(pair, compared)| compared.shown(pair))
        .collect();
    let mut comparison = Comparison {
        scenarios: compared
            .iter()
            .map(|(pair, compared)| compared.listed(pair))
            .collect(),
        groups: group(&shown),
        ..Comparison::default()
    };
    let join_pair = async |id: ScenarioId| {
        if cancel.is_cancelled() {
            return None;
        }
        let pair = compared.iter().map(|(pair, _)| pair).find(|pair| pair.id == id)?;
        let (old, new) = (pair.old.as_ref()?, pair.new.as_ref()?);
        let outcome = JoinOutcome {
            old: match pair.blessed {
                Some(_) => SideOutcome::not_run(),
                None => join(runner, old, "old", cancel).await,
            },
            new: join(runner, new, "new", cancel).await,
            scenario: id,
        };
        if cancel.is_cancelled() {
            return None;
        }
        report(CompareStep::Joined(&outcome));
        Some(outcome)
    };
    // No kubelet of another version is at hand.
    let reports_another = |id: &ScenarioId| {
        let pair = compared.iter().map(|(pair, _)| pair).find(|pair| pair.id == *id);
        pair.and_then(|pair| pair.new.as_ref())
            .is_some_and(|plan| plan.probed_kubelet.is_some())
    };
    let mut joining = comparison.groups.clone();
    joining
        .iter_mut()
        .for_each(|group| group.scenarios.retain(|id| !reports_another(id)));
    let joins: Vec<_> = stream::iter(to_join(&joining, settings.joins))
        .map(join_pair)
        .buffered(settings.jobs.max(1))
        .collect()
        .await;
    comparison.joins = joins.into_iter().flatten().collect();
    comparison.cancelled = cancel.is_cancelled();
    comparison.seconds = started.elapsed().as_secs_f64();
    comparison
}

/// Compares pairs, several at a time, and returns them in their order. None starts after a time.
async fn compare_pairs(
    runner: &PlanRunner,
    pairs: Vec<Pair>,
    jobs: usize,
    until: Option<Instant>,
    report: &(dyn Fn(CompareStep<'_>) + Sync),
    cancel: &CancellationToken,
) -> Vec<(Pair, Compared)> {
    let one = async |(index, pair): (usize, Pair)| {
        if until.is_some_and(|until| Instant::now() >= until) {
            return (index, pair, Compared::Not(BUDGET_OVER.to_owned()));
        }
        if cancel.is_cancelled() {
            return (index, pair, Compared::Not(CANCELLED.to_owned()));
        }
        let compared = compare_pair(runner, &pair, cancel).await;
        let (scenario, result) = (&pair.id, compared.text());
        report(CompareStep::Compared { scenario, result });
        (index, pair, compared)
    };
    let mut compared: Vec<_> = stream::iter(pairs.into_iter().enumerate())
        .map(one)
        .buffer_unordered(jobs.max(1))
        .collect()
        .await;
    compared.sort_by_key(|(index, ..)| *index);
    compared
        .into_iter()
        .map(|(_, pair, compared)| (pair, compared))
        .collect()
}

async fn compare_pair(runner: &PlanRunner, pair: &Pair, cancel: &CancellationToken) -> Compared {
    let (old, new) = match (&pair.old, &pair.new) {
        (Some(old), Some(new)) => (pair.probe(old), pair.probe(new)),
        (None, _) => return Compared::Not("only the new version has the scenario".to_owned()),
        (_, None) => return Compared::Not("only the old version has the scenario".to_owned()),
    };
    if let Some(states) = &pair.blessed {
        return blessed::compare_blessed(runner, states, &new, cancel).await;
    }
    if has_same_files(&old, &new) {
        return Compared::SameFiles;
    }
    let probed = async |plan: &Plan, version: &str| match runner.probe(plan, cancel).await {
        ProbeEnd::Machine(probed) => Ok(probed),
        ProbeEnd::NotRun(why) => Err(Compared::Not(format!("with the {version} version: {why}"))),
        ProbeEnd::Cancelled => Err(Compared::Not(CANCELLED.to_owned())),
    };
    let states = async {
        let (before, after) = (probed(&old, "old").await?, probed(&new, "new").await?);
        let mut found = differences(&before.state, &after.state, None);
        if !found.is_empty() {
            // Only what differs now can be noise.
            let again = probed(&old, "old").await?;
            found = differences(&before.state, &after.state, Some(&again.state));
        }
        Ok(Compared::States {
            without_kubelet: match before.state.has_kubelet() {
                true => None,
                false => after.without_kubelet(),
            },
            only_kubelet: OnlyKubelet::of(&before.state, &after.state),
            requests: before.requests.clone().with(&after.requests),
            differences: found,
        })
    };
    states.await.unwrap_or_else(|not_compared| not_compared)
}

/// The scenarios that join. One that shows several groups stands for all of them.
fn to_join(groups: &[Group], when: JoinsWhen) -> Vec<ScenarioId> {
    let mut chosen: Vec<ScenarioId> = Vec::new();
    for group in groups {
        let is_chosen = |id: &ScenarioId| chosen.contains(id);
        match when {
            JoinsWhen::Never => {}
            JoinsWhen::OfEachGroup if group.scenarios.iter().any(is_chosen) => {}
            JoinsWhen::OfEachGroup => chosen.extend(group.scenarios.first().cloned()),
            JoinsWhen::Always => chosen.extend(group.scenarios.clone()),
        }
    }
    let mut seen = BTreeSet::new();
    chosen.retain(|id| seen.insert(id.clone()));
    chosen
}

/// The plan by which a version joins.
fn join_of_version(plan: &Plan, version: &str) -> Plan {
    // The evidence of both versions lies side by side.
    let id = format!("{}@{version}", plan.id).parse();
    Plan {
        id: id.unwrap_or_else(|_| plan.id.clone()),
        // The machines of the versions are compared with each other. Snapshots can be those of another script.
        golden: None,
        ..plan.clone()
    }
}

async fn join(runner: &PlanRunner, plan: &Plan, version: &str, cancel: &CancellationToken) -> SideOutcome {
    let plan = join_of_version(plan, version);
    let verdict = runner.run(&plan, cancel).await;
    let folder = runner.evidence_folder(&plan);
    SideOutcome {
        cause: cause_of(&verdict),
        outcome: outcome_word(&verdict.outcome).to_owned(),
        evidence: folder.is_dir().then(|| folder.display().to_string()),
    }
}

/// Why a join did not pass.
pub(crate) fn cause_of(verdict: &Verdict) -> Option<String> {
    let diagnosis = verdict
        .diagnosis
        .as_ref()
        .map(|found| format!("{}: {}", found.cause.word(), found.because));
    let check = verdict.checks.iter().find(|check| !check.held).map(words_of);
    match &verdict.outcome {
        Outcome::Passed => None,
        Outcome::Errored(why) | Outcome::Skipped(why) => Some(why.clone()),
        Outcome::Failed => diagnosis.or(check),
        Outcome::Cancelled => None,
    }
}

/// What a check compared, in one line: what was seen can be a whole file.
pub(crate) fn words_of(check: &Check) -> String {
    let lines = check.seen.lines().count();
    let first = check.seen.lines().next().unwrap_or_default();
    let more = match lines {
        0 | 1 => String::new(),
        lines => format!(" (the first of {lines} lines)"),
    };
    format!("{}: expected {}, seen {first}{more}", check.key, check.expected)
}

#[cfg(test)]
mod tests {
    use nodejoin_core::plan::golden::GoldenPlan;
    use nodejoin_core::testing::plan;

    use super::*;

    #[test]
    fn a_check_of_a_file_is_one_line() {
        let words = |seen: &str| {
            words_of(&Check {
                key: "files./etc/x.contains".to_owned(),
                held: false,
                expected: "a".to_owned(),
                seen: seen.to_owned(),
            })
        };
        assert_eq!(words("b"), "files./etc/x.contains: expected a, seen b");
        assert_eq!(
            words("{\n  b\n}\n"),
            "files./etc/x.contains: expected a, seen { (the first of 3 lines)"
        );
    }

    #[test]
    fn a_version_joins_without_snapshots() {
        let mut plan = plan();
        plan.golden = Some(GoldenPlan {
            path: "demo.snapshot".to_owned(),
            files: Vec::new(),
            argv: true,
            without_lines: Vec::new(),
            text: Some("of another script".to_owned()),
            machine: None,
            is_optional: false,
        });
        let joined = join_of_version(&plan, "old");
        assert_eq!((joined.id.as_str(), joined.golden), ("demo@old", None));
    }
}
