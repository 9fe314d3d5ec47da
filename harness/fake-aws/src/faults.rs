//! Matches requests against faults and counts.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use nodejoin_core::observation::CalledService;
use nodejoin_core::plan::answer::path_matches;
use nodejoin_core::plan::fault::{Effect, Fault, Refusal, Service};
use parking_lot::Mutex;

const SECOND: Duration = Duration::from_secs(1);

/// The faults of an instance and their counts.
#[derive(Debug)]
pub(crate) struct Faults {
    rules: Vec<ActiveFault>,
    rates: Rates,
}

/// Times of the requests that `above_per_second` admitted in the last second, by the fault's index. Clones share them:
/// AWS counts the requests of an account, from all instances together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rates(Arc<Mutex<BTreeMap<usize, VecDeque<SystemTime>>>>);

impl Rates {
    /// Admits a request while fewer than `limit` were admitted in the last second.
    fn admits(&self, index: usize, limit: u32, at: SystemTime) -> bool {
        let mut all = self.0.lock();
        let passed = all.entry(index).or_default();
        let is_past = |time: &SystemTime| at.duration_since(*time).is_ok_and(|ago| ago >= SECOND);
        while passed.front().is_some_and(is_past) {
            passed.pop_front();
        }
        let is_admitted = u32::try_from(passed.len()).is_ok_and(|count| count < limit);
        if is_admitted {
            passed.push_back(at);
        }
        is_admitted
    }
}

#[derive(Debug)]
struct ActiveFault {
    fault: Fault,
    /// Requests that matched, including those before `after`.
    matched: u32,
    fired: u32,
    /// Connections that rules in the node refused; part of `fired`.
    refused: u32,
}

/// The properties of a request that faults match on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestSummary<'a> {
    pub service: CalledService,
    /// Operation, as the transcript shows it.
    pub operation: &'a str,
    /// Path, without the query.
    pub path: &'a str,
    /// Seconds since the start of the node.
    pub seconds: f64,
    pub at: SystemTime,
    /// Whether the request opened its connection, which the node's rules did not refuse then.
    pub opened: bool,
}

/// A fault that fired for a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FiredFault {
    /// Index in the plan.
    pub(crate) index: usize,
    pub(crate) effect: Effect,
}

impl Faults {
    #[must_use]
    pub(crate) fn new(faults: &[Fault], rates: Rates) -> Self {
        Self {
            rates,
            rules: faults
                .iter()
                .map(|fault| ActiveFault {
                    fault: fault.clone(),
                    matched: 0,
                    fired: 0,
                    refused: 0,
                })
                .collect(),
        }
    }

    /// Replaces the faults. A fault that was there before keeps its count.
    pub(crate) fn replace(&mut self, faults: &[Fault]) {
        let mut old = std::mem::take(&mut self.rules);
        let mut rules = Self::new(faults, Rates::default()).rules;
        for rule in &mut rules {
            if let Some(index) = old.iter().position(|old| old.fault == rule.fault) {
                *rule = old.swap_remove(index);
            }
        }
        self.rules = rules;
    }

    /// Drops a fault with its count: the same fault starts from zero when it is added again.
    pub(crate) fn forget(&mut self, fault: &Fault) {
        self.rules.retain(|rule| rule.fault != *fault);
    }

    /// Fires the first fault that is due for this request.
    pub(crate) fn fire(&mut self, request: RequestSummary<'_>) -> Option<FiredFault> {
        let rates = &self.rates;
        let admits = |index: usize, rule: &ActiveFault| {
            let limit = rule.fault.above_per_second;
            limit.is_some_and(|limit| rates.admits(index, limit, request.at))
        };
        self.rules.iter_mut().enumerate().find_map(|(index, rule)| {
            if !rule.matches(request) || admits(index, rule) {
                return None;
            }
            rule.fire().map(|effect| FiredFault { index, effect })
        })
    }

    /// Counts the connections to a service that the node's rules have refused so far, `total` since its start. Returns
    /// the fault that refused them, and how many of them are new.
    pub(crate) fn refused(&mut self, service: Service, total: u32) -> Option<(usize, u32)> {
        let mut rules = self.rules.iter_mut().enumerate();
        let is_it = |rule: &ActiveFault| rule.fault.service == service && rule.fault.refusal().is_some();
        let (index, rule) = rules.find(|(_, rule)| is_it(rule))?;
        let new = total.saturating_sub(rule.refused);
        rule.refused += new;
        rule.fired += new;
        Some((index, new))
    }

    /// How often each fault fired, by its index in the plan.
    #[must_use]
    pub(crate) fn fired(&self) -> BTreeMap<usize, u32> {
        self.rules.iter().map(|rule| rule.fired).enumerate().collect()
    }
}

impl ActiveFault {
    /// Counts a request that matches; returns the effect if the fault is due.
    fn fire(&mut self) -> Option<Effect> {
        self.matched = self.matched.saturating_add(1);
        let due = self.matched > self.fault.after && self.fault.times.is_none_or(|times| self.fired < times);
        due.then(|| {
            self.fired += 1;
            self.fault.effect.clone()
        })
    }

