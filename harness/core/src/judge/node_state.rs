//! Checks of the state that is collected from the node at the end: files, units, kubelet, user data, pod, access.

use serde_json::Value;

use super::files::file;
use super::join::{count_matches, counted};
use super::units::units;
use super::{check, list};
use crate::judge::golden::difference;
use crate::judge::verdict::Check;
use crate::observation::phases::{is_of_kubelet, user_data_done};
use crate::observation::{Collected, Observation, ObservedEvent};
use crate::plan::Plan;
use crate::plan::expect::{AccessExpect, Expect, KubeletExpect, PodExpect, UserDataExpect};

const NO_CONFIGZ: &str = "not collected: the API server could not read /configz of the kubelet";

/// Checks of the collected state.
pub(super) fn node_state(expect: &Expect, observation: &Observation) -> Vec<Check> {
    let nothing = Collected::default();
    let collected = observation.collected.as_ref().unwrap_or(&nothing);
    let mut checks = Vec::new();
    for (path, required) in &expect.files {
        checks.extend(file(path, required, collected.files.get(path)));
    }
    checks.extend(units(expect, collected, observation));
    checks.extend(
        expect
            .kubelet
            .iter()
            .flat_map(|required| kubelet(required, collected, observation)),
    );
    checks.extend(
        expect
            .user_data
            .iter()
            .flat_map(|required| user_data(required, collected, observation)),
    );
    checks.extend(expect.pod.iter().flat_map(|required| pod(required, collected)));
    checks.extend(access(&expect.access, collected));
    checks
}

/// Compares the node with its snapshot.
pub(super) fn golden(plan: &Plan, observation: &Observation) -> Option<Check> {
    let golden = plan.golden.as_ref().filter(|golden| golden.has_parts())?;
    if golden.is_optional && golden.text.is_none() {
        return None;
    }
    let seen = observation
        .collected
        .as_ref()
        .and_then(|collected| collected.golden.as_deref());
    let expected = format!("equal to {}", golden.path);
    let (held, found) = match (golden.text.as_deref(), seen) {
        (_, None) => (false, "not collected".to_owned()),
        (None, Some(_)) => (
            false,
            "the snapshot does not exist: create it with `nodejoin run --bless`".to_owned(),
        ),
        (Some(required), Some(seen)) if required == seen => (true, "equal".to_owned()),
        (Some(required), Some(seen)) => (false, difference(required, seen)),
    };
    Some(check("golden", held, expected, found))
}

/// What the API server's authorizers allow the node.
fn access(required: &[AccessExpect], collected: &Collected) -> Vec<Check> {
    let word = |allowed: bool| if allowed { "allowed" } else { "not allowed" };
    let answers = collected.access.as_deref();
    let answers = (0..).map(|index| answers.and_then(|answers| answers.get(index)));
    required
        .iter()
        .zip(answers)
        .map(|(required, seen)| {
            let key = format!("access.{}", required.question());
            match seen {
                Some(seen) => {
                    let reason = Some(&seen.reason).filter(|reason| !reason.is_empty());
                    let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
                    check(
                        key,
                        seen.allowed == required.allowed,
                        word(required.allowed),
                        format!("{}{reason}", word(seen.allowed)),
                    )
                }
                None => check(
                    key,
                    false,
                    word(required.allowed),
                    "not checked: the node never had an identity",
                ),
            }
        })
        .collect()
}

fn kubelet(required: &KubeletExpect, collected: &Collected, observation: &Observation) -> Vec<Check> {
    let argv = collected.kubelet_argv.as_deref();
    let text = argv.map_or("the kubelet does not run".to_owned(), |argv| argv.join(" "));
    let mut checks = Vec::new();
    for argument in &required.argv {
        let held = argv.is_some_and(|argv| has_argument(argv, argument));
        checks.push(check(
            format!("kubelet.argv.{argument}"),
            held,
            argument,
            text.clone(),
        ));
    }
    for start in &required.argv_absent {
        let seen = argv.map(|argv| argv.iter().find(|argument| argument.starts_with(start)));
        let found = seen.flatten().cloned().unwrap_or_else(|| text.clone());
        checks.push(check(
            format!("kubelet.argv_absent.{start}"),
            seen == Some(None),
            format!("no {start}"),
            found,
        ));
    }
    for (path, required) in &required.config {
        let seen = collected
            .configz
            .as_ref()
            .and_then(|config| config_value(config, path));
        let found = match (&collected.configz, seen) {
            (None, _) => without_configz(collected),
            (Some(_), None) => "no such key in /configz".to_owned(),
            (Some(_), Some(seen)) => seen.to_string(),
        };
        checks.push(check(
            format!("kubelet.config.{path}"),
            seen == Some(required),
            required.to_string(),
            found,
        ));
    }
    for path in &required.config_absent {
        let config = collected.configz.as_ref();
        let seen = config.map(|config| config_value(config, path));
        let found = match seen {
            None => without_configz(collected),
            Some(None) => "no such key in /configz".to_owned(),
            Some(Some(seen)) => seen.to_string(),
        };
        let key = format!("kubelet.config_absent.{path}");
        checks.push(check(key, seen == Some(None), format!("no {path}"), found));
    }
    if let Some(required) = &required.starts {
        let seen = starts(observation);
        let (held, expected) = count_matches(required, seen, "start");
        checks.push(check("kubelet.starts", held, expected, counted(seen, "start")));
    }
    checks
}

