//! The requests of a machine, and how they fail in other worlds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::world_name::slug;
use crate::observation::phases::is_of_user_data;
use crate::observation::{AwsCall, CalledService, Millis, Observation, ObservedEvent};
use crate::plan::fault::{Effect, Fault};
use crate::vocabulary::service::Service;

/// Long for a response, and shorter than the timeouts of clients: 60 seconds for the AWS CLI, often 2 for curl.
const SLOW_CALL_MS: u64 = 8_000;
const SLOW_METADATA_MS: u64 = 1_500;
/// Enough for the beginning of a document.
const TRUNCATED_BYTES: u64 = 40;

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

/// A way in which requests fail.
pub(super) struct Failure {
    /// Part of the id of a world.
    pub(super) name: String,
    /// Whether a node should join nevertheless.
    pub(super) is_survivable: bool,
    /// Whether two versions are compared with it.
    pub(super) is_compared: bool,
    pub(super) faults: Vec<Fault>,
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

/// The worlds in which requests fail: once, which a node should survive; once in a way that the AWS CLI does not retry;
/// and always.
pub(super) fn failures(requests: &MachineRequests) -> Vec<Failure> {
    let calls = requests
        .calls
        .iter()
        .filter(|(service, _)| *service != Service::Registry);
    let mut failures = Vec::new();
    for (service, operation) in calls.clone() {
        for (word, effect) in [("throttled", Effect::Throttle), ("unavailable", error(503))] {
            failures.push(of_call(word, *service, operation, Some(1), effect));
        }
        let explored = [
            ("throttled-twice", Some(2), Effect::Throttle),
            ("closed", Some(1), Effect::Close),
            ("slow", Some(1), Effect::DelayMs(SLOW_CALL_MS)),
        ];
        failures.extend(explored.map(|(word, times, effect)| Failure {
            is_compared: false,
            ..of_call(word, *service, operation, times, effect)
        }));
        // A client waits for a minute or longer before it tries again, and a wait of the script can end before.
        failures.push(Failure {
            is_survivable: false,
            is_compared: false,
            ..of_call("hung", *service, operation, Some(1), Effect::Hang)
        });
    }
    if !requests.metadata.is_empty() {
        let faults = requests.metadata.iter();
        failures.push(Failure {
            name: "unavailable-metadata".to_owned(),
            is_survivable: true,
            is_compared: true,
            faults: faults
                .map(|(path, before)| metadata(path, *before, Some(1), error(500)))
                .collect(),
        });
        failures.push(Failure {
            is_survivable: true,
            ..of_metadata("slow-metadata", requests, Effect::DelayMs(SLOW_METADATA_MS))
        });
        failures.push(of_metadata("hung-metadata", requests, Effect::Hang));
        failures.push(of_metadata("page-once-metadata", requests, page(503)));
        failures.push(of_metadata(
            "expired-token-metadata",
            &requests.without_tokens(),
            error(401),
        ));
        failures.push(Failure {
            name: "refused-metadata".to_owned(),
            is_survivable: false,
            is_compared: true,
            faults: vec![Fault {
                after: requests.metadata_before,
                times: Some(2),
                ..fault(Service::Imds, Effect::Refuse)
            }],
        });
    }
    // A role whose rights arrive late.
    for (service, operation) in calls.clone() {
        failures.push(Failure {
            is_survivable: false,
            ..of_call("denied-once", *service, operation, Some(1), error(403))
        });
        // The first one can be that of a waiter, or of another program.
        let count = requests.counts.get(&(*service, operation.clone()));
        if let Some(before) = count
            .and_then(|count| count.checked_sub(1))
            .filter(|before| *before > 0)
        {
            let mut last = of_call("denied-last", *service, operation, Some(1), error(403));
            last.is_survivable = false;
            last.faults.iter_mut().for_each(|fault| fault.after = before);
            failures.push(last);
        }
    }
    for (service, operation) in calls {
        failures.push(Failure {
            is_survivable: false,
            is_compared: false,
            ..of_call(
                "truncated",
                *service,
                operation,
                Some(1),
                Effect::CutAfter(TRUNCATED_BYTES),
            )
        });
        for (word, effect) in [("denied", error(403)), ("empty", Effect::EmptyBody)] {
            failures.push(of_call(word, *service, operation, None, effect));
        }
    }
    for (path, before) in &requests.metadata {
        let last = path.trim_matches('/').rsplit('/').next().unwrap_or_default();
        let effects = [
            ("missing", error(404)),
            ("empty", Effect::EmptyBody),
            ("page", page(200)),
        ];
        for (word, effect) in effects {
            failures.push(Failure {
                name: format!("{word}-metadata-{}", slug(last)),
                is_survivable: false,
                // Scripts repeat a missing path for minutes.
                is_compared: word == "empty",
                faults: vec![metadata(path, *before, None, effect)],
            });
        }
    }
    failures
}

/// Every path fails once. Only `explore` runs it.
fn of_metadata(name: &str, requests: &MachineRequests, effect: Effect) -> Failure {
    let paths = requests.metadata.iter();
    Failure {
        name: name.to_owned(),
        is_survivable: false,
        is_compared: false,
        faults: paths
            .map(|(path, before)| metadata(path, *before, Some(1), effect.clone()))
            .collect(),
    }
}

fn of_call(word: &str, service: Service, operation: &str, times: Option<u32>, effect: Effect) -> Failure {
    Failure {
        name: format!("{word}-{}-{}", service.word(), slug(operation)),
        is_survivable: times.is_some(),
        is_compared: times.is_some(),
        faults: vec![Fault {
            operation: Some(operation.to_owned()),
            times,
            ..fault(service, effect)
        }],
    }
}

fn metadata(path: &str, before: u32, times: Option<u32>, effect: Effect) -> Fault {
    Fault {
        path: Some(path.to_owned()),
        after: before,
        times,
        ..fault(Service::Imds, effect)
    }
}

fn fault(service: Service, effect: Effect) -> Fault {
    Fault {
        service,
        operation: None,
        path: None,
        after: 0,
        times: None,
        from_seconds: None,
        until_seconds: None,
        above_per_second: None,
        effect,
        may_fire: true,
    }
}

/// What a proxy responds: a page of HTML of several lines.
fn page(status: u16) -> Effect {
    Effect::Response {
        status,
        body: "<!DOCTYPE html>\n<html>\n<body>\n<h1>The service is not available</h1>\n</body>\n</html>\n"
            .to_owned(),
    }
}

fn error(status: u16) -> Effect {
    Effect::Error {
        status,
        code: None,
        message: None,
    }
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

    fn seen() -> Observation {
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

    #[test]
    fn each_request_fails_once_and_for_ever() {
        let failures = failures(&MachineRequests::of(&seen()));
        let names: Vec<(&str, bool)> = failures
            .iter()
            .map(|failure| (failure.name.as_str(), failure.is_survivable))
            .collect();
        assert_eq!(
            names,
            [
                ("throttled-eks-describecluster", true),
                ("unavailable-eks-describecluster", true),
                ("throttled-twice-eks-describecluster", true),
                ("closed-eks-describecluster", true),
                ("slow-eks-describecluster", true),
                ("hung-eks-describecluster", false),
                ("unavailable-metadata", true),
                ("slow-metadata", true),
                ("hung-metadata", false),
                ("page-once-metadata", false),
                ("expired-token-metadata", false),
                ("refused-metadata", false),
                ("denied-once-eks-describecluster", false),
                ("denied-last-eks-describecluster", false),
                ("truncated-eks-describecluster", false),
                ("denied-eks-describecluster", false),
                ("empty-eks-describecluster", false),
                ("missing-metadata-token", false),
                ("empty-metadata-token", false),
                ("page-metadata-token", false),
                ("missing-metadata-macs", false),
                ("empty-metadata-macs", false),
                ("page-metadata-macs", false),
            ]
        );
        let faults = |name: &str| {
            let found = failures.iter().find(|failure| failure.name == name);
            found.unwrap_or_else(|| panic!("{name}")).faults.clone()
        };
        let counts = |name: &str| -> Vec<(u32, Option<u32>)> {
            let found = faults(name).into_iter();
            found.map(|fault| (fault.after, fault.times)).collect()
        };
        assert_eq!(counts("unavailable-metadata"), [(1, Some(1)), (0, Some(1))]);
        assert_eq!(counts("refused-metadata"), [(2, Some(2))]);
        assert_eq!(counts("denied-once-eks-describecluster"), [(0, Some(1))]);
        assert_eq!(counts("denied-last-eks-describecluster"), [(1, Some(1))]);
        assert_eq!(counts("throttled-twice-eks-describecluster"), [(0, Some(2))]);
        assert_eq!(counts("missing-metadata-macs"), [(0, None)]);
        // A token is not rejected where it is requested.
        assert_eq!(counts("expired-token-metadata"), [(0, Some(1))]);
    }
}