    fn matches(&self, request: RequestSummary<'_>) -> bool {
        let fault = &self.fault;
        let is_of_request = match fault.refusal() {
            Some(Refusal::Timed { .. }) => !request.opened,
            Some(Refusal::Counted { .. }) => false,
            None => true,
        };
        is_of_request
            && request.service == fault.service
            && fault
                .operation
                .as_deref()
                .is_none_or(|operation| operation == request.operation)
            && fault
                .path
                .as_deref()
                .is_none_or(|pattern| path_matches(pattern, request.path))
            && fault.from_seconds.is_none_or(|from| request.seconds >= from)
            && fault.until_seconds.is_none_or(|until| request.seconds < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault() -> Fault {
        crate::testing::fault(Service::Eks)
    }

    fn eks(seconds: f64) -> RequestSummary<'static> {
        RequestSummary {
            service: Service::Eks.into(),
            operation: "DescribeCluster",
            path: "/clusters/demo",
            seconds,
            at: SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds),
            opened: true,
        }
    }

    #[test]
    fn a_fault_matches_its_conditions() {
        let other = |f: fn(&mut Fault)| {
            let mut changed = fault();
            f(&mut changed);
            changed
        };
        let table = [
            (fault(), true),
            (other(|f| f.service = Service::Ec2), false),
            (other(|f| f.operation = Some("DescribeCluster".into())), true),
            (other(|f| f.operation = Some("ListClusters".into())), false),
            (other(|f| f.path = Some("/clusters/*".into())), true),
            (other(|f| f.path = Some("/clusters/other".into())), false),
            (other(|f| f.from_seconds = Some(4.0)), true),
            (other(|f| f.from_seconds = Some(4.1)), false),
            (other(|f| f.until_seconds = Some(5.0)), true),
            (other(|f| f.until_seconds = Some(4.0)), false),
        ];
        for (fault, expected) in table {
            assert_eq!(
                Faults::new(std::slice::from_ref(&fault), Rates::default())
                    .fire(eks(4.0))
                    .is_some(),
                expected,
                "{fault:?}"
            );
        }
    }

    #[test]
    fn an_unchanged_fault_keeps_its_count() {
        let twice = Fault {
            times: Some(2),
            ..fault()
        };
        let mut faults = Faults::new(std::slice::from_ref(&twice), Rates::default());
        faults.fire(eks(0.0));
        let new = Fault {
            operation: Some("ListClusters".into()),
            ..fault()
        };
        faults.replace(&[new, twice]);
        assert_eq!(faults.fired(), BTreeMap::from([(0, 0), (1, 1)]));
        assert!(faults.fire(eks(0.0)).is_some() && faults.fire(eks(0.0)).is_none());
        let again = Fault {
            times: Some(2),
            ..fault()
        };
        faults.forget(&again);
        faults.replace(&[again]);
        assert_eq!(faults.fired(), BTreeMap::from([(0, 0)]));
    }

    #[test]
    fn after_and_times_count_before_the_next_fault_fires() {
        let first = Fault {
            after: 1,
            times: Some(2),
            ..fault()
        };
        let second = Fault {
            effect: Effect::DelayMs(1),
            ..fault()
        };
        let mut faults = Faults::new(&[first, second], Rates::default());
        let fired: Vec<usize> = (0..5)
            .filter_map(|_| faults.fire(eks(0.0)))
            .map(|fired| fired.index)
            .collect();
        assert_eq!(fired, [1, 0, 0, 1, 1]);
        assert_eq!(faults.fired(), BTreeMap::from([(0, 2), (1, 3)]));
    }

    #[test]
    fn refusals_are_counted_by_connections() {
        let refused = |times| Fault {
            effect: Effect::Refuse,
            times,
            ..fault()
        };
        let reused = RequestSummary {
            opened: false,
            ..eks(1.0)
        };
        let mut faults = Faults::new(&[refused(None)], Rates::default());
        assert_eq!(faults.fire(eks(1.0)), None, "the node's rules let it pass");
        assert!(faults.fire(reused).is_some(), "the connection was open before");
        assert_eq!(faults.refused(Service::Eks, 2), Some((0, 2)));
        assert_eq!(faults.refused(Service::Eks, 2), Some((0, 0)));
        assert_eq!(faults.refused(Service::Eks, 5), Some((0, 3)));
        assert_eq!(faults.refused(Service::Sts, 1), None);
        assert_eq!(faults.fired(), BTreeMap::from([(0, 6)]));
        let mut faults = Faults::new(&[refused(Some(2))], Rates::default());
        assert_eq!(faults.fire(reused), None, "a count is one of new connections");
    }

    #[test]
    fn a_rate_limit_counts_requests_of_all_nodes() {
        let limit = Fault {
            above_per_second: Some(2),
            effect: Effect::Throttle,
            ..fault()
        };
        let rates = Rates::default();
        let mut nodes = [0, 1].map(|_| Faults::new(std::slice::from_ref(&limit), rates.clone()));
        let times = [0.0, 0.1, 0.2, 0.9, 1.0, 1.05, 1.2, 2.1];
        let fired = times
            .iter()
            .enumerate()
            .map(|(index, at)| nodes[index % 2].fire(eks(*at)).is_some());
        let fired: Vec<bool> = fired.collect();
        assert_eq!(fired, [false, false, true, true, false, true, false, false]);
        assert_eq!(nodes[0].fired()[&0] + nodes[1].fired()[&0], 3);
    }
}
