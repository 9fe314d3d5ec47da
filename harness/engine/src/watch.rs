//! Waits for a node: takes in events until its plan is settled, and applies delayed rows of aws-auth meanwhile.
//!
//! Everything here works on a stream and a clock, so that its tests need no container and no real time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use futures::{Stream, StreamExt as _};
use nodejoin_core::judge;
use nodejoin_core::observation::Observation;
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::observation::phases::phases;
use nodejoin_core::plan::{ClusterPlan, LateRight, Plan};
use nodejoin_core::run::event::RunEvent;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use crate::events::Events;
use crate::observer::{Incoming, Observer};

/// How often a join is judged while events arrive.
const JUDGE_INTERVAL: Duration = Duration::from_millis(100);
/// How often a join is judged while no event arrives: timeouts and settling times pass without events.
const QUIET_INTERVAL: Duration = Duration::from_millis(500);
/// How many times longer than a judgement the events after it have: a judgement reads everything that was seen, so that
/// a node that writes much would otherwise be read more slowly than it writes.
const TIME_FOR_EVENTS: u32 = 4;

/// Takes in events until the plan is settled or its timeout has passed. Calls `on_look` before each judgement.
pub(crate) async fn watch(
    plan: &Plan,
    mut events: impl Stream<Item = Incoming> + Unpin,
    observer: &mut Observer,
    clock: impl Fn() -> SystemTime,
    mut on_look: impl FnMut(&Observation),
) {
    let mut look = tokio::time::interval(JUDGE_INTERVAL);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // When to judge although nothing arrived.
    let mut quiet_until = Instant::now();
    loop {
        tokio::select! {
            // Unbiased: a node that writes without end must not keep its timeout from being checked.
            Some(event) = events.next() => {
                observer.absorb(event);
                quiet_until = Instant::now();
            }
            _ = look.tick() => {
                let started = Instant::now();
                if started < quiet_until {
                    continue;
                }
                quiet_until = started + QUIET_INTERVAL;
                on_look(&observer.observation);
                let now = observer.now(clock());
                if judge::progress(plan, &observer.observation, now).is_settled() {
                    return;
                }
                look.reset_after(JUDGE_INTERVAL.max(started.elapsed() * TIME_FOR_EVENTS));
            }
        }
    }
}

