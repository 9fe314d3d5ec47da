//! Runs one plan: world, tenant, node, observation, verdict; and gives back everything it took.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::StreamExt;
use futures::stream::BoxStream;
use nodejoin_core::event::RunEvent;
use nodejoin_core::judge;
use nodejoin_core::kubernetes::{Minor, check_skew, looks_again, not_for, not_for_asked};
use nodejoin_core::observation::{Deviation, Observation};
use nodejoin_core::phase::Phase;
use nodejoin_core::plan::{Cni, Plan, ProviderName};
use nodejoin_core::verdict::{Outcome, Verdict};
use nodejoin_docker::ImageRef;
use nodejoin_node::Node;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::error::EngineError;
use crate::evidence::Evidence;
use crate::ground::Ground;
use crate::harness::{self, Harness};
use crate::observer::{Incoming, Observer};
use crate::tenancy::{Tenancy, Told};

/// How often a join is looked at when nothing happens: limits and settling times pass without an event.
const LOOK: Duration = Duration::from_millis(100);

/// How a scenario ended.
pub(crate) struct Ended {
    pub(crate) verdict: Verdict,
    pub(crate) evidence: Option<Evidence>,
    /// How to get into what was kept.
    pub(crate) kept: Vec<String>,
}

impl Ended {
    fn bare(outcome: Outcome) -> Self {
        Self {
            verdict: harness::bare(outcome),
            evidence: None,
            kept: Vec::new(),
        }
    }
}

/// Runs one plan to its verdict.
pub(crate) async fn run(
    harness: &Harness,
    plan: &Plan,
    cancel: &CancellationToken,
) -> Result<Ended, EngineError> {
    let started = tokio::select! {
        started = prepare(harness, plan) => started?,
        () = cancel.cancelled() => return Ok(Ended::bare(Outcome::Cancelled)),
    };
    let (ground, image) = match started {
        Prepared::Ready(ground, image) => (ground, image),
        Prepared::Skipped(reason) => return Ok(Ended::bare(Outcome::Skipped(reason))),
        Prepared::Unavailable(outcome) => return Ok(Ended::bare(outcome)),
    };
    if let Some(reason) = ground.control_plane.not_for(plan).await {
        return Ok(Ended::bare(Outcome::Skipped(reason)));
    }
    harness.events.send(RunEvent::ScenarioStarted {
        scenario: plan.id.clone(),
        name: plan.name.clone(),
    });
    let (tenancy, told) = Tenancy::begin(&ground, plan, harness.run.engine().time_factor()).await?;
    let ended = tokio::select! {
        ended = join(harness, &ground, &image, plan, &tenancy, told) => ended,
        // Without it no node joins, whatever its script does.
        error = ground.control_plane.ended() => Err(error.into()),
        // The node that may be running is in the run's ledger.
        () = cancel.cancelled() => Ok(Ended::bare(Outcome::Cancelled)),
    };
    let given_back = tenancy.end().await;
    let ended = ended?;
    // What stays on a shared control plane could spoil a later scenario: better an error now.
    given_back.map(|()| ended)
}

enum Prepared {
    Ready(Arc<Ground>, ImageRef),
    Skipped(String),
    /// There is no such control plane here: skipped, or errored where it is required.
    Unavailable(Outcome),
}

/// Brings the ground and the node's image, and says when the plan is not for them.
async fn prepare(harness: &Harness, plan: &Plan) -> Result<Prepared, EngineError> {
    let provider = match ProviderName::choose(harness.settings.control_plane, &plan.control_plane) {
        Ok(provider) => provider,
        Err(reason) => return Ok(Prepared::Skipped(reason)),
    };
    if let Some(reason) = not_for_asked(plan) {
        return Ok(Prepared::Skipped(reason));
    }
    let images = harness.images_of(plan.asked.of_kubelet());
    let image = images.node(&plan.image.name).await?;
    if let Some(reason) = not_for("kubelet", plan.kubelet.as_ref(), &image.kubernetes) {
        return Ok(Prepared::Skipped(reason));
    }
    let ground = match harness.ground(plan, provider).await {
        Ok(ground) => ground,
        Err(error) if matches!(*error, EngineError::Unavailable { .. }) => {
            let outcome = harness
                .settings
                .require
                .outcome(provider, &harness::with_hint(&error));
            return Ok(Prepared::Unavailable(outcome));
        }
        Err(error) => return Err(EngineError::Shared(error)),
    };
    let version = &ground.control_plane.version;
    if let Some(reason) = not_for("Kubernetes", plan.kubernetes.as_ref(), version) {
        return Ok(Prepared::Skipped(reason));
    }
    check_skew(Minor::of(version), Minor::of(&image.kubernetes))?;
    Ok(Prepared::Ready(ground, image))
}

