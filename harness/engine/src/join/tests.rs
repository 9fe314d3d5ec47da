//! Joins of nodes that are not containers.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use nodejoin_core::diagnosis::Cause;
use nodejoin_core::observation::{Collected, JournalLine, MOST_REBOOTS, ObservedEvent, UserDataResult};
use nodejoin_core::plan::step::{Action, StepPlan};

use super::*;
use crate::node_driver::StepStart;
use crate::observer::Incoming;
use crate::testing::{EPOCH, PausedClock, incoming, line, plan};

/// A node without a container: it records the operations on it.
struct ScriptedNode {
    operations: RefCell<Vec<String>>,
    /// What each collection returns; missing facts after the last one.
    collected: RefCell<Vec<Collected>>,
    delayed_row: Result<(), Duration>,
    /// What the stream of events lost.
    missed: RefCell<Vec<Incoming>>,
    collections: Cell<usize>,
}

impl ScriptedNode {
    fn new() -> Self {
        Self {
            operations: RefCell::default(),
            collected: RefCell::default(),
            delayed_row: Ok(()),
            missed: RefCell::default(),
            collections: Cell::new(0),
        }
    }
}

fn refused() -> EngineError {
    EngineError::Write {
        path: "/aws-auth".into(),
        source: std::io::Error::from(std::io::ErrorKind::Other),
    }
}

impl NodeDriver for ScriptedNode {
    fn started(&self) -> SystemTime {
        EPOCH
    }

    fn deviations(&self) -> Vec<Deviation> {
        Vec::new()
    }

    fn with_values(&self, plan: Plan) -> Plan {
        plan
    }

    async fn grant_late_rights(&self) -> Result<(), EngineError> {
        match self.delayed_row {
            Ok(()) => Ok(()),
            Err(after) => {
                tokio::time::sleep(after).await;
                Err(refused())
            }
        }
    }

    async fn collect(&self, _: &Plan, _: &Observation) -> Result<Collected, EngineError> {
        self.collections.set(self.collections.get() + 1);
        let mut collected = self.collected.borrow_mut();
        Ok(match collected.is_empty() {
            true => Collected::default(),
            false => collected.remove(0),
        })
    }

    async fn missed(&self) -> Result<Vec<Incoming>, EngineError> {
        Ok(self.missed.take())
    }

    fn faults_fired(&self) -> BTreeMap<usize, u32> {
        BTreeMap::from([(0, 3)])
    }

    fn render_snapshot(&self, _: &mut Observation) {}

    async fn boot_again(&self, events: &mut NodeEvents) -> Result<SystemTime, EngineError> {
        self.operations.borrow_mut().push("boot again".to_owned());
        let boots = self.operations.borrow().len() as u64;
        events.node = stream::iter([incoming(boots * 1000 + 500, rebooting())]).boxed();
        Ok(EPOCH + Duration::from_secs(boots))
    }

    async fn start_step(
        &mut self,
        step: &StepPlan,
        _: &Plan,
        _: &Observation,
        events: &mut NodeEvents,
    ) -> Result<StepStart, EngineError> {
        let action = step.action;
        self.operations.borrow_mut().push(action.word().to_owned());
        events.node = after_boot(&[
            incoming(51_000, ObservedEvent::Isolated),
            incoming(60_000, exited()),
        ]);
        Ok(StepStart {
            at: EPOCH + Duration::from_secs(50),
            user_data: (action == Action::RunUserDataAgain).then(|| UserDataResult {
                ran: true,
                output: "again".to_owned(),
                ..UserDataResult::default()
            }),
        })
    }
}

fn exited() -> ObservedEvent {
    ObservedEvent::ContainerExited {
        code: 0,
        lines: Vec::new(),
    }
}

fn rebooting() -> ObservedEvent {
    ObservedEvent::ContainerExited {
        code: 129,
        lines: Vec::new(),
    }
}

/// The node has reached the fake metadata service.
fn isolated() -> Incoming {
    incoming(1, ObservedEvent::Isolated)
}

fn after_boot(events: &[Incoming]) -> stream::BoxStream<'static, Incoming> {
    stream::iter(events.to_vec()).chain(stream::pending()).boxed()
}