/// Grants rights that come late, each when its time since `started` has passed.
pub(crate) async fn grant_late_rights<E>(
    cluster: &ClusterPlan,
    started: SystemTime,
    clock: impl Fn() -> SystemTime,
    grant: impl AsyncFn(LateRight<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut late: Vec<(f64, LateRight<'_>)> = cluster.late_rights().collect();
    late.sort_by(|one, next| one.0.total_cmp(&next.0));
    for (after, right) in late {
        let due = started + Duration::from_secs_f64(after);
        tokio::time::sleep(due.duration_since(clock()).unwrap_or_default()).await;
        grant(right).await?;
    }
    Ok(())
}

/// Counts how many nodes of a scenario reached each phase. Reports a phase when the last node has reached it.
pub(crate) struct PhaseProgress {
    events: Events,
    nodes: usize,
    counts: Mutex<BTreeMap<Phase, usize>>,
    /// The number of registered nodes. Sent by [`PhaseProgress::update`]; the restart of the API server waits for it.
    pub(crate) registered: watch::Sender<usize>,
}

impl PhaseProgress {
    pub(crate) fn new(events: Events, nodes: usize) -> Self {
        Self {
            events,
            nodes,
            counts: Mutex::default(),
            registered: watch::Sender::new(0),
        }
    }

    /// Counts the phases that a node reached since the last call; `reached` holds those of earlier calls.
    pub(crate) fn update(&self, plan: &Plan, observation: &Observation, reached: &mut BTreeSet<Phase>) {
        for (phase, at) in phases(observation) {
            if !reached.insert(phase) {
                continue;
            }
            let count = {
                let mut counts = self.counts.lock();
                let count = counts.entry(phase).or_default();
                *count += 1;
                *count
            };
            if phase == Phase::Registered {
                self.registered.send_replace(count);
            }
            if count == self.nodes {
                let scenario = plan.id.clone();
                self.events.send(RunEvent::PhaseReached { scenario, phase, at });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use futures::stream;
    use nodejoin_core::observation::{JournalLine, ObservedEvent};
    use nodejoin_core::plan::{Approval, LateApproval, RoleMapping};
    use tokio::sync::mpsc;
    use tokio_stream::wrappers::UnboundedReceiverStream;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::testing::{EPOCH, PausedClock, after, incoming, line, plan};

    const SUCCEEDS: &str =
        "name: x\nlimits: { join_seconds: 20, settle_seconds: 2 }\nexpect: { phase: kubelet-started }\n";
    const STAYS_SILENT: &str = "name: x\nlimits: { join_seconds: 20, settle_seconds: 2 }\n\
                                expect: { phase: metadata, diagnosis: kubelet-never-started }\n";

    fn observer() -> Observer {
        Observer::new("v1.32.1", "v1.32.1", EPOCH, None)
    }

    fn exited() -> ObservedEvent {
        ObservedEvent::ContainerExited {
            code: 1,
            lines: Vec::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_without_events_ends_at_its_timeout() {
        let (plan, clock, mut observer) = (plan(SUCCEEDS), PausedClock::start(), observer());
        watch(&plan, stream::pending(), &mut observer, || clock.now(), |_| {}).await;
        let elapsed = clock.elapsed();
        assert!(
            (Duration::from_secs(20)..Duration::from_millis(20_200)).contains(&elapsed),
            "{elapsed:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_scaled_plan_has_a_later_timeout() {
        let factor: nodejoin_core::run::time_factor::TimeFactor = "3".parse().unwrap();
        let (plan, clock, mut observer) = (factor.plan(&plan(SUCCEEDS)), PausedClock::start(), observer());
        watch(&plan, stream::pending(), &mut observer, || clock.now(), |_| {}).await;
        assert!(
            clock.elapsed() >= Duration::from_secs(60),
            "{:?}",
            clock.elapsed()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_container_that_exits_settles_the_join_at_once() {
        let (plan, clock, mut observer) = (plan(SUCCEEDS), PausedClock::start(), observer());
        let events = after(Duration::from_secs(5), incoming(5000, exited()));
        watch(&plan, events, &mut observer, || clock.now(), |_| {}).await;
        assert!(clock.elapsed() < Duration::from_secs(6), "{:?}", clock.elapsed());
        assert!(matches!(
            observer.observation.timeline.last().map(|seen| &seen.what),
            Some(ObservedEvent::ContainerExited { code: 1, .. })
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_ends_does_not_end_the_wait() {
        let (plan, clock, mut observer) = (plan(SUCCEEDS), PausedClock::start(), observer());
        watch(&plan, stream::empty(), &mut observer, || clock.now(), |_| {}).await;
        assert!(clock.elapsed() >= Duration::from_secs(20));
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_that_writes_without_end_still_has_a_timeout() {
        let (plan, clock, mut observer) = (plan(SUCCEEDS), PausedClock::start(), observer());
        let endless = stream::repeat_with(|| incoming(1, line("again"))).then(async |event| {
            tokio::time::sleep(Duration::from_millis(7)).await;
            event
        });
        watch(&plan, Box::pin(endless), &mut observer, || clock.now(), |_| {}).await;
        assert!(clock.elapsed() < Duration::from_secs(22), "{:?}", clock.elapsed());
        assert!(observer.observation.timeline.len() > 1000);
    }

    #[tokio::test(start_paused = true)]
    async fn lines_that_arrive_while_a_failure_settles_are_part_of_the_observation() {
        let (plan, clock, mut observer) = (plan(STAYS_SILENT), PausedClock::start(), observer());
        let late = incoming(1500, line("a late line"));
        let events = after(Duration::from_millis(1500), late);
        watch(&plan, events, &mut observer, || clock.now(), |_| {}).await;
        let is_late = |what: &ObservedEvent| matches!(what, ObservedEvent::Journal(JournalLine { message, .. }) if message == "a late line");
        assert!(
            observer
                .observation
                .timeline
                .iter()
                .any(|seen| is_late(&seen.what))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn lines_after_the_end_are_not_taken_in() {
        let (plan, clock, mut observer) = (plan(SUCCEEDS), PausedClock::start(), observer());
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut events = UnboundedReceiverStream::new(receiver);
        sender.send(incoming(10, exited())).unwrap();
        watch(&plan, &mut events, &mut observer, || clock.now(), |_| {}).await;
        let seen = observer.observation.timeline.len();
        sender.send(incoming(11, line("too late"))).unwrap();
        assert_eq!(observer.observation.timeline.len(), seen);
        assert!(events.next().await.is_some(), "the line stays in the stream");
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_wait_keeps_what_it_took_in() {
        let (plan, clock, mut observer) = (plan(SUCCEEDS), PausedClock::start(), observer());
        let cancel = CancellationToken::new();
        let events = stream::iter([incoming(1, line("hello"))]).chain(stream::pending());
        let stop = async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            cancel.cancel();
        };
        tokio::select! {
            () = watch(&plan, Box::pin(events), &mut observer, || clock.now(), |_| {}) => panic!("settled"),
            () = cancel.cancelled() => {}
            () = async { stop.await; std::future::pending::<()>().await } => {}
        }
        assert_eq!(clock.elapsed(), Duration::from_secs(3));
        assert_eq!(observer.observation.timeline.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn every_judgement_is_announced() {
        let (plan, clock, mut observer) = (plan(SUCCEEDS), PausedClock::start(), observer());
        let mut looks = 0;
        watch(
            &plan,
            stream::pending(),
            &mut observer,
            || clock.now(),
            |_| looks += 1,
        )
        .await;
        assert!((40..=42).contains(&looks), "{looks}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_that_writes_is_judged_more_often_than_a_silent_one() {
        let (plan, clock, mut observer) = (plan(SUCCEEDS), PausedClock::start(), observer());
        // Several between two judgements: which of an event and a judgement at the same time comes first is random.
        let writes = stream::repeat_with(|| incoming(1, line("again"))).then(async |event| {
            tokio::time::sleep(Duration::from_millis(30)).await;
            event
        });
        let mut looks = 0;
        watch(
            &plan,
            Box::pin(writes),
            &mut observer,
            || clock.now(),
            |_| looks += 1,
        )
        .await;
        assert!((198..=202).contains(&looks), "{looks}");
    }

    fn row(name: &str, after: Option<f64>) -> RoleMapping {
        RoleMapping {
            rolearn: format!("arn:aws:iam::111122223333:role/{name}"),
            username: "u".to_owned(),
            groups: Vec::new(),
            added_by: Default::default(),
            after_seconds: after,
        }
    }

    fn cluster(rows: &[RoleMapping]) -> ClusterPlan {
        let mut cluster = plan(SUCCEEDS).cluster;
        cluster.aws_auth = rows.to_vec();
        cluster
    }

    #[tokio::test(start_paused = true)]
    async fn late_rights_are_granted_in_the_order_of_their_times() {
        let clock = PausedClock::start();
        let mut cluster = cluster(&[
            row("c", Some(9.0)),
            row("now", None),
            row("a", Some(1.5)),
            row("b", Some(1.5)),
        ]);
        cluster.approve_serving = Approval::Late(LateApproval { after_seconds: 2.0 });
        cluster.approve_clients = Approval::Late(LateApproval { after_seconds: 0.5 });
        let granted = RefCell::new(Vec::new());
        let grant = async |right: LateRight<'_>| -> Result<(), ()> {
            let name = match right {
                LateRight::Row(row) => row.rolearn.rsplit('/').next().unwrap_or_default(),
                LateRight::Serving => "serving",
                LateRight::Clients => "clients",
            };
            granted
                .borrow_mut()
                .push((name.to_owned(), clock.elapsed().as_millis()));
            Ok(())
        };
        let result = grant_late_rights(&cluster, EPOCH, || clock.now(), grant).await;
        assert_eq!(result, Ok(()));
        let expected = [
            ("clients", 500),
            ("a", 1500),
            ("b", 1500),
            ("serving", 2000),
            ("c", 9000),
        ];
        assert_eq!(
            *granted.borrow(),
            expected.map(|(name, at)| (name.to_owned(), at))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_right_that_is_refused_ends_the_late_rights_with_its_error() {
        let clock = PausedClock::start();
        let cluster = cluster(&[row("a", Some(1.0)), row("b", Some(2.0))]);
        let refuse = async |_: LateRight<'_>| Err("refused");
        let result = grant_late_rights(&cluster, EPOCH, || clock.now(), refuse).await;
        assert_eq!(result, Err("refused"));
        assert_eq!(clock.elapsed(), Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_right_whose_time_has_passed_is_granted_at_once() {
        let clock = PausedClock::start();
        tokio::time::advance(Duration::from_secs(30)).await;
        let cluster = cluster(&[row("a", Some(1.0))]);
        let accept = async |_: LateRight<'_>| Ok::<(), ()>(());
        let result = grant_late_rights(&cluster, EPOCH, || clock.now(), accept).await;
        assert_eq!(result, Ok(()));
        assert_eq!(clock.elapsed(), Duration::from_secs(30));
    }

    fn booted() -> Observation {
        let mut observer = observer();
        observer.absorb(incoming(700, ObservedEvent::Isolated));
        observer.absorb(incoming(800, line("systemd started")));
        observer.observation
    }

    #[test]
    fn a_phase_is_reported_once_when_the_last_node_has_reached_it() {
        let plan = plan(SUCCEEDS);
        let (events, mut stream) = Events::stream();
        let progress = PhaseProgress::new(events, 2);
        let observation = booted();
        let expected = phases(&observation).len();
        assert!(expected > 0, "the sample reaches a phase");
        let (mut first, mut second) = (BTreeSet::new(), BTreeSet::new());
        progress.update(&plan, &observation, &mut first);
        progress.update(&plan, &observation, &mut first);
        assert!(stream.try_recv().is_err(), "one of two nodes is not all");
        progress.update(&plan, &observation, &mut second);
        let mut reported = 0;
        while let Ok(event) = stream.try_recv() {
            assert!(matches!(event, RunEvent::PhaseReached { .. }));
            reported += 1;
        }
        assert_eq!(reported, expected);
        assert_eq!(*progress.registered.borrow(), 0);
    }
}
