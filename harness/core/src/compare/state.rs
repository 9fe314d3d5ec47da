//! The state of a machine at the end of a probe, in parts that are compared one by one.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::observation::{AwsCall, Observation, ObservedEvent, UserDataResult};
use crate::plan::{InstancePlan, Plan};
use crate::user_data::Values;
use crate::vocabulary::service::Service;

/// Lines of the output of user data that failed.
const LAST_WORDS: usize = 10;
/// Begins each of them.
pub(super) const LAST_WORDS_LINE: &str = "last words: ";
/// Begins the name of the part with the calls of a service, in their order.
pub(crate) const CALLS_OF: &str = "calls of ";

/// Begins the names of the harness's chains in the firewall of a node.
const RULES_OF_HARNESS: &str = "NODEJOIN";

/// The other parts with requests.
const REQUESTS: [&str; 3] = ["metadata requests", "requests to the registry", "DNS queries"];

/// What user data left on a machine, and what it requested. Each part is a text of several lines, by its name:
/// `kubelet arguments`, `enabled units`, `file /etc/...`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MachineState {
    parts: BTreeMap<String, String>,
}

impl MachineState {
    /// A state of parts that the machine itself reported. Saved rules of the firewall are without those of the harness,
    /// without times and without counters of packets, which no two boots have in common.
    #[must_use]
    pub fn of_machine(mut parts: BTreeMap<String, String>) -> Self {
        let is_rule = |line: &str| {
            let line = line.trim_start();
            (line.starts_with("-A ") || line.starts_with(':')) && line.contains(RULES_OF_HARNESS)
        };
        for text in parts.values_mut().filter(|text| text.contains(RULES_OF_HARNESS)) {
            *text = text.split_inclusive('\n').filter(|line| !is_rule(line)).collect();
        }
        for text in parts.values_mut().filter(|text| is_saved_firewall(text)) {
            *text = text
                .lines()
                .map(|line| format!("{}\n", without_counters(line)))
                .collect();
        }
        Self { parts }
    }

    /// Adds what was observed from outside: requests, names, the result of user data.
    #[must_use]
    pub fn with_observation(mut self, seen: &Observation) -> Self {
        let mut calls: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let (mut metadata, mut registry, mut names) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for entry in &seen.timeline {
            match &entry.what {
                ObservedEvent::Aws(call) if call.service == Service::Imds => {
                    metadata.insert(metadata_request(call));
                }
                // Layers of an image are requested side by side.
                ObservedEvent::Aws(call) if call.service == Service::Registry => {
                    registry.insert(aws_call(call));
                }
                // Units call services side by side.
                ObservedEvent::Aws(call) => {
                    let part = format!("{CALLS_OF}{}", call.service.word());
                    calls.entry(part).or_default().push(aws_call(call));
                }
                ObservedEvent::Dns(query) => {
                    let answer = match (query.answered, query.fault) {
                        (true, _) => "",
                        (false, None) => " unknown",
                        (false, Some(_)) => " failed",
                    };
                    names.insert(format!("{} {}{answer}", query.name, query.record));
                }
                _ => {}
            }
        }
        for (part, calls) in calls {
            self.add(&part, calls);
        }
        let [of_metadata, of_registry, of_names] = REQUESTS;
        self.add(of_metadata, metadata);
        self.add(of_registry, registry);
        self.add(of_names, names);
        let reboots = seen.reboots().count();
        self.add(
            "reboots",
            (reboots > 0).then(|| format!("{reboots} by the user data")),
        );
        if let Some(exit) = seen.exit() {
            self.add("end of the machine", [format!("exit code {}", exit.code)]);
        }
        let user_data = seen
            .collected
            .as_ref()
            .and_then(|collected| collected.user_data.as_ref());
        self.add("user data", user_data.map(result_lines).unwrap_or_default());
        self
    }

    /// Adds the result of user data that ran again.
    #[must_use]
    pub fn with_second_run(mut self, result: &UserDataResult) -> Self {
        self.add("user data, second run", result_lines(result));
        self
    }