fn node_events(events: &[Incoming]) -> NodeEvents {
    NodeEvents {
        node: after_boot(events),
        session: stream::pending().boxed(),
    }
}

async fn run(yaml: &str, node: &mut ScriptedNode, events: NodeEvents) -> Result<JudgedJoin, EngineError> {
    let folder = tempfile::tempdir().unwrap();
    let evidence = EvidenceFolder::new(folder.path().to_owned());
    let (sender, _stream) = Events::stream();
    let clock = PausedClock::start();
    let context = JoinContext {
        events: &sender,
        kubernetes: "v1.32.1",
        kubelet: "v1.32.1",
        progress: PhaseProgress::new(sender.clone(), 1),
        bless: false,
    };
    let clock = &clock;
    join(&context, plan(yaml), node, events, &evidence, || clock.now()).await
}

const FAILS: &str =
    "name: x\nlimits: { join_seconds: 10 }\nexpect: { phase: ready }\nthen: [{ do: reboot }]\n";

#[tokio::test(start_paused = true)]
async fn a_node_that_does_not_join_fails_at_its_timeout_and_runs_no_step() {
    let mut node = ScriptedNode::new();
    let judged = run(
        FAILS,
        &mut node,
        node_events(&[isolated(), incoming(5, line("hello"))]),
    )
    .await
    .unwrap();
    assert_eq!(judged.verdict.outcome, Outcome::Failed);
    assert!(node.operations.borrow().is_empty());
    assert_eq!(node.collections.get(), 1);
    assert_eq!(judged.observation.faults_fired, BTreeMap::from([(0, 3)]));
}

fn by_kubelet(message: &str) -> ObservedEvent {
    ObservedEvent::Journal(JournalLine {
        unit: Some("kubelet.service".to_owned()),
        command: Some("kubelet".to_owned()),
        by_systemd: false,
        message: message.to_owned(),
    })
}

const STARTS: &str = "name: x\nlimits: { join_seconds: 10, settle_seconds: 1 }\n\
                      expect: { phase: kubelet-started, diagnosis: kubelet-exits }\n";

