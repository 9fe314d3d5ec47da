//! Checks of the join itself: phase, cause, authentication, AWS calls, `aws-auth`, faults.

use super::{check, groups_without_authenticated, list, same};
use crate::diagnosis::{Cause, Diagnosis};
use crate::judge::verdict::Check;
use crate::observation::phases::phases;
use crate::observation::{
    Audit, Authentication, AwsCall, JournalLine, MappingWrite, Millis, Observation, ObservedEvent,
};
use crate::plan::Plan;
use crate::plan::dns_fault::DnsFault;
use crate::plan::expect::{AuthenticationExpect, CountExpect, Expect, MappingExpect};
use crate::vocabulary::phase::Phase;

/// Without a token, nothing was accepted or refused.
const NO_TOKEN: &str = "not requested: the node sent no token";

/// The phase and, for a scenario that expects a failure, its cause.
pub(super) fn outcome(expect: &Expect, reached: Option<Phase>, diagnosis: Option<&Diagnosis>) -> Vec<Check> {
    let seen = reached.map_or("nothing", Phase::word);
    let mut checks = Vec::new();
    match (expect.phase, expect.diagnosis) {
        (Some(phase), None) => {
            checks.extend(diagnosis.and_then(|found| after_ready(phase, found)));
            checks.push(check(
                "phase",
                reached >= Some(phase),
                format!("{phase} or later"),
                seen,
            ));
        }
        (Some(phase), Some(_)) => checks.push(check("phase", reached == Some(phase), phase.word(), seen)),
        (None, _) => {}
    }
    if let Some(cause) = expect.diagnosis {
        let found = diagnosis.map(|diagnosis| diagnosis.cause);
        let seen = found.map_or("none: the node joined", Cause::word);
        checks.push(check("diagnosis", found == Some(cause), cause.word(), seen));
    }
    for text in &expect.diagnosis_contains {
        let seen = diagnosis.map_or("none: the node joined".to_owned(), Diagnosis::text);
        checks.push(check("diagnosis_contains", seen.contains(text), text, seen));
    }
    checks
}

/// The failed check of a node that was ready, and is the wrong one or was lost.
fn after_ready(phase: Phase, found: &Diagnosis) -> Option<Check> {
    let expected = match found.cause {
        Cause::ProviderIdOfAnotherInstance => "the Node of this instance",
        Cause::NodeLost if phase == Phase::Ready => "a node that stays ready",
        _ => return None,
    };
    Some(check("node", false, expected, &found.seen))
}

/// The node's identity according to the authenticator and the audit log.
pub(super) fn authentication(expect: &AuthenticationExpect, observation: &Observation) -> Vec<Check> {
    let decisions: Vec<&Authentication> = decisions(observation).collect();
    let accepted: Vec<&Authentication> = decisions
        .iter()
        .copied()
        .filter(|decision| decision.is_accepted())
        .collect();
    let mut checks = Vec::new();
    if let Some(required) = expect.accepted {
        let held = !decisions.is_empty() && required != accepted.is_empty();
        let expected = if required {
            "at least one accepted token"
        } else {
            "tokens, but none accepted"
        };
        let seen = match decisions.len() {
            0 => NO_TOKEN.to_owned(),
            all => format!("{} of {all} tokens accepted", accepted.len()),
        };
        checks.push(check("authentication.accepted", held, expected, seen));
    }
    if let Some(required) = &expect.refused {
        let seen = decisions.len() - accepted.len();
        let (matches, expected) = count_matches(required, seen, "refused token");
        let held = matches && !decisions.is_empty();
        let seen = match decisions.len() {
            0 => NO_TOKEN.to_owned(),
            all => format!("{seen} of {}", counted(all, "token")),
        };
        checks.push(check("authentication.refused", held, expected, seen));
    }
    checks.extend(expect.reasons.iter().map(|text| reason_check(text, &decisions)));
    if let Some(role) = &expect.role {
        let roles = unique(decisions.iter().filter_map(|decision| decision.role()));
        checks.push(check(
            "authentication.role",
            roles == [role.as_str()],
            role,
            list(roles),
        ));
    }
    if let Some(username) = &expect.username {
        checks.push(username_check(username, &accepted, observation));
    }
    if let Some(groups) = &expect.groups {
        checks.push(groups_check(groups, &accepted, observation));
    }
    checks
}

