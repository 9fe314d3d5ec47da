//! Matches queries to the resolver against DNS faults and counts.

use std::time::{Duration, SystemTime};

use nodejoin_core::plan::dns_fault::{DnsEffect, DnsFault};

/// The DNS faults of an instance and their counts.
#[derive(Debug)]
pub(crate) struct DnsFaults(Vec<ActiveDnsFault>);

#[derive(Debug)]
struct ActiveDnsFault {
    fault: DnsFault,
    fired: u32,
    /// Time of the first query that matched.
    first: Option<SystemTime>,
}

/// A fault that fired for a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FiredDnsFault {
    /// Index in the plan.
    pub(crate) index: usize,
    pub(crate) effect: DnsEffect,
}

impl DnsFaults {
    #[must_use]
    pub(crate) fn new(faults: &[DnsFault]) -> Self {
        let faults = faults.iter().map(|fault| ActiveDnsFault {
            fault: fault.clone(),
            fired: 0,
            first: None,
        });
        Self(faults.collect())
    }

    /// Fires the first fault that is due for a query of this name, in lower case and without its final dot.
    pub(crate) fn fire(&mut self, name: &str, at: SystemTime) -> Option<FiredDnsFault> {
        let mut faults = self.0.iter_mut().enumerate();
        faults.find_map(|(index, active)| {
            let effect = active.fire(name, at)?;
            Some(FiredDnsFault { index, effect })
        })
    }
}

impl ActiveDnsFault {
    fn fire(&mut self, name: &str, at: SystemTime) -> Option<DnsEffect> {
        if !self.fault.matches(name) {
            return None;
        }
        let first = *self.first.get_or_insert(at);
        // A clock that went back counts as no time.
        let passed = at.duration_since(first).unwrap_or_default();
        let is_over = |seconds: f64| passed >= Duration::from_secs_f64(seconds);
        let is_due = self.fault.times.is_none_or(|times| self.fired < times)
            && !self.fault.for_seconds.is_some_and(is_over);
        is_due.then(|| {
            self.fired += 1;
            self.fault.effect
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "a.example.com";

    fn fault() -> DnsFault {
        DnsFault {
            name: Some(NAME.to_owned()),
            times: None,
            for_seconds: None,
            effect: DnsEffect::Servfail,
            may_fire: false,
        }
    }

    fn fired(faults: &[DnsFault], queries: &[(&str, f64)]) -> Vec<Option<usize>> {
        let mut faults = DnsFaults::new(faults);
        let at = |seconds: f64| SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds);
        let fired = queries
            .iter()
            .map(|(name, seconds)| faults.fire(name, at(*seconds)));
        fired.map(|fired| fired.map(|fired| fired.index)).collect()
    }

    #[test]
    fn a_fault_ends_after_its_number_of_queries() {
        let twice = DnsFault {
            times: Some(2),
            ..fault()
        };
        let next = DnsFault {
            effect: DnsEffect::Refused,
            ..fault()
        };
        let queries = [(NAME, 0.0), ("b.example.com", 0.0), (NAME, 0.0), (NAME, 0.0)];
        assert_eq!(fired(&[twice, next], &queries), [Some(0), None, Some(0), Some(1)]);
    }

    #[test]
    fn a_fault_ends_a_time_after_the_first_query() {
        let short = DnsFault {
            for_seconds: Some(1.5),
            ..fault()
        };
        let queries = [
            ("b.example.com", 0.0),
            (NAME, 7.0),
            (NAME, 8.4),
            (NAME, 8.5),
            (NAME, 7.0),
        ];
        assert_eq!(fired(&[short], &queries), [None, Some(0), Some(0), None, Some(0)]);
    }
}
