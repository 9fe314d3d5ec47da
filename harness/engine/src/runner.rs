//! Runs many plans: so many at once, to the end or until the user has enough, and then removes everything.

use std::time::Instant;

use futures::{StreamExt, stream};
use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::plan::Plan;
use nodejoin_core::run::concurrency;
use nodejoin_core::run::event::{RunEvent, Summary};
use nodejoin_docker::doctor::inotify_instances;
use tokio_util::sync::CancellationToken;

use crate::harness::Harness;

/// Runs the plans and tears the harness down.
///
/// When `cancel` fires, scenarios under way end at once, those not begun are counted as cancelled, and the teardown still happens.
pub async fn run_all(harness: Harness, plans: &[Plan], cancel: &CancellationToken) -> Summary {
    let begun = Instant::now();
    let events = harness.events.clone();
    events.send(RunEvent::RunStarted {
        run: harness.run.id().clone(),
        scenarios: plans.len(),
        shard: harness.settings.shard,
    });
    let jobs = harness.settings.jobs.max(1);
    if let Some(text) = too_many_nodes(&harness, plans, jobs).await {
        events.send(RunEvent::Warning { text });
    }
    let verdicts: Vec<_> = stream::iter(plans.iter())
        .map(|plan| harness.run(plan, cancel))
        .buffer_unordered(jobs)
        .collect()
        .await;
    let mut summary = Summary::default();
    for verdict in &verdicts {
        count(&mut summary, &verdict.outcome);
    }
    summary.left_behind = harness.tear_down().await.left;
    summary.seconds = begun.elapsed().as_secs_f64();
    events.send(RunEvent::RunFinished(summary.clone()));
    summary
}

/// What the host lacks for the nodes that will run at once, where it lacks something.
async fn too_many_nodes(harness: &Harness, plans: &[Plan], jobs: usize) -> Option<String> {
    let nodes = concurrency::nodes_at_once(plans, jobs);
    let instances = inotify_instances(harness.run.engine(), &harness.images).await?;
    concurrency::too_many(nodes, instances)
}

/// Adds one outcome to a summary.
pub fn count(summary: &mut Summary, outcome: &Outcome) {
    let counter = match outcome {
        Outcome::Passed => &mut summary.passed,
        Outcome::Failed => &mut summary.failed,
        Outcome::Errored(_) => &mut summary.errored,
        Outcome::Skipped(_) => &mut summary.skipped,
        Outcome::Cancelled => &mut summary.cancelled,
    };
    *counter += 1;
}