fn reason_check(text: &str, decisions: &[&Authentication]) -> Check {
    let rejections = decisions.iter().filter_map(|decision| decision.rejection());
    let reasons: Vec<String> = rejections.map(ToString::to_string).collect();
    let held = reasons.iter().any(|reason| reason.contains(text));
    let seen = list(unique(reasons.iter().map(String::as_str)));
    check("authentication.reasons", held, text, seen)
}

fn username_check(username: &str, accepted: &[&Authentication], observation: &Observation) -> Check {
    let accepted_names = unique(accepted.iter().filter_map(|decision| decision.username()));
    let logged = unique(
        audits(observation)
            .map(|audit| audit.username.as_str())
            .filter(|name| *name == username),
    );
    let held = accepted_names == [username] && logged == [username];
    let seen = format!(
        "authenticator: {}; audit log: {}",
        list(accepted_names),
        list(logged)
    );
    check("authentication.username", held, username, seen)
}

fn groups_check(groups: &[String], accepted: &[&Authentication], observation: &Observation) -> Check {
    let given = accepted
        .last()
        .map(|decision| groups_without_authenticated(decision.groups()));
    let names: Vec<&str> = accepted
        .iter()
        .filter_map(|decision| decision.username())
        .collect();
    let logged = audits(observation)
        .find(|audit| names.contains(&audit.username.as_str()))
        .map(|audit| groups_without_authenticated(&audit.groups));
    let required = groups_without_authenticated(groups);
    let held = [&given, &logged]
        .iter()
        .all(|seen| seen.as_ref().is_some_and(|seen| same(seen, &required)));
    let words = |seen: Option<Vec<String>>| seen.map_or("nothing".to_owned(), list);
    let seen = format!("authenticator: {}; audit log: {}", words(given), words(logged));
    check("authentication.groups", held, list(required), seen)
}

pub(crate) fn decisions(observation: &Observation) -> impl Iterator<Item = &Authentication> {
    observation.timeline.iter().filter_map(|seen| match &seen.what {
        ObservedEvent::Authentication(decision) => Some(decision),
        _ => None,
    })
}

pub(crate) fn audits(observation: &Observation) -> impl Iterator<Item = &Audit> {
    observation.timeline.iter().filter_map(|seen| match &seen.what {
        ObservedEvent::Audit(audit) => Some(audit),
        _ => None,
    })
}

pub(crate) fn calls(observation: &Observation) -> impl Iterator<Item = &AwsCall> {
    observation.timeline.iter().filter_map(|seen| match &seen.what {
        ObservedEvent::Aws(call) => Some(call),
        _ => None,
    })
}

fn unique<'a>(items: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

/// Number and order of AWS calls.
pub(super) fn aws(expect: &Expect, observation: &Observation) -> Vec<Check> {
    let mut checks: Vec<Check> = expect
        .aws
        .iter()
        .map(|(name, required)| count(name, required, observation))
        .collect();
    if !expect.aws_order.is_empty() {
        checks.push(order(&expect.aws_order, &events_in_order(observation)));
    }
    checks
}

/// The call as `service.Operation`, as in `expect.aws`.
pub(crate) fn name_of(call: &AwsCall) -> String {
    format!("{}.{}", call.service.word(), call.operation)
}

