//! Faults as data: which request meets which fault, counted.

use std::collections::BTreeMap;

use nodejoin_core::fault::{Effect, Fault, Service};

/// The faults of a scenario and how far each has got.
#[derive(Debug)]
pub struct Faults {
    rules: Vec<Rule>,
}

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
}

impl Faults {
    /// No fault has fired yet.
    #[must_use]
    pub fn new(faults: &[Fault]) -> Self {
        Self {
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

    /// The fault that meets this request, by its place in the plan. Only one does: the first that is due.
    pub fn meet(&mut self, asked: Asked<'_>) -> Option<(usize, Effect)> {
        self.rules
            .iter_mut()
            .enumerate()
            .find_map(|(place, rule)| rule.meet(asked).map(|effect| (place, effect)))
    }

    /// How often each fault fired, by its place in the plan.
    #[must_use]
    pub fn fired(&self) -> BTreeMap<usize, u32> {
        self.rules.iter().map(|rule| rule.fired).enumerate().collect()
    }
}

impl Rule {
    fn meet(&mut self, asked: Asked<'_>) -> Option<Effect> {
        if !self.matches(asked) {
            return None;
        }
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
        }
    }

    fn eks(seconds: f64) -> Asked<'static> {
        Asked {
            service: Service::Eks,
            operation: "DescribeCluster",
            path: "/clusters/demo",
            seconds,
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
                Faults::new(std::slice::from_ref(&fault)).meet(eks(4.0)).is_some(),
                expected,
                "{fault:?}"
            );
        }
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
        let mut faults = Faults::new(&[first, second]);
        let met: Vec<usize> = (0..5)
            .filter_map(|_| faults.meet(eks(0.0)))
            .map(|(place, _)| place)
            .collect();
        assert_eq!(met, [1, 0, 0, 1, 1]);
        assert_eq!(faults.fired(), BTreeMap::from([(0, 2), (1, 3)]));
    }
}