#[tokio::test(start_paused = true)]
async fn a_line_that_the_stream_lost_counts_before_the_verdict() {
    let reached = |judged: &JudgedJoin| {
        nodejoin_core::observation::phases::phases(&judged.observation)
            .contains_key(&nodejoin_core::observation::phase::Phase::KubeletStarted)
    };
    let mut node = ScriptedNode::new();
    let judged = run(STARTS, &mut node, node_events(&[isolated()])).await.unwrap();
    assert!(!reached(&judged), "the line has been lost");
    let mut node = ScriptedNode::new();
    node.missed = RefCell::new(vec![incoming(700, by_kubelet("I1 server.go:416] Version: v1"))]);
    let judged = run(STARTS, &mut node, node_events(&[isolated()])).await.unwrap();
    assert!(reached(&judged), "{:?}", judged.observation.timeline);
    assert!(node.missed.borrow().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_lost_line_that_unsettles_a_join_continues_it() {
    const NEVER: &str = "name: x\nlimits: { join_seconds: 60, settle_seconds: 2 }\n\
                         expect: { diagnosis: kubelet-never-started }\n";
    let ended = ObservedEvent::Journal(JournalLine {
        unit: Some("cloud-final.service".to_owned()),
        command: Some("systemd".to_owned()),
        by_systemd: true,
        message: "Finished cloud-final.service".to_owned(),
    });
    let events = || {
        node_events(&[
            isolated(),
            incoming(5, line("hello")),
            incoming(1000, ended.clone()),
        ])
    };
    let clock = PausedClock::start();
    let judged = run(NEVER, &mut ScriptedNode::new(), events()).await.unwrap();
    assert_eq!(judged.verdict.outcome, Outcome::Passed, "{:?}", judged.verdict);
    let without = clock.elapsed();
    assert!(without < Duration::from_secs(30), "{without:?}");
    let mut node = ScriptedNode::new();
    node.missed = RefCell::new(vec![incoming(700, by_kubelet("I1 server.go:416] Version: v1"))]);
    let judged = run(NEVER, &mut node, events()).await.unwrap();
    assert_eq!(judged.verdict.outcome, Outcome::Failed, "it has a kubelet");
    assert!(
        clock.elapsed() - without >= Duration::from_secs(15),
        "it waits for the kubelet"
    );
}

#[tokio::test(start_paused = true)]
async fn a_delayed_row_that_is_refused_is_an_error_of_the_harness() {
    let mut node = ScriptedNode::new();
    node.delayed_row = Err(Duration::from_secs(2));
    let result = run(FAILS, &mut node, node_events(&[])).await;
    assert!(matches!(result, Err(EngineError::Write { .. })));
    assert_eq!(node.collections.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_container_that_exits_is_judged_from_what_was_seen() {
    let mut node = ScriptedNode::new();
    let judged = run(
        FAILS,
        &mut node,
        node_events(&[isolated(), incoming(5, exited())]),
    )
    .await
    .unwrap();
    let is_exit = |what: &ObservedEvent| matches!(what, ObservedEvent::ContainerExited { .. });
    assert!(judged.observation.timeline.iter().any(|seen| is_exit(&seen.what)));
    assert_eq!(judged.verdict.outcome, Outcome::Failed);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_its_user_data_reboots_boots_again_a_few_times() {
    let mut node = ScriptedNode::new();
    let events = NodeEvents {
        node: stream::iter([isolated(), incoming(5, rebooting())]).boxed(),
        session: stream::pending().boxed(),
    };
    let judged = run(FAILS, &mut node, events).await.unwrap();
    assert_eq!(*node.operations.borrow(), ["boot again"; MOST_REBOOTS]);
    assert_eq!(
        judged.observation.reboots().collect::<Vec<_>>(),
        [1000, 2000, 3000]
    );
    let found = judged.verdict.diagnosis.unwrap();
    assert_eq!(found.cause, Cause::InstanceRebooted);
    assert!(found.because.contains("rebooted 4 times"), "{}", found.because);
}

fn passed(steps: &[Action]) -> JudgedJoin {
    let mut plan = plan("name: x\nlimits: { join_seconds: 10 }\n");
    plan.then = steps
        .iter()
        .map(|action| StepPlan {
            action: *action,
            unit: None,
            without: None,
            instance: plan.instance.clone(),
            expect: action.expected(None),
        })
        .collect();
    JudgedJoin {
        plan,
        observation: Observation::default(),
        verdict: crate::verdict::verdict_without_observation(Outcome::Passed),
    }
}

async fn steps(judged: JudgedJoin, node: &mut ScriptedNode) -> JudgedJoin {
    let folder = tempfile::tempdir().unwrap();
    let evidence = EvidenceFolder::new(folder.path().to_owned());
    let clock = PausedClock::start();
    let clock = &clock;
    run_steps(judged, node, node_events(&[]), &evidence, || clock.now())
        .await
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_step_that_does_not_pass_is_the_last() {
    let mut node = ScriptedNode::new();
    let judged = steps(passed(&[Action::Reboot, Action::DeleteNode]), &mut node).await;
    assert_eq!(*node.operations.borrow(), ["reboot"]);
    assert_eq!(judged.verdict.outcome, Outcome::Failed);
    assert!(
        judged
            .verdict
            .parts
            .iter()
            .any(|part| part.name.contains("reboot")),
        "{:?}",
        judged.verdict.parts
    );
}

#[tokio::test(start_paused = true)]
async fn without_steps_the_verdict_of_the_join_stands() {
    let mut node = ScriptedNode::new();
    let judged = steps(passed(&[]), &mut node).await;
    assert_eq!(judged.verdict.outcome, Outcome::Passed);
    assert_eq!(node.collections.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_runs_user_data_again_reports_that_result() {
    let mut node = ScriptedNode::new();
    let judged = steps(passed(&[Action::RunUserDataAgain]), &mut node).await;
    let user_data = judged
        .observation
        .collected
        .and_then(|collected| collected.user_data);
    assert_eq!(user_data.map(|result| result.output).as_deref(), Some("again"));
}

#[test]
fn only_old_kubelets_with_the_bridge_need_the_pod_cidr() {
    let mut plan = plan("name: x\n");
    plan.cni = Cni::Bridge;
    assert!(pod_cidr_deviation(&plan, "v1.20.2").is_some());
    assert!(pod_cidr_deviation(&plan, "v1.32.1").is_none());
}
