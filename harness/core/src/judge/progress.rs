//! While a join runs: is there anything left to wait for?

use super::certificates::{When, certificates};
use super::{join, node, ownership};
use crate::diagnosis::Cause;
use crate::diagnosis::{Finding, find};
use crate::judge::verdict::Check;
use crate::observation::phase::Phase;
use crate::observation::phases::{KUBELET_SERVING, phases, reached, user_data_done};
use crate::observation::{Millis, Observation, ObservedEvent};
use crate::plan::Plan;

/// Whether a join has come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It has not.
    Waiting {
        /// What it waits for, in words.
        on: String,
    },
    /// Nothing more will change the verdict, or the limit has passed.
    Settled,
}

impl Progress {
    /// Whether the join has come to its end.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        *self == Self::Settled
    }
}

/// How many settling times a known cause must hold before a join that should succeed is given up before its limit.
const PATIENCE: f64 = 10.0;

/// Looks at a join that runs, `now` milliseconds after the start of its node.
#[must_use]
pub fn progress(plan: &Plan, observation: &Observation, now: Millis) -> Progress {
    let limit = millis(plan.limits.join_seconds);
    let exited = observation
        .timeline
        .iter()
        .any(|seen| matches!(seen.what, ObservedEvent::ContainerExited { .. }));
    if exited || now >= limit {
        return Progress::Settled;
    }
    let join = Join::of(plan, observation, now);
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

struct Join<'a> {
    plan: &'a Plan,
    observation: &'a Observation,
    now: Millis,
    reached: Option<Phase>,
    /// When the phase that stands now was reached.
    since: Millis,
    user_data_done: Option<Millis>,
    finding: Option<Finding>,
}

impl<'a> Join<'a> {
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

    fn settle(&self) -> Millis {
        millis(self.plan.limits.settle_seconds)
    }

    /// Whether something that began at `at` has stood for the settling time.
    fn has_stood(&self, at: Millis) -> bool {
        self.now.saturating_sub(at) >= self.settle()
    }

    /// For a scenario that must fail: what is missing until it has failed as it must, or has joined.
    fn until_it_failed(&self) -> Option<String> {
        let wanted = self.plan.expect.phase;
        let cause = self.finding.as_ref().map(|finding| finding.diagnosis.cause);
        if cause != self.plan.expect.diagnosis || wanted.is_some_and(|wanted| self.reached != Some(wanted)) {
            let is_past = self.reached == Some(Phase::Ready)
                || wanted.is_some_and(|wanted| self.reached > Some(wanted));
            return match is_past {
                true => (!self.has_stood(self.since)).then(|| "the node to stay joined".to_owned()),
                false => Some(self.missing_failure(cause)),
            };
        }
        if self.wants_end_of_user_data() {
            return Some("the end of user data".to_owned());
        }
        let found = self.finding.as_ref().map_or(0, |finding| finding.at);
        (!self.has_stood(found.max(self.since))).then(|| "the failure to hold".to_owned())
    }

    /// Whether how user data went is to be checked, and it has not ended.
    fn wants_end_of_user_data(&self) -> bool {
        let is_checked = self.plan.expect.user_data.is_some() && self.plan.user_data.is_some();
        is_checked && self.user_data_done.is_none()
    }

    fn missing_failure(&self, cause: Option<Cause>) -> String {
        let wanted = self.plan.expect.diagnosis.map_or("", Cause::word);
        let cause = cause.map_or("nothing", Cause::word);
        format!(
            "{wanted}: at {}, {cause} so far",
            self.reached.map_or("nothing", Phase::word)
        )
    }

    /// For a scenario that must join: what is missing until everything that can be seen from outside is there.
    fn until_it_succeeded(&self) -> Option<String> {
        let expect = &self.plan.expect;
        if let Some(wanted) = expect.phase.filter(|wanted| self.reached < Some(*wanted)) {
            return Some(format!(
                "{wanted}: at {}",
                self.reached.map_or("nothing", Phase::word)
            ));
        }
        if expect.phase >= Some(Phase::Certified) && !self.is_certified_for_good() {
            return Some("a request for a serving certificate".to_owned());
        }
        let has_none_to_wait_for = self.plan.user_data.is_none() || self.user_data_done.is_some();
        if self.wants_end_of_user_data() || (expect.phase.is_none() && !has_none_to_wait_for) {
            return Some("the end of user data".to_owned());
        }
        if let Some(check) = self.live_checks().into_iter().find(|check| !check.held) {
            return Some(format!("{}: {}", check.key, check.expected));
        }
        let from = self.user_data_done.unwrap_or(0).max(self.since);
        (expect.phase.is_none() && !self.has_stood(from)).then(|| "things to settle".to_owned())
    }

    /// A kubelet may be ready before it asks for its serving certificate. One that never asks has none to wait for.
    fn is_certified_for_good(&self) -> bool {
        let asked = self
            .observation
            .certificates
            .iter()
            .any(|certificate| certificate.signer == KUBELET_SERVING);
        asked || self.has_stood(self.since)
    }

    fn live_checks(&self) -> Vec<Check> {
        let (expect, observation) = (&self.plan.expect, self.observation);
        let mut checks = join::aws(expect, observation);
        checks.extend(join::mappings(self.plan, observation));
        checks.extend(ownership::requests(&expect.audit, observation));
        checks.extend(
            expect
                .authentication
                .iter()
                .flat_map(|wanted| join::authentication(wanted, observation)),
        );
        checks.extend(
            expect
                .certificates
                .iter()
                .flat_map(|wanted| certificates(wanted, observation, When::Live)),
        );
        checks.extend(
            expect
                .node
                .iter()
                .flat_map(|wanted| node::node(wanted, observation)),
        );
        checks
    }

    /// Whether waiting longer cannot help: the cause is final, or has held so long that nothing will mend it.
    fn is_hopeless(&self) -> bool {
        let Some(done) = self.user_data_done else {
            return false;
        };
        let wanted_is_reached = self
            .plan
            .expect
            .phase
            .is_some_and(|wanted| self.reached >= Some(wanted));
        let began = self
            .finding
            .as_ref()
            .map_or(0, |finding| finding.at)
            .max(self.since)
            .max(done);
        if self
            .finding
            .as_ref()
            .is_some_and(|finding| finding.is_final && !wanted_is_reached)
        {
            return self.has_stood(began);
        }
        let known = self
            .finding
            .as_ref()
            .is_none_or(|finding| !finding.diagnosis.cause.may_pass());
        known
            && !self.faults_may_end()
            && !self.rows_may_come(began)
            && self.now.saturating_sub(began) as f64 >= self.settle() as f64 * PATIENCE
    }

    /// A row of aws-auth that comes late mends what it is missing for, given time.
    fn rows_may_come(&self, began: Millis) -> bool {
        let rows = self.plan.cluster.aws_auth.iter();
        let last = rows.filter_map(|row| row.after_seconds).map(millis).max();
        let patience = (self.settle() as f64 * PATIENCE) as Millis;
        last.is_some_and(|last| self.now < last.max(began) + patience)
    }

    /// A fault that ends may be what keeps the node from joining.
    fn faults_may_end(&self) -> bool {
        let steps = self.plan.cluster.status.len() > 1;
        steps
            || self
                .plan
                .faults
                .iter()
                .any(|fault| fault.until_seconds.is_some() || fault.times.is_some())
    }
}

fn millis(seconds: f64) -> Millis {
    // A limit is positive and far below the range of the target: the loader sees to it.
    (seconds * 1000.0) as Millis
}
