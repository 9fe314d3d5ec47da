//! One node of a scenario: it boots, is watched until it is settled, and then goes through the steps after its join.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures::stream::{self, BoxStream, StreamExt as _};
use nodejoin_core::judge;
use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::kubernetes::{Minor, looks_again};
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::observation::{Deviation, Observation, UserDataResult};
use nodejoin_core::plan::step::{Action, StepPlan};
use nodejoin_core::plan::{Cni, Plan};
use nodejoin_core::run::event::RunEvent;
use nodejoin_docker::ImageRef;
use nodejoin_node::{DeviationKind, Node};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use crate::error::EngineError;
use crate::evidence::Evidence;
use crate::harness::Harness;
use crate::observer::{Incoming, Observer};
use crate::tenancy::{Tenancy, node_name};

/// How often a join is looked at when nothing happens: limits and settling times pass without an event.
const LOOK: Duration = Duration::from_millis(100);

/// What the nodes of a scenario share.
pub(crate) struct Stage<'a> {
    pub(crate) harness: &'a Harness,
    pub(crate) image: &'a ImageRef,
    /// Version of the control plane.
    pub(crate) version: &'a str,
    pub(crate) reach: Reach<'a>,
}

/// A node that was judged, and still runs.
pub(crate) struct Judged {
    pub(crate) plan: Plan,
    pub(crate) node: Node,
    pub(crate) evidence: Evidence,
    /// Of the join, and of the last step where one was taken.
    pub(crate) observation: Observation,
    pub(crate) verdict: Verdict,
}

/// A node under way.
struct Running {
    node: Node,
    /// What the node tells.
    own: BoxStream<'static, Incoming>,
    /// What the fakes and the control plane tell of it.
    told: BoxStream<'static, Incoming>,
}

/// Boots a node, watches it until it is settled, judges what was seen, and takes the steps after that.
pub(crate) async fn run(
    stage: &Stage<'_>,
    plan: Plan,
    tenancy: &mut Tenancy<'_>,
    told: BoxStream<'static, Incoming>,
    evidence: Evidence,
) -> Result<Judged, EngineError> {
    let plan = tenancy.filled(plan);
    let node = tenancy.boot(&stage.harness.run, stage.image).await?;
    let mut running = Running {
        own: Tenancy::of_node(&node),
        node,
        told,
    };
    let node = &running.node;
    let mut observer = Observer::new(
        stage.version,
        &stage.image.kubernetes,
        node.started,
        Some(&evidence.timeline(None)),
    );
    observer.observation.deviations.clone_from(&node.deviations);
    let pod_cidr = pod_cidr(&plan, &stage.image.kubernetes);
    observer.observation.deviations.extend(pod_cidr);
    let started = running.node.started;
    tokio::select! {
        () = watch(Some(&stage.reach), &plan, &mut running, &mut observer) => {}
        Err(error) = tenancy.map_late(started) => return Err(error),
    }
    let mut observation = observer.observation;
    // The pod's image still comes from the fakes.
    observation.collected = Some(tenancy.collect(&running.node, &plan, &observation).await?);
    observation.faults_fired = tenancy.faults_fired();
    tenancy.take_snapshot(&mut observation);
    let mut plan = plan;
    let bless = stage.harness.settings.bless;
    let verdict = if bless {
        bless_snapshot(stage.harness, &mut plan, &observation)?
    } else {
        judge::judge(&plan, &observation)
    };
    let judged = Judged {
        node: running.node.clone(),
        plan,
        evidence,
        observation,
        verdict,
    };
    take_steps(tenancy, stage, judged, running).await
}

/// Judges a node as if it were its snapshot, and writes that where nothing else is wrong.
fn bless_snapshot(harness: &Harness, plan: &mut Plan, seen: &Observation) -> Result<Verdict, EngineError> {
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
            path: golden.path.clone().into(),
            source,
        })?;
        let path = golden.path.clone();
        harness.events.send(RunEvent::SnapshotWritten { path });
    }
    Ok(verdict)
}

