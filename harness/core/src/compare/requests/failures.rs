//! How the requests of a machine fail in other worlds.

use super::MachineRequests;
use crate::compare::world_name::slug;
use crate::plan::fault::{Effect, Fault};
use crate::vocabulary::service::Service;

/// Long for a response, and shorter than the timeouts of clients: 60 seconds for the AWS CLI, often 2 for curl.
const SLOW_CALL_MS: u64 = 8_000;
const SLOW_METADATA_MS: u64 = 1_500;
/// Enough for the beginning of a document.
const TRUNCATED_BYTES: u64 = 40;

/// A way in which requests fail.
pub(in crate::compare) struct Failure {
    /// Part of the id of a world.
    pub(in crate::compare) name: String,
    /// Whether a node should join nevertheless.
    pub(in crate::compare) is_survivable: bool,
    /// Whether two versions are compared with it.
    pub(in crate::compare) is_compared: bool,
    pub(in crate::compare) faults: Vec<Fault>,
}

/// The worlds in which requests fail: once, which a node should survive; once in a way that the AWS CLI does not retry;
/// and always.
pub(in crate::compare) fn failures(requests: &MachineRequests) -> Vec<Failure> {
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
    use super::super::tests::seen;
    use super::*;

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