fn count(name: &str, required: &CountExpect, observation: &Observation) -> Check {
    let (min, max, subject) = match required {
        CountExpect::Count(count) => (*count, *count, None),
        CountExpect::Range(range) => (
            range.min.unwrap_or(0),
            range.max.unwrap_or(u32::MAX),
            range.subject.as_deref(),
        ),
    };
    let named: Vec<&AwsCall> = calls(observation)
        .filter(|call| is_called(name, &name_of(call)))
        .collect();
    let seen = calls_of(name, required, observation).len();
    let held = u32::try_from(seen).is_ok_and(|seen| (min..=max).contains(&seen));
    let expected = match (min, max) {
        (min, max) if min == max => times(min),
        (min, u32::MAX) => format!("at least {}", times(min)),
        (min, max) => format!("{min} to {}", times(max)),
    };
    let about = subject
        .map(|subject| format!(" about `{subject}`"))
        .unwrap_or_default();
    let others: Vec<&str> = named.iter().filter_map(|call| call.subject.as_deref()).collect();
    let others = if held || subject.is_none() || others.is_empty() {
        String::new()
    } else {
        format!("; other subjects: {}", others.join(", "))
    };
    check(
        format!("aws.{name}"),
        held,
        format!("{expected}{about}"),
        format!("{}{others}", times(u32::try_from(seen).unwrap_or(u32::MAX))),
    )
}

/// The calls that a count is about.
pub(super) fn calls_of<'a>(
    name: &str,
    required: &CountExpect,
    observation: &'a Observation,
) -> Vec<&'a AwsCall> {
    let subject = match required {
        CountExpect::Count(_) => None,
        CountExpect::Range(range) => range.subject.as_deref(),
    };
    let is_about = |call: &AwsCall| {
        subject.is_none_or(|required| {
            let seen = call.subject.as_deref();
            seen.is_some_and(|seen| seen.contains(required))
        })
    };
    calls(observation)
        .filter(|call| is_called(name, &name_of(call)) && is_about(call))
        .collect()
}

/// A name may end in `*`, such as `imds.meta-data/*`.
fn is_called(name: &str, call: &str) -> bool {
    name.strip_suffix('*')
        .map_or(name == call, |start| call.starts_with(start))
}

fn times(count: u32) -> String {
    match count {
        1 => "1 call".to_owned(),
        count => format!("{count} calls"),
    }
}

/// AWS calls as `service.Operation`, phases as `phase.registered`, and starts of units as `start.kubelet.service`.
fn events_in_order(observation: &Observation) -> Vec<String> {
    let mut phases: Vec<(Millis, Phase)> = phases(observation)
        .into_iter()
        .map(|(phase, at)| (at, phase))
        .collect();
    let mut events = Vec::new();
    for seen in &observation.timeline {
        match &seen.what {
            ObservedEvent::Aws(call) => events.push(name_of(call)),
            ObservedEvent::Journal(line) if has_started(line) => {
                let unit = line.unit.as_deref().unwrap_or_default();
                events.push(format!("start.{unit}"));
            }
            _ => {}
        }
        let is_reached = |(at, _): &mut (Millis, Phase)| *at <= seen.at;
        let reached = phases.extract_if(.., is_reached);
        events.extend(reached.map(|(_, phase)| format!("phase.{phase}")));
    }
    events
}

/// systemd reports the start of a oneshot unit when it has finished.
fn has_started(line: &JournalLine) -> bool {
    let starts = ["Started ", "Finished "];
    line.by_systemd && starts.iter().any(|start| line.message.starts_with(start))
}

fn order(required: &[String], made: &[String]) -> Check {
    let mut left = required.iter().peekable();
    for call in made {
        left.next_if(|name| is_called(name, call));
    }
    let seen = match left.peek() {
        None => "in this order".to_owned(),
        Some(name) => {
            let kind = |name: &str| name.split('.').next().map(str::to_owned);
            let kinds: Vec<_> = required.iter().map(|name| kind(name)).collect();
            let alike = made.iter().filter(|call| kinds.contains(&kind(call)));
            format!("{name} is missing or out of order in: {}", list(alike))
        }
    };
    check("aws_order", left.peek().is_none(), list(required), seen)
}

/// Whether a count is in the expected range, and the range in words.
pub(super) fn count_matches(required: &CountExpect, seen: usize, of: &str) -> (bool, String) {
    let (min, max) = match required {
        CountExpect::Count(count) => (*count, *count),
        CountExpect::Range(range) => (range.min.unwrap_or(0), range.max.unwrap_or(u32::MAX)),
    };
    let held = u32::try_from(seen).is_ok_and(|seen| (min..=max).contains(&seen));
    let expected = match (min, max) {
        (min, max) if min == max => counted(min as usize, of),
        (min, u32::MAX) => format!("at least {}", counted(min as usize, of)),
        (min, max) => format!("{min} to {}", counted(max as usize, of)),
    };
    (held, expected)
}

