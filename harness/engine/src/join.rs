//! One node from its start to its verdict: the join, and the steps after it.

use std::path::PathBuf;
use std::time::SystemTime;

use nodejoin_core::judge;
use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::kubernetes::{Minor, looks_again};
use nodejoin_core::observation::{Deviation, Observation, low_disk_percent, translated_settings};
use nodejoin_core::plan::{Cni, Plan};
use nodejoin_core::run::event::RunEvent;
use nodejoin_node::DeviationKind;

use crate::error::EngineError;
use crate::events::Events;
use crate::evidence::EvidenceFolder;
use crate::node_driver::{NodeDriver, NodeEvents};
use crate::observer::Observer;
use crate::reboots::watch_boots;
use crate::settle::settle;
use crate::watch::PhaseProgress;

/// What the nodes of a scenario share while they join.
pub(crate) struct JoinContext<'a> {
    pub(crate) events: &'a Events,
    /// Version of the control plane.
    pub(crate) kubernetes: &'a str,
    pub(crate) kubelet: &'a str,
    pub(crate) progress: PhaseProgress,
    /// Whether to rewrite the snapshot of a node that passes otherwise.
    pub(crate) bless: bool,
}

/// A judged join: what was expected, observed and decided, after the last step that ran.
pub(crate) struct JudgedJoin {
    pub(crate) plan: Plan,
    pub(crate) observation: Observation,
    pub(crate) verdict: Verdict,
}

/// Watches a started node until it is settled, judges it, and runs the steps of its plan.
pub(crate) async fn join(
    context: &JoinContext<'_>,
    plan: Plan,
    driver: &mut impl NodeDriver,
    mut events: NodeEvents,
    evidence: &EvidenceFolder,
    clock: impl Fn() -> SystemTime + Copy,
) -> Result<JudgedJoin, EngineError> {
    let mut plan = driver.with_values(plan);
    let mut observer = Observer::new(
        context.kubernetes,
        context.kubelet,
        driver.started(),
        Some(&evidence.timeline(None)),
    );
    observer.observation.deviations = driver.deviations();
    let pod_cidr = pod_cidr_deviation(&plan, context.kubelet);
    observer.observation.deviations.extend(pod_cidr);
    let mut reached = Default::default();
    let report = |seen: &Observation| context.progress.update(&plan, seen, &mut reached);
    tokio::select! {
        watched = watch_boots(&plan, driver, &mut events, &mut observer, clock, report) => watched?,
        Err(error) = driver.grant_late_rights() => return Err(error),
    }
    let mut observation = observer.observation;
    // Before the faults are counted: the pod's image still comes from the fakes.
    let collected = driver.collect(&plan, &observation).await?;
    observation.add_redirected_output(&collected.redirected_output);
    observation.collected = Some(collected);
    observation.faults_fired = driver.faults_fired();
    driver.render_snapshot(&mut observation);
    let translated = translated_settings_deviation(&observation);
    let low_disk = low_disk_deviation(&observation);
    observation
        .deviations
        .extend(translated.into_iter().chain(low_disk));
    let verdict = match context.bless {
        true => bless_snapshot(context.events, &mut plan, &observation)?,
        false => judge::judge(&plan, &observation),
    };
    let judged = JudgedJoin {
        plan,
        observation,
        verdict,
    };
    run_steps(judged, driver, events, evidence, clock).await
}

/// Judges a node against its own snapshot, and writes that snapshot when the node passes.
fn bless_snapshot(events: &Events, plan: &mut Plan, seen: &Observation) -> Result<Verdict, EngineError> {
    let text = seen
        .collected
        .as_ref()
        .and_then(|collected| collected.golden.clone());
    let before = match (&mut plan.golden, text) {
        (Some(golden), Some(text)) => golden.text.replace(text),
        _ => return Ok(judge::judge(plan, seen)),
    };
    let verdict = judge::judge(plan, seen);
    let golden = plan
        .golden
        .as_ref()
        .filter(|golden| verdict.outcome == Outcome::Passed && golden.text != before);
    if let Some((golden, text)) = golden.and_then(|golden| Some((golden, golden.text.as_deref()?))) {
        std::fs::write(&golden.path, text).map_err(|source| EngineError::Write {
            path: PathBuf::from(&golden.path),
            source,
        })?;
        let path = golden.path.clone();
        events.send(RunEvent::SnapshotWritten { path });
    }
    Ok(verdict)
}

/// Runs one step after the other until one does not pass.
async fn run_steps(
    mut judged: JudgedJoin,
    driver: &mut impl NodeDriver,
    mut events: NodeEvents,
    evidence: &EvidenceFolder,
    clock: impl Fn() -> SystemTime + Copy,
) -> Result<JudgedJoin, EngineError> {
    let steps = judged.plan.then.clone();
    let mut verdicts: Vec<(&str, Verdict)> = Vec::new();
    let mut has_passed = judged.verdict.outcome == Outcome::Passed;
    for (index, step) in steps.iter().enumerate() {
        if !has_passed {
            break;
        }
        let plan = driver.with_values(judged.plan.after(step));
        let timeline = evidence.timeline(Some(index));
        let start = driver
            .start_step(step, &plan, &judged.observation, &mut events)
            .await?;
        let mut observer = Observer::after(&judged.observation, start.at, Some(&timeline));
        if !step.action.boots() {
            observer = observer.without_boot();
        }
        settle(driver, &mut events, &plan, &mut observer, clock, |_| {}).await?;
        judged.observation = observer.observation;
        let mut collected = driver.collect(&plan, &judged.observation).await?;
        collected.user_data = start.user_data.or(collected.user_data);
        judged.observation.collected = Some(collected);
        let verdict = judge::judge_step(&plan, &judged.observation);
        has_passed = verdict.outcome == Outcome::Passed;
        verdicts.push((step.action.word(), verdict));
    }
    judged.verdict = judge::of_steps(judged.verdict, &verdicts, steps.len());
    Ok(judged)
}

/// The control plane's help for an old kubelet, which EKS does not give.
fn pod_cidr_deviation(plan: &Plan, kubelet: &str) -> Option<Deviation> {
    let needs_help = plan.cni == Cni::Bridge && !looks_again(Minor::of(kubelet));
    needs_help.then(|| DeviationKind::PodCidr.into())
}

/// What an old kubelet starts without.
fn translated_settings_deviation(observation: &Observation) -> Option<Deviation> {
    let details = translated_settings(observation);
    let deviation = Deviation::from(DeviationKind::TranslatedSettings);
    (!details.is_empty()).then_some(Deviation { details, ..deviation })
}

/// What a kubelet starts without on a host whose disk is nearly full.
fn low_disk_deviation(observation: &Observation) -> Option<Deviation> {
    let percent = low_disk_percent(observation)?;
    Some(Deviation {
        details: vec![format!(
            "{percent} % of the host's disk is free: the kubelet starts without thresholds for it"
        )],
        ..Deviation::from(DeviationKind::HostDisk)
    })
}

#[cfg(test)]
mod tests;