/// Why the configuration of the kubelet is not known: often its port serves a certificate that the API server rejects.
fn without_configz(collected: &Collected) -> String {
    let served = collected.served.as_ref();
    let error = served.and_then(|served| served.error.as_ref());
    let error = error.map(|error| format!("; port 10250: {error}"));
    format!("{NO_CONFIGZ}{}", error.unwrap_or_default())
}

/// `--flag value` and `--flag=value` are equal for the kubelet.
fn has_argument(argv: &[String], required: &str) -> bool {
    let joined = required.replacen(' ', "=", 1);
    argv.iter()
        .any(|argument| *argument == required || *argument == joined)
        || argv
            .windows(2)
            .any(|pair| format!("{}={}", pair[0], pair[1]) == joined)
}

fn config_value<'a>(config: &'a Value, path: &str) -> Option<&'a Value> {
    dotted(config.get("kubeletconfig").unwrap_or(config), path)
}

/// Tries a key with dots, such as `memory.available`, before it splits the path.
fn dotted<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if let Some(found) = value.get(path) {
        return Some(found);
    }
    path.match_indices('.')
        .find_map(|(at, _)| dotted(value.get(&path[..at])?, &path[at + 1..]))
}

/// How often systemd started the kubelet.
fn starts(observation: &Observation) -> usize {
    let started = |what: &ObservedEvent| matches!(what, ObservedEvent::Journal(line) if line.by_systemd && is_of_kubelet(line) && line.message.starts_with("Started "));
    observation
        .timeline
        .iter()
        .filter(|seen| started(&seen.what))
        .count()
}

fn user_data(required: &UserDataExpect, collected: &Collected, observation: &Observation) -> Vec<Check> {
    let Some(seen) = &collected.user_data else {
        return vec![check("user_data", false, "collected", "not collected")];
    };
    let mut checks = Vec::new();
    if let Some(succeeded) = required.succeeded {
        let failed = seen.exit_codes.iter().filter(|(_, code)| **code != 0);
        let failures: Vec<String> = failed
            .map(|(part, code)| format!("{part} exited with {code}"))
            .collect();
        // cloud-init reports its end before it writes the status.
        let is_running = seen.status.as_deref() == Some("running") && user_data_done(observation).is_none();
        let has_ended = seen.ran && !is_running;
        let held = (has_ended && failures.is_empty() && seen.errors.is_empty()) == succeeded;
        let found = match (seen.ran, failures.is_empty()) {
            (false, _) => "it did not run".to_owned(),
            (true, true) if is_running => "it still ran at the end of the join".to_owned(),
            (true, true) if seen.errors.is_empty() => "all parts exited with 0".to_owned(),
            _ => list(failures.iter().chain(&seen.errors)),
        };
        checks.push(check("user_data.succeeded", held, succeeded.to_string(), found));
    }
    for (part, code) in &required.exit_codes {
        let seen_code = seen.exit_codes.get(part);
        let found = seen_code.map_or_else(
            || format!("no part {part}; parts: {}", list(seen.exit_codes.keys())),
            i32::to_string,
        );
        checks.push(check(
            format!("user_data.exit_codes.{part}"),
            seen_code == Some(code),
            code.to_string(),
            found,
        ));
    }
    for text in &required.output_contains {
        let held = seen.output.contains(text);
        checks.push(check(
            "user_data.output_contains",
            held,
            text,
            last_lines(&seen.output),
        ));
    }
    for text in &required.output_lacks {
        let is_printed = seen.output.contains(text.as_str());
        let found = match (seen.ran, is_printed) {
            (_, true) => last_lines(&seen.output),
            (true, false) => "no such text".to_owned(),
            (false, false) => "it did not run".to_owned(),
        };
        let held = seen.ran && !is_printed;
        checks.push(check("user_data.output_lacks", held, format!("no {text}"), found));
    }
    checks
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().rev().take(5).collect();
    if lines.is_empty() {
        "no output".to_owned()
    } else {
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

fn pod(required: &PodExpect, collected: &Collected) -> Vec<Check> {
    let seen = collected.pod.as_ref();
    let found = seen.map_or("the pod did not run", |pod| pod.detail.as_str());
    let answered = seen.is_some_and(|pod| pod.answered);
    let answers = required
        .answers
        .map(|answers| check("pod.answers", answered == answers, answers.to_string(), found));
    let texts = required
        .contains
        .iter()
        .map(|text| check("pod.contains", found.contains(text), text, found));
    answers.into_iter().chain(texts).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::observation::ServingCertificate;

    #[test]
    fn a_configuration_that_was_not_read_says_what_port_10250_serves() {
        let required = KubeletExpect {
            config: BTreeMap::from([("maxPods".to_owned(), serde_json::json!(29))]),
            ..KubeletExpect::default()
        };
        let mut collected = Collected::default();
        let seen = |collected: &Collected| {
            let checks = kubelet(&required, collected, &Observation::default());
            checks[0].seen.clone()
        };
        assert_eq!(seen(&collected), NO_CONFIGZ);
        collected.served = Some(ServingCertificate {
            fingerprint: Some("ab".to_owned()),
            verified: false,
            error: Some("the certificate is signed by itself".to_owned()),
        });
        assert_eq!(
            seen(&collected),
            format!("{NO_CONFIGZ}; port 10250: the certificate is signed by itself")
        );
    }
}