pub(super) fn counted(count: usize, of: &str) -> String {
    format!("{count} {of}{}", if count == 1 { "" } else { "s" })
}

/// Requests that added rows to `aws-auth`.
pub(super) fn mappings(plan: &Plan, observation: &Observation) -> Vec<Check> {
    let writes: Vec<&MappingWrite> = observation
        .timeline
        .iter()
        .filter_map(|seen| match &seen.what {
            ObservedEvent::Mapping(write) => Some(write),
            _ => None,
        })
        .collect();
    let seen = list(writes.iter().map(|write| mapping_text(write)));
    let required = (0..).zip(&plan.expect.aws_auth);
    required
        .map(|(index, required): (usize, _)| {
            let own = plan.role.as_ref().map(|role| role.name.as_str());
            let role = required.role.as_deref().or(own).unwrap_or_default();
            let held = writes.iter().any(|write| is_mapping(write, role, required));
            let by = required.added_by.as_deref().unwrap_or("any user");
            let verb = required.verb.as_deref().unwrap_or("any verb");
            let expected = format!("{verb} by {by}, adding {role}");
            check(format!("aws_auth[{index}]"), held, expected, &seen)
        })
        .collect()
}

fn is_mapping(write: &MappingWrite, role: &str, required: &MappingExpect) -> bool {
    let is =
        |required: &Option<String>, seen: &str| required.as_deref().is_none_or(|required| required == seen);
    let adds = write.added.iter().any(|arn| arn.rsplit('/').next() == Some(role));
    adds && is(&required.added_by, &write.username) && is(&required.verb, &write.verb)
}

fn mapping_text(write: &MappingWrite) -> String {
    let names = write.added.iter().filter_map(|arn| arn.rsplit('/').next());
    format!("{} by {}, adding {}", write.verb, write.username, list(names))
}

/// Checks of every scenario: the fake AWS implements all calls, and every fault fired. A scenario that expects a limit
/// of nodejoin, or allows a call, expects that call without an answer. A refused request to the outside says nothing
/// about AWS.
pub(super) fn implicit_checks(plan: &Plan, observation: &Observation) -> Vec<Check> {
    let is_limit_expected = plan.expect.diagnosis == Some(Cause::HarnessLimit);
    let unknown = calls(observation)
        .filter(|call| !call.known && !is_limit_expected && !call.is_refused_outside())
        .filter(|call| !plan.aws.allows(call.service.word(), &call.operation))
        .map(|call| match call.operation.ends_with(&call.path) {
            // Without a name of its own, the operation is method and path.
            true => name_of(call),
            false => format!("{} {}", name_of(call), call.path),
        });
    let mut unknown: Vec<String> = unknown.collect();
    unknown.dedup();
    let mut checks = vec![check(
        "aws",
        unknown.is_empty(),
        "only operations that the fake AWS implements",
        list(unknown),
    )];
    for (index, fault) in plan
        .faults
        .iter()
        .enumerate()
        .filter(|(_, fault)| !fault.may_fire)
    {
        let fired = observation.faults_fired.get(&index).copied().unwrap_or(0);
        let expected = format!("fires at least once ({})", fault.service.word());
        checks.push(check(
            format!("faults[{index}]"),
            fired > 0,
            expected,
            format!("fired {}", counted(fired as usize, "time")),
        ));
    }
    let is_due = |(_, fault): &(usize, &DnsFault)| !fault.may_fire;
    for (index, fault) in plan.dns_faults.iter().enumerate().filter(is_due) {
        let fired = observation
            .queries()
            .filter(|(_, query)| query.fault == Some(index))
            .count();
        checks.push(check(
            format!("dns_faults[{index}]"),
            fired > 0,
            format!(
                "fires at least once ({})",
                fault.name.as_deref().unwrap_or("every name")
            ),
            format!("fired {}", counted(fired, "time")),
        ));
    }
    checks
}
