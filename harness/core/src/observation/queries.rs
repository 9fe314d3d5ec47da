//! The queries to the node's DNS resolver.

use super::{DnsQuery, Millis, Observation, ObservedEvent};

impl Observation {
    /// The queries to the node's DNS resolver, with their times.
    pub fn queries(&self) -> impl Iterator<Item = (Millis, &DnsQuery)> {
        self.timeline.iter().filter_map(|seen| match &seen.what {
            ObservedEvent::Dns(query) => Some((seen.at, query)),
            _ => None,
        })
    }
}
