//! Decides while a join runs whether to keep waiting.

use super::checks::{Join, live_checks};
use super::lost::is_lost;
use super::probe;
use super::progress::{Progress, millis};
use crate::diagnosis::{Cause, Finding, find};
use crate::observation::phases::{KUBELET_SERVING, is_of_kubelet, phases, reached, user_data_done};
use crate::observation::{Millis, Observation, ObservedEvent};
use crate::plan::Plan;
use crate::vocabulary::phase::Phase;

/// A join that should succeed ends before its timeout once a known cause has lasted for this many settle times.
const SETTLE_TIMES_BEFORE_GIVING_UP: f64 = 10.0;

/// How long a trial waits for user data that continues after the join, in milliseconds: it may still break the node,
/// and no expectation of a trial is about its end.
const USER_DATA_OF_TRIAL: Millis = 60_000;

/// Evaluates a running join, `now` milliseconds after the start of its node.
#[must_use]
pub fn progress(plan: &Plan, observation: &Observation, now: Millis) -> Progress {
    let timeout = millis(plan.limits.join_seconds);
    let is_full = observation.has_journal_lines(plan.limits.journal_lines);
    if observation.exit().is_some() || now >= timeout || is_full {
        return Progress::Settled;
    }
    if plan.is_probe {
        return probe::progress(plan, observation, now);
    }
    let join = RunningJoin::of(plan, observation, now);
    let waiting = if plan.expect.diagnosis.is_some() {
        join.until_it_failed()
    } else {
        join.until_it_succeeded()
    };
    match waiting {
        Some(on) if !join.is_hopeless() => Progress::Waiting { on },
        _ => Progress::Settled,
    }
}

struct RunningJoin<'a> {
    plan: &'a Plan,
    observation: &'a Observation,
    now: Millis,
    reached: Option<Phase>,
    /// When the current phase was reached.
    since: Millis,
    user_data_done: Option<Millis>,
    finding: Option<Finding>,
}

impl<'a> RunningJoin<'a> {
    fn of(plan: &'a Plan, observation: &'a Observation, now: Millis) -> Self {
        let phases = phases(observation);
        let reached = reached(&phases, observation);
        let since = reached.and_then(|phase| phases.get(&phase)).copied().unwrap_or(0);
        let user_data_done = user_data_done(observation);
        Self {
            plan,
            observation,
            now,
            reached,
            since,
            user_data_done,
            finding: find(plan, observation),
        }
    }

