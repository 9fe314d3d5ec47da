//! Runs one plan: prepares its environment and what it is compared with, runs its nodes, and returns the result.

mod nodes;
pub(crate) mod result;

use std::time::Instant;

use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::plan::Plan;
use nodejoin_core::run::event::RunEvent;
use tokio_util::sync::CancellationToken;

use crate::context::RunContext;
use crate::error::EngineError;
use crate::evidence::{self, EvidenceFolder};
use crate::image_user_data::without_cloud_init;
use crate::machine_snapshot;
use crate::preparation::{Preparation, prepare};
use crate::registry;
use crate::same_machine;
use nodes::ScenarioRun;
use result::ScenarioResult;

/// Runs one plan to its result. An error means that its environment did not start: there is nothing to observe.
pub(crate) async fn run(
    context: &RunContext,
    plan: &Plan,
    cancel: &CancellationToken,
) -> Result<ScenarioResult, EngineError> {
    let prepared = tokio::select! {
        prepared = prepare(context, plan) => prepared?,
        () = cancel.cancelled() => return Ok(ScenarioResult::without_observation(Outcome::Cancelled)),
    };
    let (environment, image) = match prepared {
        Preparation::Ready(environment, image) => (environment, image),
        Preparation::Ended(outcome) => return Ok(ScenarioResult::without_observation(outcome)),
    };
    if let Some(reason) = environment.control_plane.not_for(plan).await {
        return Ok(ScenarioResult::without_observation(Outcome::Skipped(reason)));
    }
    let plan = &*without_cloud_init(plan, &image);
    let images = registry::listed(plan, Some(context.run.engine())).await?;
    context.events.send(RunEvent::ScenarioStarted {
        scenario: plan.id.clone(),
        name: plan.name.clone(),
    });
    // Before the join: the machines of both scenarios have the names of its node.
    let compared = match Box::pin(same_machine::compared(context, plan, cancel)).await {
        Ok(check) => check,
        Err(outcome) => return Ok(ScenarioResult::without_observation(outcome)),
    };
    let snapshot = match Box::pin(machine_snapshot::compared(
        context,
        plan,
        &image.kubernetes,
        cancel,
    ))
    .await
    {
        Ok(snapshot) => snapshot,
        Err(outcome) => return Ok(ScenarioResult::without_observation(outcome)),
    };
    let scenario = ScenarioRun {
        context,
        environment: &environment,
        image: &image,
        images,
        plan,
        compared,
        snapshot,
        folder: EvidenceFolder::create(&context.folder.path, plan)?,
    };
    let started = Instant::now();
    // Boxed: the state of a whole scenario would be on the stack of every caller, and a test's thread has 2 MiB.
    let result = Box::pin(scenario.run(cancel)).await;
    context.note_use(&environment, plan, &result.verdict.outcome);
    Ok(ScenarioResult {
        started: Some(started),
        ..result
    })
}

/// The result of a scenario whose environment did not start, with its evidence.
pub(crate) fn errored_before_start(
    context: &RunContext,
    plan: &Plan,
    started: Instant,
    error: &EngineError,
) -> ScenarioResult {
    let folder = EvidenceFolder::new(EvidenceFolder::path_for(&context.folder.path, plan));
    let mut result = ScenarioResult::without_observation(Outcome::Errored(error.with_hint()));
    let files = evidence::of_verdict(plan, &result.verdict, started.elapsed().as_secs_f64());
    result.problems = folder.write(files);
    result.evidence = folder.path.is_dir().then_some(folder);
    result
}