/// One step after the other, until one does not end as it should.
async fn take_steps(
    tenancy: &mut Tenancy<'_>,
    stage: &Stage<'_>,
    mut judged: Judged,
    mut running: Running,
) -> Result<Judged, EngineError> {
    let steps = judged.plan.then.clone();
    let mut verdicts: Vec<(&str, Verdict)> = Vec::new();
    let mut is_well = judged.verdict.outcome == Outcome::Passed;
    for (index, step) in steps.iter().enumerate() {
        if !is_well {
            break;
        }
        let plan = tenancy.filled(judged.plan.after(step));
        let transcript = judged.evidence.timeline(Some(index));
        let begun = begin(step, &plan, tenancy, stage, &mut running, &judged.observation).await?;
        let mut observer = Observer::after(&judged.observation, begun.at, Some(&transcript));
        if !step.action.boots() {
            observer = observer.without_boot();
        }
        watch(None, &plan, &mut running, &mut observer).await;
        judged.observation = observer.observation;
        let collected = tenancy.collect(&running.node, &plan, &judged.observation).await?;
        judged.observation.collected = Some(collected);
        if let (Some(again), Some(collected)) = (begun.user_data, &mut judged.observation.collected) {
            collected.user_data = Some(again);
        }
        let verdict = judge::judge_step(&plan, &judged.observation);
        is_well = verdict.outcome == Outcome::Passed;
        verdicts.push((step.action.word(), verdict));
    }
    judged.node = running.node;
    judged.verdict = judge::of_steps(judged.verdict, &verdicts, steps.len());
    Ok(judged)
}

/// A step that was begun.
struct Begun {
    at: SystemTime,
    /// How user data went, where it was run again.
    user_data: Option<UserDataResult>,
}

async fn begin(
    step: &StepPlan,
    plan: &Plan,
    tenancy: &mut Tenancy<'_>,
    stage: &Stage<'_>,
    running: &mut Running,
    seen: &Observation,
) -> Result<Begun, EngineError> {
    let mut begun = Begun {
        at: SystemTime::now(),
        user_data: None,
    };
    match step.action {
        Action::Reboot => {
            let node = running.node.reboot().await?;
            begun.at = node.started;
            tenancy.meet(&node).await?;
            running.own = Tenancy::of_node(&node);
            running.node = node;
        }
        Action::RunUserDataAgain => begun.user_data = Some(running.node.run_user_data_again().await?),
        Action::ReplaceInstance => {
            running.node.remove().await?;
            running.told = tenancy.succeed(plan).await?;
            let node = tenancy.boot(&stage.harness.run, stage.image).await?;
            begun.at = node.started;
            running.own = Tenancy::of_node(&node);
            running.node = node;
        }
        Action::DeleteNode => {
            if let Some(name) = node_name(seen) {
                tenancy.delete_node(&name).await?;
            }
        }
        Action::RestartKubelet => running.node.restart_kubelet().await?,
    }
    Ok(begun)
}

/// What the control plane does for an old kubelet and EKS does not.
fn pod_cidr(plan: &Plan, kubelet: &str) -> Option<Deviation> {
    let is_spared = plan.cni == Cni::Bridge && !looks_again(Minor::of(kubelet));
    is_spared.then(|| DeviationKind::PodCidr.into())
}

/// Takes in events until the plan is settled or its limit has passed.
async fn watch(reach: Option<&Reach<'_>>, plan: &Plan, running: &mut Running, observer: &mut Observer) {
    let mut incoming = stream::select(&mut running.own, &mut running.told);
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut reached = BTreeSet::new();
    loop {
        tokio::select! {
            // In no order: a node that writes without end must not keep its limit from being looked at.
            Some(event) = incoming.next() => observer.absorb(event),
            _ = look.tick() => {
                if let Some(reach) = reach {
                    reach.report(plan, &observer.observation, &mut reached);
                }
                let now = observer.now(SystemTime::now());
                if judge::progress(plan, &observer.observation, now).is_settled() {
                    return;
                }
            }
        }
    }
}

/// How many nodes of a scenario have come how far. A phase is reported when the last has reached it.
pub(crate) struct Reach<'a> {
    harness: &'a Harness,
    nodes: usize,
    counts: Mutex<BTreeMap<Phase, usize>>,
    /// How many are registered; read by whoever waits for so many.
    pub(crate) registered: watch::Sender<usize>,
}

impl<'a> Reach<'a> {
    pub(crate) fn of(harness: &'a Harness, nodes: usize) -> Self {
        Self {
            harness,
            nodes,
            counts: Mutex::default(),
            registered: watch::Sender::new(0),
        }
    }

    fn report(&self, plan: &Plan, observation: &Observation, reached: &mut BTreeSet<Phase>) {
        for (phase, at) in nodejoin_core::observation::phases::phases(observation) {
            if !reached.insert(phase) {
                continue;
            }
            let count = {
                let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
                let count = counts.entry(phase).or_default();
                *count += 1;
                *count
            };
            if phase == Phase::Registered {
                self.registered.send_replace(count);
            }
            if count == self.nodes {
                let scenario = plan.id.clone();
                self.harness
                    .events
                    .send(RunEvent::PhaseReached { scenario, phase, at });
            }
        }
    }
}