    fn join(&self) -> Join<'a> {
        Join {
            plan: self.plan,
            observation: self.observation,
        }
    }

    fn settle(&self) -> Millis {
        millis(self.plan.limits.settle_seconds)
    }

    /// Whether a state that began at `at` has lasted for the settle time.
    fn has_settled(&self, at: Millis) -> bool {
        self.now.saturating_sub(at) >= self.settle()
    }

    /// For a scenario that must fail: what is missing until it failed as expected, or joined.
    fn until_it_failed(&self) -> Option<String> {
        let required = self.plan.expect.phase;
        let cause = self.finding.as_ref().map(|finding| finding.diagnosis.cause);
        if cause != self.plan.expect.diagnosis
            || required.is_some_and(|required| self.reached != Some(required))
        {
            let is_past = self.reached == Some(Phase::Ready)
                || required.is_some_and(|required| self.reached > Some(required));
            let can_be_lost = self.plan.expect.diagnosis.is_some_and(Cause::is_after_ready);
            if can_be_lost && self.is_user_data_running() {
                return Some("the end of user data".to_owned());
            }
            // What the user data changes last shows after its end.
            let changed = self.last_change().filter(|_| can_be_lost);
            let since = self.since.max(changed.unwrap_or(0));
            return match is_past {
                true => (!self.has_settled(since)).then(|| "the node to stay ready".to_owned()),
                false => Some(self.missing_failure(cause)),
            };
        }
        if self.wants_end_of_user_data() {
            return Some("the end of user data".to_owned());
        }
        let found = self.finding.as_ref().map_or(0, |finding| finding.at);
        let began = found.max(self.since);
        // What runs beside the failed part is not ordered with it. User data that hangs does not hold up the verdict.
        if self.wants_state_of_machine() && self.is_user_data_running() && !self.has_given_up(began) {
            return Some("the end of user data".to_owned());
        }
        (!self.has_settled(began)).then(|| "the failure to last".to_owned())
    }

    /// Whether the scenario checks files or units, which user data that is still running may write or start.
    fn wants_state_of_machine(&self) -> bool {
        let mut all = self.plan.expect.with_alternatives();
        all.any(|expect| {
            !expect.files.is_empty() || !expect.units.is_empty() || expect.units_enabled.is_some()
        })
    }

    /// Whether the scenario checks the result of user data that is still running.
    fn wants_end_of_user_data(&self) -> bool {
        let mut all = self.plan.expect.with_alternatives();
        all.any(|expect| expect.user_data.is_some()) && self.is_user_data_running()
    }

    fn is_user_data_running(&self) -> bool {
        self.plan.user_data.is_some() && self.user_data_done.is_none()
    }

    fn missing_failure(&self, cause: Option<Cause>) -> String {
        let required = self.plan.expect.diagnosis.map_or("", Cause::word);
        let cause = cause.map_or("nothing", Cause::word);
        format!(
            "{required}: at {}, {cause} so far",
            self.reached.map_or("nothing", Phase::word)
        )
    }

    /// For a scenario that must join: what is missing until every check that does not need the node holds.
    fn until_it_succeeded(&self) -> Option<String> {
        let expect = &self.plan.expect;
        if let Some(required) = expect.phase.filter(|required| self.reached < Some(*required)) {
            return Some(format!(
                "{required}: at {}",
                self.reached.map_or("nothing", Phase::word)
            ));
        }
        if expect.phase >= Some(Phase::Certified) && !self.is_certified_if_requested() {
            return Some("a request for a serving certificate".to_owned());
        }
        let has_none_to_wait_for = self.plan.user_data.is_none() || self.user_data_done.is_some();
        if self.wants_end_of_user_data() || (expect.phase.is_none() && !has_none_to_wait_for) {
            return Some("the end of user data".to_owned());
        }
        let continues = self.now.saturating_sub(self.since);
        let waits = match self.plan.is_trial {
            true => self.settle().max(USER_DATA_OF_TRIAL),
            false => self.settle(),
        };
        if !has_none_to_wait_for && continues < waits {
            return Some("the end of user data".to_owned());
        }
        if let Some(on) = self.until_it_stays_ready() {
            return Some(on);
        }
        if let Some(check) = live_checks(self.join()).into_iter().find(|check| !check.held) {
            return Some(format!("{}: {}", check.key, check.expected));
        }
        let from = self.user_data_done.unwrap_or(0).max(self.since);
        // Without the authenticator, the node has to stay in its phase with the credentials that it has.
        let has_to_last = expect.phase.is_none() || self.plan.cluster.authenticator_until.is_some();
        (has_to_last && !self.has_settled(from)).then(|| "the settle time".to_owned())
    }

    /// A node that was ready can be lost: a new kubelet fails, or the user data continues and breaks it.
    fn until_it_stays_ready(&self) -> Option<String> {
        if self.reached != Some(Phase::Ready) {
            return None;
        }
        if let Some(lost) = self.lost() {
            return (!self.has_given_up(lost.at)).then(|| "the node to be ready again".to_owned());
        }
        let changed = self.last_change().filter(|at| *at > self.since)?;
        (!self.has_settled(changed)).then(|| "the node to stay ready".to_owned())
    }

    fn lost(&self) -> Option<&Finding> {
        let found = self.finding.as_ref();
        found.filter(|finding| finding.diagnosis.cause == Cause::NodeLost)
    }

    /// The last time that systemd reported about the kubelet, or the end of user data.
    fn last_change(&self) -> Option<Millis> {
        self.last_change_of_kubelet().max(self.user_data_done)
    }

    fn last_change_of_kubelet(&self) -> Option<Millis> {
        self.systemd_of_kubelet().next().map(|(at, _)| at)
    }

    /// A kubelet can be ready before it requests its serving certificate. One that never requests it has none to wait
    /// for.
    fn is_certified_if_requested(&self) -> bool {
        let requested = self
            .observation
            .certificates
            .iter()
            .any(|certificate| certificate.signer == KUBELET_SERVING);
        requested || self.has_settled(self.since)
    }

    /// Whether waiting longer cannot help: the cause is final, nothing can start a kubelet any more, or the state has
    /// lasted so long that the join will not recover.
    fn is_hopeless(&self) -> bool {
        let Some(done) = self.user_data_done else {
            // User data that waits for a container runtime does not end by itself.
            return self.finding.as_ref().is_some_and(|found| {
                found.diagnosis.cause == Cause::ContainerRuntimeFails
                    && !self.has_temporary_faults(found.at)
                    && self.has_settled(found.at)
            });
        };
        let expect = &self.plan.expect;
        let has_expected_phase = expect.diagnosis.is_none()
            && self.lost().is_none()
            && expect
                .phase
                .is_some_and(|required| self.reached >= Some(required));
        if has_expected_phase && is_lost(self.join()) {
            return true;
        }
        let found = self.finding.as_ref();
        let began = found.map_or(0, |finding| finding.at).max(self.since).max(done);
        if found.is_some_and(|finding| finding.is_final && !has_expected_phase) {
            return self.has_settled(began);
        }
        if let Some(ended) = self.without_kubelet_since().filter(|_| !has_expected_phase) {
            return self.has_settled(done.max(self.last_call()).max(ended));
        }
        let known = found.is_none_or(|finding| !finding.diagnosis.cause.may_pass());
        known
            && (has_expected_phase || !self.has_temporary_faults(began))
            && !self.has_late_rights(began)
            && self.has_given_up(began)
    }

    /// Whether the harness gives up on a state that began at `at`.
    fn has_given_up(&self, at: Millis) -> bool {
        self.now.saturating_sub(at) as f64 >= self.settle() as f64 * SETTLE_TIMES_BEFORE_GIVING_UP
    }

    /// Since when no kubelet runs and systemd does not start one: it never did, or it stopped for good.
    fn without_kubelet_since(&self) -> Option<Millis> {
        const STARTS: [&str; 3] = ["Starting ", "Started ", "Scheduled restart job"];
        const ENDS: [&str; 3] = [
            "Stopped ",
            "Deactivated successfully",
            "Start request repeated too quickly",
        ];
        let last = self.systemd_of_kubelet().find_map(|(at, message)| {
            let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
            (has(&STARTS) || has(&ENDS)).then(|| has(&ENDS).then_some(at))
        });
        last.unwrap_or((self.reached < Some(Phase::Configured)).then_some(0))
    }

    /// Lines of systemd about the kubelet, the last one first.
    fn systemd_of_kubelet(&self) -> impl Iterator<Item = (Millis, &'a str)> {
        let timeline = self.observation.timeline.iter().rev();
        timeline.filter_map(|seen| match &seen.what {
            ObservedEvent::Journal(line) if line.by_systemd && is_of_kubelet(line) => {
                Some((seen.at, line.message.as_str()))
            }
            _ => None,
        })
    }

    /// The time of the last request to AWS: a process that the script left behind sends requests.
    fn last_call(&self) -> Millis {
        let calls = self.observation.timeline.iter().rev();
        let mut calls = calls.filter(|seen| matches!(seen.what, ObservedEvent::Aws(_)));
        calls.next().map_or(0, |seen| seen.at)
    }

    /// Whether a right that is granted late can still let the node join.
    fn has_late_rights(&self, began: Millis) -> bool {
        let last = self.plan.cluster.late_rights().map(|(at, _)| millis(at)).max();
        last.is_some_and(|last| !self.has_given_up(last.max(began)))
    }

    /// Whether the end of a fault, or the next status of the cluster, can still let the node join.
    fn has_temporary_faults(&self, began: Millis) -> bool {
        let steps = self
            .plan
            .cluster
            .status
            .iter()
            .filter_map(|step| step.until_seconds);
        let faults = self.plan.faults.iter().enumerate();
        let ends = faults.filter_map(|(index, fault)| match (fault.until_seconds, fault.times) {
            (Some(until), _) => Some(millis(until)),
            (None, Some(_)) => self.last_fault(index),
            (None, None) => None,
        });
        let last = ends.chain(steps.map(millis)).max();
        last.is_some_and(|last| !self.has_given_up(last.max(began)))
    }

    /// When a fault fired last.
    fn last_fault(&self, index: usize) -> Option<Millis> {
        let mut seen = self.observation.timeline.iter().rev();
        let is_it =
            |what: &ObservedEvent| matches!(what, ObservedEvent::Aws(call) if call.fault == Some(index));
        seen.find(|seen| is_it(&seen.what)).map(|seen| seen.at)
    }
}
