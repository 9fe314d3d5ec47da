//! A script of the image, at the path where nodes ran it.

use std::collections::BTreeMap;

use nodejoin_core::plan::Plan;
use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_engine::{BaseScenario, PlanRunner, TraceLog, base_scenarios};
use tokio_util::sync::CancellationToken;

use super::counter::ScenarioCounter;
use super::target::TargetScript;

/// A line that changes the script and not what it does.
const MARK: &str = "\n# marked by nodejoin\n";

pub(super) struct ImageScript<'a> {
    pub(super) runner: &'a PlanRunner,
    pub(super) traces: &'a TraceLog,
    pub(super) target: &'a TargetScript,
    pub(super) jobs: usize,
}

impl ImageScript<'_> {
    /// Keeps the scenarios that run the script from their image, and returns its path for each. A script that the node
    /// writes after its boot cannot be replaced: a second boot shows whether a marked one stays, and what differs
    /// from boot to boot.
    pub(super) async fn find(
        &self,
        base: &mut Vec<BaseScenario>,
        not_run: &mut Vec<(ScenarioId, String)>,
        cancel: &CancellationToken,
    ) -> BTreeMap<ScenarioId, String> {
        let paths: BTreeMap<ScenarioId, String> = base
            .iter()
            .filter_map(|one| Some((one.plan.id.clone(), self.target.path_in(&one.trace)?)))
            .collect();
        base.retain(|one| paths.contains_key(&one.plan.id));
        let text = format!("{}{MARK}", self.target.text);
        let marked: Vec<Plan> = base
            .iter()
            .map(|one| {
                self.target
                    .replaced(&one.plan, &text, paths.get(&one.plan.id).map(String::as_str))
            })
            .collect();
        let ran = ScenarioCounter::of("with a mark in the script", marked.len());
        let report = |id: &ScenarioId| ran.report(id);
        let (marked, _) = base_scenarios(self.runner, self.traces, &marked, self.jobs, &report, cancel).await;
        let stays = marked
            .into_iter()
            .filter(|one| one.trace.0.iter().any(|traced| traced.text == text));
        let mut stays: BTreeMap<ScenarioId, BaseScenario> =
            stays.map(|one| (one.plan.id.clone(), one)).collect();
        base.retain_mut(|one| {
            let id = one.plan.id.clone();
            if let Some(marked) = stays.remove(&id) {
                one.add_boot(marked);
                return true;
            }
            if let Some(path) = paths.get(&id) {
                not_run.push((
                    id,
                    format!("the node writes {path} itself, so it cannot be changed before"),
                ));
            }
            false
        });
        paths
    }
}