    /// Replaces values that belong to this instance and cluster by their names.
    #[must_use]
    pub fn named(mut self, values: &Values) -> Self {
        self.parts
            .values_mut()
            .for_each(|text| *text = values.named(text));
        self
    }

    /// Replaces what identifies the network interface: worlds of one scenario have instances of their own.
    #[must_use]
    pub fn with_interface_named(mut self, instance: &InstancePlan) -> Self {
        let names = [
            (instance.mac.as_str(), "{{ mac }}"),
            (instance.network_interface_id.as_str(), "{{ interface }}"),
        ];
        for text in self.parts.values_mut() {
            for (value, name) in names.iter().filter(|(value, _)| !value.is_empty()) {
                *text = text.replace(value, name);
            }
        }
        self
    }

    fn add(&mut self, part: &str, lines: impl IntoIterator<Item = String>) {
        let text: String = lines.into_iter().map(|line| line + "\n").collect();
        if !text.is_empty() {
            self.parts.insert(part.to_owned(), text);
        }
    }

    /// Only what the user data left on the machine, without what it requested: the same for two worlds in which nodes
    /// join in the same way. Region and instance type are replaced by their names, too.
    #[must_use]
    pub fn machine_alone(&self, plan: &Plan) -> Self {
        let partition = plan.region.partition();
        let names = [
            (plan.instance.availability_zone.clone(), "{{ zone }}"),
            (plan.region.to_string(), "{{ region }}"),
            (plan.instance.instance_type.clone(), "{{ type }}"),
            (plan.region.dns_suffix().to_owned(), "{{ suffix }}"),
            (format!("arn:{partition}:"), "arn:{{ partition }}:"),
        ];
        let is_left = |part: &str| !part.starts_with(CALLS_OF) && !REQUESTS.contains(&part);
        let parts = self.parts.iter().filter(|(part, _)| is_left(part));
        let parts = parts.map(|(part, text)| {
            let named = |text: String, (value, name): &(String, &str)| text.replace(value, name);
            (part.clone(), names.iter().fold(text.clone(), named))
        });
        Self {
            parts: parts.collect(),
        }
    }

    /// Whether the machine started a kubelet.
    #[must_use]
    pub fn has_kubelet(&self) -> bool {
        self.parts.contains_key("kubelet arguments")
    }

    /// Names of the parts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.keys().map(String::as_str)
    }

    /// The lines of a part; none if the machine does not have it.
    #[must_use]
    pub fn lines(&self, part: &str) -> Vec<&str> {
        let text = self.parts.get(part).map_or("", String::as_str);
        text.lines().collect()
    }
}

/// Metadata requests are compared without their number: programs of the system read the same paths at their own pace.
fn metadata_request(call: &AwsCall) -> String {
    let authorization = call.authorization.as_deref().unwrap_or("no token");
    let operation = &call.operation;
    format!("{} {operation} ({authorization}) {}", call.method, call.status)
}

fn aws_call(call: &AwsCall) -> String {
    let about = call.subject.iter().map(|subject| format!(" {subject}"));
    let error = call.error.iter().map(|error| format!(" {error}"));
    let details: String = about.chain([format!(" {}", call.status)]).chain(error).collect();
    format!("{} at {}{details}", call.operation, call.host)
}

/// Exit codes, errors, and the last words of user data that failed.
fn result_lines(result: &UserDataResult) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(result.status.iter().map(|status| format!("status {status}")));
    let codes = result.exit_codes.iter();
    lines.extend(codes.map(|(part, code)| format!("exit code of {part}: {code}")));
    lines.extend(result.errors.iter().map(|error| format!("error: {error}")));
    let has_failed = result.exit_codes.values().any(|code| *code != 0) || !result.errors.is_empty();
    if has_failed {
        let output: Vec<&str> = result
            .output
            .lines()
            .filter(|line| !is_of_cloud_init(line))
            .collect();
        let last = &output[output.len().saturating_sub(LAST_WORDS)..];
        lines.extend(last.iter().map(|line| format!("{LAST_WORDS_LINE}{line}")));
    }
    lines
}

