//! Blessed states: recorded machines of a version, and the comparison with them.

use futures::stream::{self, StreamExt as _};
use nodejoin_core::compare::{BlessedStates, MachineDifference, MachineState, OnlyKubelet, differences};
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::ids::ScenarioId;
use tokio_util::sync::CancellationToken;

use super::compared::Compared;
use super::pair::Pair;
use super::settings::CompareSettings;
use super::step::CompareStep;
use super::worlds::{WorldsWhen, worlds_of, worlds_of_newest_kubelet};
use crate::plan_runner::PlanRunner;
use crate::probe::{ProbeEnd, Probed};

/// The machine of a scenario or world, to be blessed.
#[derive(Debug)]
pub struct RecordedMachine {
    pub id: ScenarioId,
    /// The scenario whose world it changes.
    pub like: Option<ScenarioId>,
    /// Its state, or why it did not run.
    pub state: Result<MachineState, String>,
}

/// Boots the new version of each pair up to the start of its kubelet, and returns the states. `None` if it was
/// cancelled.
pub async fn record(
    runner: &PlanRunner,
    pairs: &[Pair],
    settings: CompareSettings,
    report: &(dyn Fn(CompareStep<'_>) + Sync),
    cancel: &CancellationToken,
) -> Option<Vec<RecordedMachine>> {
    let mut recorded = record_pairs(runner, pairs.to_vec(), settings.jobs, report, cancel).await;
    if settings.worlds != WorldsWhen::Never && !cancel.is_cancelled() {
        let worlds = worlds_of(&as_compared(&recorded), &settings.worlds);
        recorded.extend(record_pairs(runner, worlds, settings.jobs, report, cancel).await);
        let further = worlds_of_newest_kubelet(&as_compared(&recorded), &settings.worlds);
        recorded.extend(record_pairs(runner, further, settings.jobs, report, cancel).await);
    }
    let machine = |(pair, recorded): (Pair, Recorded)| RecordedMachine {
        like: pair.base(),
        id: pair.id,
        state: recorded.0.map(|probed| probed.state),
    };
    (!cancel.is_cancelled()).then(|| recorded.into_iter().map(machine).collect())
}

fn as_compared(recorded: &[(Pair, Recorded)]) -> Vec<(Pair, Compared)> {
    let compared = recorded
        .iter()
        .map(|(pair, recorded)| (pair.clone(), recorded.as_compared()));
    compared.collect()
}

/// A machine, or why there is none.
struct Recorded(Result<Box<Probed>, String>);

impl Recorded {
    fn as_compared(&self) -> Compared {
        match &self.0 {
            Ok(probed) => Compared::States {
                requests: probed.requests.clone(),
                without_kubelet: probed.without_kubelet(),
                only_kubelet: None,
                differences: Vec::new(),
            },
            Err(why) => Compared::Not(why.clone()),
        }
    }
}

async fn record_pairs(
    runner: &PlanRunner,
    pairs: Vec<Pair>,
    jobs: usize,
    report: &(dyn Fn(CompareStep<'_>) + Sync),
    cancel: &CancellationToken,
) -> Vec<(Pair, Recorded)> {
    let one = async |(index, pair): (usize, Pair)| {
        let end = match pair.new.as_ref().map(|plan| pair.probe(plan)) {
            Some(plan) => match runner.probe(&plan, cancel).await {
                ProbeEnd::Machine(probed) => match probed.limit() {
                    Some(limit) => Err(limit),
                    None => Ok(probed),
                },
                ProbeEnd::NotRun(why) => Err(why),
                ProbeEnd::Cancelled => Err("cancelled".to_owned()),
            },
            None => Err("the version does not have it".to_owned()),
        };
        let result = match &end {
            Ok(probed) if probed.state.has_kubelet() => "recorded".to_owned(),
            Ok(_) => "recorded, and no kubelet started".to_owned(),
            Err(why) => format!("not recorded: {why}"),
        };
        let scenario = &pair.id;
        report(CompareStep::Compared { scenario, result });
        (index, pair, Recorded(end))
    };
    let mut recorded: Vec<_> = stream::iter(pairs.into_iter().enumerate())
        .map(one)
        .buffer_unordered(jobs.max(1))
        .collect()
        .await;
    recorded.sort_by_key(|(index, ..)| *index);
    recorded
        .into_iter()
        .map(|(_, pair, recorded)| (pair, recorded))
        .collect()
}

/// Compares the machine of a version with a blessed state.
pub(super) async fn compare_blessed(
    runner: &PlanRunner,
    blessed: &BlessedStates,
    new: &Plan,
    cancel: &CancellationToken,
) -> Compared {
    let Some(before) = blessed.state(&new.id) else {
        return Compared::Not("it has no blessed state: `nodejoin diff --bless FILE` adds it".to_owned());
    };
    let probed = async || match runner.probe(new, cancel).await {
        ProbeEnd::Machine(probed) => Ok(probed),
        ProbeEnd::NotRun(why) => Err(Compared::Not(why)),
        ProbeEnd::Cancelled => Err(Compared::Not("cancelled".to_owned())),
    };
    let states = async {
        let after = probed().await?;
        let mut found = differences(&before, &after.state, None);
        if !found.is_empty() {
            // What differs between two boots of the version that can boot is noise.
            let again = probed().await?;
            found = differences(&after.state, &before, Some(&again.state));
            found.iter_mut().for_each(MachineDifference::swap);
        }
        Ok(Compared::States {
            without_kubelet: match before.has_kubelet() {
                true => None,
                false => after.without_kubelet(),
            },
            only_kubelet: OnlyKubelet::of(&before, &after.state),
            requests: after.requests.clone(),
            differences: found,
        })
    };
    states.await.unwrap_or_else(|not_compared| not_compared)
}