/// Boots the node, watches it until it is settled, and judges what was seen.
async fn join(
    harness: &Harness,
    ground: &Ground,
    image: &ImageRef,
    plan: &Plan,
    tenancy: &Tenancy<'_>,
    told: Told,
) -> Result<Ended, EngineError> {
    let evidence = Evidence::begin(&harness.folder, plan)?;
    let node = tenancy.boot(&harness.run, image).await?;
    let mut observer = Observer::new(
        &ground.control_plane.version,
        &image.kubernetes,
        node.started,
        Some(&evidence.timeline()),
    );
    observer.observation.deviations.clone_from(&node.deviations);
    observer
        .observation
        .deviations
        .extend(pod_cidr(plan, &image.kubernetes));
    watch(harness, plan, Tenancy::incoming(&node, told), &mut observer).await;
    let mut observation = observer.observation;
    // The pod's image still comes from the fakes, so they are left only after this.
    observation.collected = Some(tenancy.collect(&node, &observation).await?);
    observation.faults_fired = ground.fakes.detach(&plan.instance.id);
    let verdict = judge::judge(plan, &observation);
    conclude(harness, ground, plan, node, evidence, verdict, &observation).await
}

/// What the control plane does for an old kubelet and EKS does not.
fn pod_cidr(plan: &Plan, kubelet: &str) -> Option<Deviation> {
    (plan.cni == Cni::Bridge && !looks_again(Minor::of(kubelet))).then(|| Deviation {
        name: "pod-cidr".to_owned(),
        what: "the Node gets a `spec.podCIDR` once its CSINode exists".to_owned(),
        why: "a kubelet before 1.22 says only at its next status, up to 10 s later, that it is ready"
            .to_owned(),
    })
}

/// Takes in events until the scenario is settled or its limit has passed.
async fn watch(
    harness: &Harness,
    plan: &Plan,
    mut incoming: BoxStream<'static, Incoming>,
    observer: &mut Observer,
) {
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut reported = Reported::default();
    loop {
        tokio::select! {
            // In no order: a node that writes without end must not keep its limit from being looked at.
            Some(event) = incoming.next() => observer.absorb(event),
            _ = look.tick() => {
                reported.report(harness, plan, &observer.observation);
                let now = observer.now(SystemTime::now());
                if judge::progress(plan, &observer.observation, now).is_settled() {
                    return;
                }
            }
        }
    }
}

/// The phases that were reported already.
#[derive(Default)]
struct Reported(Vec<Phase>);

impl Reported {
    fn report(&mut self, harness: &Harness, plan: &Plan, observation: &Observation) {
        for (phase, at) in nodejoin_core::phases::phases(plan, observation) {
            if !self.0.contains(&phase) {
                self.0.push(phase);
                harness.events.send(RunEvent::PhaseReached {
                    scenario: plan.id.clone(),
                    phase,
                    at,
                });
            }
        }
    }
}

/// Writes or drops the evidence, and removes or keeps the node.
async fn conclude(
    harness: &Harness,
    ground: &Ground,
    plan: &Plan,
    node: Node,
    evidence: Evidence,
    verdict: Verdict,
    observation: &Observation,
) -> Result<Ended, EngineError> {
    let passed = verdict.outcome == Outcome::Passed;
    if harness.settings.keep.keeps(passed) {
        evidence.write(ground, plan, &node, &verdict, observation).await?;
        let kept = harness.keep(ground, &node).await?;
        return Ok(Ended {
            verdict,
            evidence: Some(evidence),
            kept,
        });
    }
    if passed {
        evidence.drop_folder();
        node.remove().await?;
        return Ok(Ended {
            verdict,
            evidence: None,
            kept: Vec::new(),
        });
    }
    evidence.write(ground, plan, &node, &verdict, observation).await?;
    node.remove().await?;
    Ok(Ended {
        verdict,
        evidence: Some(evidence),
        kept: Vec::new(),
    })
}