/// Whether cloud-init itself prints a line around the output of scripts, with times that differ at each boot.
fn is_of_cloud_init(line: &str) -> bool {
    let begins = ["ci-info: ", "Cloud-init v. ", "No 'config' modules to run"];
    begins.iter().any(|start| line.starts_with(start))
        || [" - cc_scripts_user.py[", " - util.py["]
            .iter()
            .any(|part| line.contains(part))
}

/// Whether a text is what `iptables-save` prints: tables with policies of their chains.
fn is_saved_firewall(text: &str) -> bool {
    let has_table = text.lines().any(|line| line.starts_with('*'));
    has_table
        && text
            .lines()
            .any(|line| line.starts_with(':') && line.ends_with(']'))
}

/// A line of saved rules without its counters (`:INPUT ACCEPT [12:3456]`) or its time.
fn without_counters(line: &str) -> &str {
    match line.chars().next() {
        Some(':') => line.rsplit_once(" [").map_or(line, |(chain, _)| chain),
        Some('#') => line.split_once(" on ").map_or(line, |(comment, _)| comment),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{Collected, TimelineEntry};
    use crate::testing::plan;

    fn observed(calls: &[(&str, u16)]) -> Observation {
        let timeline = calls.iter().map(|(operation, status)| {
            let service = if operation.starts_with('/') {
                Service::Imds
            } else {
                Service::Ec2
            };
            let call = AwsCall {
                service: service.into(),
                operation: (*operation).to_owned(),
                method: "GET".to_owned(),
                host: "ec2".to_owned(),
                path: "/".to_owned(),
                status: *status,
                error: None,
                message: None,
                subject: None,
                known: true,
                fault: None,
                answer: None,
                authorization: None,
                upstream: false,
                took_ms: 1,
            };
            TimelineEntry {
                at: 1,
                what: ObservedEvent::Aws(call),
            }
        });
        Observation {
            timeline: timeline.collect(),
            ..Observation::default()
        }
    }

    #[test]
    fn saved_rules_of_the_firewall_are_without_those_of_the_harness() {
        let saved = "*nat\n:OUTPUT ACCEPT [0:0]\n:NODEJOIN - [0:0]\n-A OUTPUT -j NODEJOIN\n-A NODEJOIN-imds -j RETURN\n\
            -A OUTPUT -d 10.0.0.1/32 -j DROP\n# NODEJOIN\n";
        let part = "file /etc/sysconfig/iptables";
        let state = MachineState::of_machine([(part.to_owned(), saved.to_owned())].into());
        assert_eq!(
            state.lines(part),
            [
                "*nat",
                ":OUTPUT ACCEPT",
                "-A OUTPUT -d 10.0.0.1/32 -j DROP",
                "# NODEJOIN"
            ]
        );
    }

    #[test]
    fn saved_rules_of_the_firewall_are_without_times_and_counters() {
        let saved = |time: &str, counters: &str| {
            let text = format!(
                "# Generated by iptables-save v1.8.9 on Sat Nov 28 {time} 2026\n*filter\n:INPUT ACCEPT [{counters}]\n-A INPUT -j DROP\n\
                 COMMIT\n# Completed on Sat Nov 28 {time} 2026\n"
            );
            MachineState::of_machine([("file /etc/sysconfig/iptables".to_owned(), text)].into())
        };
        let one = saved("05:17:02", "0:0");
        assert_eq!(one, saved("05:17:09", "12:3456"));
        assert_eq!(
            one.lines("file /etc/sysconfig/iptables")[1..4],
            ["*filter", ":INPUT ACCEPT", "-A INPUT -j DROP"]
        );
        // Not every text with a list is one.
        let other = [("file /etc/x".to_owned(), "*a\n# on time\n".to_owned())];
        assert_eq!(
            MachineState::of_machine(other.into()).lines("file /etc/x"),
            ["*a", "# on time"]
        );
    }

    #[test]
    fn calls_keep_their_order_and_metadata_requests_do_not() {
        let seen = observed(&[
            ("/b", 200),
            ("DescribeTags", 503),
            ("/a", 200),
            ("DescribeTags", 200),
            ("/b", 200),
        ]);
        let state = MachineState::default().with_observation(&seen);
        let operations: Vec<_> = state
            .lines("calls of ec2")
            .iter()
            .map(|line| line.rsplit(' ').next().unwrap().to_owned())
            .collect();
        assert_eq!(operations, ["503", "200"]);
        // A world in which an operation fails reads its name from here.
        assert!(
            state.lines("calls of ec2")[0].starts_with("DescribeTags at "),
            "{state:?}"
        );
        assert_eq!(state.lines("metadata requests").len(), 2);
    }

    #[test]
    fn machines_of_two_regions_are_equal_if_only_names_differ() {
        let (here, mut there) = (plan(), plan());
        there.region = "cn-north-1".parse().unwrap();
        there.instance.availability_zone = "cn-north-1a".to_owned();
        let state = |plan: &Plan, label: &str| {
            let (region, suffix) = (&plan.region, plan.region.dns_suffix());
            let arguments = format!("--endpoint=eks.{region}.{suffix}\n--node-labels={label}\n");
            let parts = [
                ("kubelet arguments", arguments),
                ("DNS queries", region.to_string()),
            ];
            let parts = parts.map(|(part, text)| (part.to_owned(), text));
            MachineState::of_machine(parts.into()).machine_alone(plan)
        };
        assert_eq!(state(&here, "a=b"), state(&there, "a=b"));
        assert_ne!(state(&here, "a=b"), state(&there, "a=c"));
    }

    #[test]
    fn last_words_are_those_of_user_data_that_failed() {
        let mut seen = Observation::default();
        let result = |code| UserDataResult {
            exit_codes: [("part-001".to_owned(), code)].into(),
            output: "ci-info: | 5 |\none\ntwo\n2026-11-26 10:40:14,810 - util.py[WARNING]: Running module\n\
                     Cloud-init v. 22.4.2 finished at 10:40\n"
                .to_owned(),
            ..UserDataResult::default()
        };
        let mut lines = |code| {
            seen.collected = Some(Collected {
                user_data: Some(result(code)),
                ..Collected::default()
            });
            let state = MachineState::default().with_observation(&seen);
            state.lines("user data").join("; ")
        };
        let again = MachineState::default().with_second_run(&result(1));
        assert_eq!(
            again.lines("user data, second run")[0],
            "exit code of part-001: 1"
        );
        assert_eq!(lines(0), "exit code of part-001: 0");
        assert_eq!(
            lines(3),
            "exit code of part-001: 3; last words: one; last words: two"
        );
    }

    #[test]
    fn values_of_the_instance_are_replaced_by_their_names() {
        let parts = BTreeMap::from([(
            "kubelet arguments".to_owned(),
            "--node-ip=192.168.40.16\n".to_owned(),
        )]);
        let state = MachineState::of_machine(parts).named(&Values::of(&plan(), ""));
        assert_eq!(
            state.lines("kubelet arguments"),
            ["--node-ip={{ instance.private_ip }}"]
        );
        assert_eq!(state.names().collect::<Vec<_>>(), ["kubelet arguments"]);
    }

    #[test]
    fn the_interface_of_an_instance_is_named() {
        let instance = crate::testing::instance();
        let text = format!("GET macs/{}/ of {}", instance.mac, instance.network_interface_id);
        let parts = [("metadata requests".to_owned(), text)].into();
        let state = MachineState::of_machine(parts).with_interface_named(&instance);
        assert_eq!(
            state.lines("metadata requests"),
            ["GET macs/{{ mac }}/ of {{ interface }}"]
        );
    }
}
