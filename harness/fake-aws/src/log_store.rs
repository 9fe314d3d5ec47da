//! What clients wrote to CloudWatch Logs: groups, streams and events.

use std::collections::{BTreeMap, VecDeque};

/// Limit of the events that a stream keeps; the oldest are dropped first.
const MAX_EVENTS: usize = 10_000;
/// Limit of the groups of an account, and of the streams of a group.
pub(crate) const MAX_MEMBERS: usize = 10_000;

/// The log groups of an account, by region and name.
#[derive(Debug, Default)]
pub(crate) struct LogStore(BTreeMap<(String, String), LogGroup>);

#[derive(Debug, Default)]
pub(crate) struct LogGroup {
    /// Milliseconds since 1970; 0 for a group of the scenario.
    pub created: i64,
    pub retention_days: Option<u64>,
    pub streams: BTreeMap<String, LogStream>,
}

#[derive(Debug, Default)]
pub(crate) struct LogStream {
    /// Milliseconds since 1970.
    pub created: i64,
    pub events: VecDeque<LogEvent>,
    /// Number of events that the stream ever received.
    pub received: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogEvent {
    /// Milliseconds since 1970, by the client.
    pub timestamp: i64,
    /// Milliseconds since 1970, by the service.
    pub ingested: i64,
    pub message: String,
}

impl LogStore {
    /// The store with the groups of a scenario.
    #[must_use]
    pub(crate) fn of(region: &str, groups: &[String]) -> Self {
        let group = |name: &String| ((region.to_owned(), name.clone()), LogGroup::default());
        Self(groups.iter().map(group).collect())
    }

    /// The groups of a region, by name.
    pub(crate) fn groups<'a>(&'a self, region: &'a str) -> impl Iterator<Item = (&'a str, &'a LogGroup)> {
        let of_region = self.0.iter().filter(move |((of, _), _)| of == region);
        of_region.map(|((_, name), group)| (name.as_str(), group))
    }

    pub(crate) fn group(&self, region: &str, name: &str) -> Option<&LogGroup> {
        self.0.get(&(region.to_owned(), name.to_owned()))
    }

    pub(crate) fn group_mut(&mut self, region: &str, name: &str) -> Option<&mut LogGroup> {
        self.0.get_mut(&(region.to_owned(), name.to_owned()))
    }

    /// Adds a group. Returns whether there is room for it.
    pub(crate) fn add(&mut self, region: &str, name: &str, created: i64) -> bool {
        let group = LogGroup {
            created,
            ..LogGroup::default()
        };
        let has_room = self.0.len() < MAX_MEMBERS;
        if has_room {
            self.0.insert((region.to_owned(), name.to_owned()), group);
        }
        has_room
    }
}

impl LogStream {
    /// Keeps the newest events.
    pub(crate) fn add(&mut self, events: impl IntoIterator<Item = LogEvent>) {
        for event in events {
            self.received += 1;
            self.events.push_back(event);
            if self.events.len() > MAX_EVENTS {
                self.events.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_keeps_the_newest_events_and_counts_all() {
        let mut stream = LogStream::default();
        let event = |timestamp| LogEvent {
            timestamp,
            ingested: 0,
            message: String::new(),
        };
        stream.add((0..10_005).map(event));
        assert_eq!((stream.events.len(), stream.received), (MAX_EVENTS, 10_005));
        assert_eq!(stream.events[0].timestamp, 5);
    }
}
