//! The requests of a machine.

pub(super) mod failures;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::observation::phases::is_of_user_data;
use crate::observation::{AwsCall, CalledService, Millis, Observation, ObservedEvent};
use crate::vocabulary::service::Service;

/// What user data requested, and succeeded with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineRequests {
    /// Operations of AWS services, each once.
    calls: Vec<(Service, String)>,
    /// How often each of them succeeded.
    #[serde(with = "rows")]
    counts: BTreeMap<(Service, String), u32>,
    /// Paths of the metadata service, each once, with the number of requests before the user data.
    metadata: Vec<(String, u32)>,
    /// Number of requests of the metadata service before the user data.
    metadata_before: u32,
}

/// A map as a list of its entries: keys of JSON are texts.
mod rows {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use crate::vocabulary::service::Service;

    type Counts = BTreeMap<(Service, String), u32>;

    pub(super) fn serialize<S: Serializer>(counts: &Counts, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(counts)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Counts, D::Error> {
        let rows = Vec::<((Service, String), u32)>::deserialize(deserializer)?;
        Ok(rows.into_iter().collect())
    }
}

impl MachineRequests {
    /// These requests, and those that only the others contain.
    #[must_use]
    pub fn with(mut self, others: &Self) -> Self {
        let new = others.calls.iter().filter(|call| !self.calls.contains(call));
        let new: Vec<_> = new.cloned().collect();
        self.calls.extend(new);
        for (call, count) in &others.counts {
            self.counts.entry(call.clone()).or_insert(*count);
        }
        for (path, before) in &others.metadata {
            if !self.metadata.iter().any(|(known, _)| known == path) {
                self.metadata.push((path.clone(), *before));
            }
        }
        self
    }

    /// The requests of AWS services that the others do not contain. Those of the metadata service are left out.
    #[must_use]
    pub(super) fn without(&self, others: &Self) -> Self {
        let is_new = |call: &&(Service, String)| !others.calls.contains(call);
        Self {
            calls: self.calls.iter().filter(is_new).cloned().collect(),
            counts: self.counts.clone(),
            ..Self::default()
        }
    }

    /// The requests that need a token of the metadata service.
    fn without_tokens(&self) -> Self {
        let needs_token = |(path, _): &&(String, u32)| !path.ends_with("/api/token");
        Self {
            metadata: self.metadata.iter().filter(needs_token).cloned().collect(),
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.metadata.is_empty()
    }

    /// The requests of an observed machine. Before its user data, cloud-init reads the metadata, too.
    #[must_use]
    pub fn of(seen: &Observation) -> Self {
        let start = seen.timeline.iter().find_map(|entry| match &entry.what {
            ObservedEvent::Journal(line) if is_of_user_data(line) => Some(entry.at),
            _ => None,
        });
        let of_cloud_init = requests_of_metadata(seen).filter(|at| start.is_some_and(|start| *at < start));
        let mut requests = Self {
            metadata_before: u32::try_from(of_cloud_init.count()).unwrap_or(u32::MAX),
            ..Self::default()
        };
        let mut earlier: BTreeMap<&str, u32> = BTreeMap::new();
        for (at, call) in calls(seen) {
            let CalledService::Known(service) = call.service else {
                continue;
            };
            if service == Service::Imds {
                let earlier = earlier.entry(call.path.as_str()).or_default();
                let of_user_data = start.is_some_and(|start| at >= start);
                if !of_user_data {
                    *earlier += 1;
                } else if !requests.metadata.iter().any(|(path, _)| *path == call.path) {
                    requests.metadata.push((call.path.clone(), *earlier));
                }
                continue;
            }
            let named = (service, call.operation.clone());
            *requests.counts.entry(named.clone()).or_default() += 1;
            if !requests.calls.contains(&named) {
                requests.calls.push(named);
            }
        }
        requests
    }
}

/// Requests that succeeded, with their times.
fn calls(seen: &Observation) -> impl Iterator<Item = (Millis, &AwsCall)> {
    seen.timeline.iter().filter_map(|entry| match &entry.what {
        ObservedEvent::Aws(call) if call.status == 200 => Some((entry.at, call)),
        _ => None,
    })
}

/// The times of all requests of the metadata service.
fn requests_of_metadata(seen: &Observation) -> impl Iterator<Item = Millis> {
    seen.timeline.iter().filter_map(|entry| match &entry.what {
        ObservedEvent::Aws(call) if call.service == Service::Imds => Some(entry.at),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{JournalLine, TimelineEntry};

    fn call(service: Service, operation: &str, path: &str, status: u16) -> ObservedEvent {
        ObservedEvent::Aws(AwsCall {
            operation: operation.to_owned(),
            path: path.to_owned(),
            status,
            ..AwsCall::refused_connection(service, 0)
        })
    }

    pub(super) fn seen() -> Observation {
        let started = JournalLine {
            unit: Some("cloud-final.service".to_owned()),
            command: None,
            by_systemd: true,
            message: "Starting cloud-final.service".to_owned(),
        };
        let token = || call(Service::Imds, "token", "/latest/api/token", 200);
        let path = "/latest/meta-data/network/interfaces/macs/";
        let events = [
            token(),
            call(Service::Imds, "ami", "/2021-03-23/meta-data/ami-id", 200),
            ObservedEvent::Journal(started),
            token(),
            token(),
            call(Service::Imds, "macs", path, 200),
            call(Service::Eks, "DescribeCluster", "/clusters/x", 200),
            call(Service::Eks, "DescribeCluster", "/clusters/x", 200),
            call(Service::Ec2, "DescribeTags", "/", 403),
        ];
        let timeline = events
            .into_iter()
            .zip(1..)
            .map(|(what, at)| TimelineEntry { at, what });
        Observation {
            timeline: timeline.collect(),
            ..Observation::default()
        }
    }

    #[test]
    fn requests_of_user_data_are_told_from_those_of_cloud_init() {
        let requests = MachineRequests::of(&seen());
        let path = "/latest/meta-data/network/interfaces/macs/".to_owned();
        assert_eq!(
            requests.metadata,
            [("/latest/api/token".to_owned(), 1), (path, 0)]
        );
        assert_eq!(requests.calls, [(Service::Eks, "DescribeCluster".to_owned())]);
    }

    #[test]
    fn requests_of_one_version_alone_fail_in_both() {
        let old = MachineRequests::of(&seen());
        let mut new = old.clone();
        new.calls = vec![(Service::Ec2, "DescribeTags".to_owned())];
        new.counts = [((Service::Ec2, "DescribeTags".to_owned()), 2)].into();
        new.metadata = vec![("/latest/meta-data/tags/".to_owned(), 3)];
        let both = old.clone().with(&new);
        let operations: Vec<&str> = both
            .calls
            .iter()
            .map(|(_, operation)| operation.as_str())
            .collect();
        assert_eq!(operations, ["DescribeCluster", "DescribeTags"]);
        assert_eq!(both.metadata.len(), old.metadata.len() + 1);
        assert_eq!(both.counts.len(), 2);
        assert_eq!(old.clone().with(&old), old);
    }
}
