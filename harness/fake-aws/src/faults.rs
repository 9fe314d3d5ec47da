//! Faults as data: which request meets which fault, counted.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use nodejoin_core::plan::fault::{Effect, Fault, Service};

/// The faults of a scenario and how far each has got.
#[derive(Debug)]
pub struct Faults {
    rules: Vec<Rule>,
    rates: Rates,
}

/// When requests were let pass that a fault allows so many a second of, by its place. Clones share it: AWS counts the requests of
/// an account, whichever instance they come from.
#[derive(Debug, Clone, Default)]
pub struct Rates(Arc<Mutex<BTreeMap<usize, VecDeque<SystemTime>>>>);

impl Rates {
    /// Whether a request is one of those that are let pass: so many in any second.
    fn admits(&self, place: usize, most: u32, at: SystemTime) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = all.entry(place).or_default();
        let is_past = |time: &SystemTime| at.duration_since(*time).is_ok_and(|ago| ago >= SECOND);
        while passed.front().is_some_and(is_past) {
            passed.pop_front();
        }
        let is_admitted = u32::try_from(passed.len()).is_ok_and(|count| count < most);
        if is_admitted {
            passed.push_back(at);
        }
        is_admitted
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Rule {
    fault: Fault,
    /// Requests that matched, the ones let pass included.
    matched: u32,
    fired: u32,
}

/// What a fault is matched against.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Service.
    pub service: Service,
    /// Operation, as the transcript has it.
    pub operation: &'a str,
    /// Path, without the query.
    pub path: &'a str,
    /// Seconds since the node's start.
    pub seconds: f64,
    /// When it came.
    pub at: SystemTime,
}

impl Faults {
    /// No fault has fired yet.
    #[must_use]
    pub fn new(faults: &[Fault], rates: Rates) -> Self {
        Self {
            rates,
            rules: faults
                .iter()
                .map(|fault| Rule {
                    fault: fault.clone(),
                    matched: 0,
                    fired: 0,
                })
                .collect(),
        }
    }

    /// Takes other faults in. One that was there already keeps its count.
    pub fn renew(&mut self, faults: &[Fault]) {
        let mut old = std::mem::take(&mut self.rules);
        let mut rules = Self::new(faults, Rates::default()).rules;
        for rule in &mut rules {
            if let Some(place) = old.iter().position(|old| old.fault == rule.fault) {
                *rule = old.swap_remove(place);
            }
        }
        self.rules = rules;
    }

    /// Forgets how far a fault got: the same one begins anew when it is taken in again.
    pub fn forget(&mut self, fault: &Fault) {
        self.rules.retain(|rule| rule.fault != *fault);
    }

    /// The fault that meets this request, by its place in the plan. Only one does: the first that is due.
    pub fn meet(&mut self, asked: Asked<'_>) -> Option<(usize, Effect)> {
        let rates = &self.rates;
        let admits = |place: usize, rule: &Rule| {
            let most = rule.fault.above_per_second;
            most.is_some_and(|most| rates.admits(place, most, asked.at))
        };
        self.rules.iter_mut().enumerate().find_map(|(place, rule)| {
            if !rule.matches(asked) || admits(place, rule) {
                return None;
            }
            rule.meet().map(|effect| (place, effect))
        })
    }

    /// How often each fault fired, by its place in the plan.
    #[must_use]
    pub fn fired(&self) -> BTreeMap<usize, u32> {
        self.rules.iter().map(|rule| rule.fired).enumerate().collect()
    }
}

impl Rule {
    /// For a request that matches.
    fn meet(&mut self) -> Option<Effect> {
        self.matched = self.matched.saturating_add(1);
        let due = self.matched > self.fault.after && self.fault.times.is_none_or(|times| self.fired < times);
        due.then(|| {
            self.fired += 1;
            self.fault.effect.clone()
        })
    }

    fn matches(&self, asked: Asked<'_>) -> bool {
        let fault = &self.fault;
        fault.service == asked.service
            && fault
                .operation
                .as_deref()
                .is_none_or(|operation| operation == asked.operation)
            && fault
                .path
                .as_deref()
                .is_none_or(|pattern| path_matches(pattern, asked.path))
            && fault.from_seconds.is_none_or(|from| asked.seconds >= from)
            && fault.until_seconds.is_none_or(|until| asked.seconds < until)
    }
}

fn path_matches(pattern: &str, path: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => path.starts_with(prefix),
        None => path == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault() -> Fault {
        Fault {
            service: Service::Eks,
            operation: None,
            path: None,
            after: 0,
            times: None,
            from_seconds: None,
            until_seconds: None,
            effect: Effect::Refuse,
            may_fire: false,
            above_per_second: None,
        }
    }

    fn eks(seconds: f64) -> Asked<'static> {
        Asked {
            service: Service::Eks,
            operation: "DescribeCluster",
            path: "/clusters/demo",
            seconds,
            at: SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds),
        }
    }

    #[test]
    fn a_fault_meets_what_it_says() {
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
                    .meet(eks(4.0))
                    .is_some(),
                expected,
                "{fault:?}"
            );
        }
    }

    #[test]
    fn a_fault_that_stays_keeps_its_count() {
        let twice = Fault {
            times: Some(2),
            ..fault()
        };
        let mut faults = Faults::new(std::slice::from_ref(&twice), Rates::default());
        faults.meet(eks(0.0));
        let new = Fault {
            operation: Some("ListClusters".into()),
            ..fault()
        };
        faults.renew(&[new, twice]);
        assert_eq!(faults.fired(), BTreeMap::from([(0, 0), (1, 1)]));
        assert!(faults.meet(eks(0.0)).is_some() && faults.meet(eks(0.0)).is_none());
        let again = Fault {
            times: Some(2),
            ..fault()
        };
        faults.forget(&again);
        faults.renew(&[again]);
        assert_eq!(faults.fired(), BTreeMap::from([(0, 0)]));
    }

    #[test]
    fn after_and_times_count_and_the_next_fault_gets_its_turn() {
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
        let met: Vec<usize> = (0..5)
            .filter_map(|_| faults.meet(eks(0.0)))
            .map(|(place, _)| place)
            .collect();
        assert_eq!(met, [1, 0, 0, 1, 1]);
        assert_eq!(faults.fired(), BTreeMap::from([(0, 2), (1, 3)]));
    }

    #[test]
    fn so_many_a_second_pass_whichever_node_asks() {
        let limit = Fault {
            above_per_second: Some(2),
            effect: Effect::Throttle,
            ..fault()
        };
        let rates = Rates::default();
        let mut nodes = [0, 1].map(|_| Faults::new(std::slice::from_ref(&limit), rates.clone()));
        let times = [0.0, 0.1, 0.2, 0.9, 1.0, 1.05, 1.2, 2.1];
        let met = times
            .iter()
            .enumerate()
            .map(|(index, at)| nodes[index % 2].meet(eks(*at)).is_some());
        let met: Vec<bool> = met.collect();
        assert_eq!(met, [false, false, true, true, false, true, false, false]);
        assert_eq!(nodes[0].fired()[&0] + nodes[1].fired()[&0], 3);
    }
}
