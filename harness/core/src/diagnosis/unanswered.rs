//! What the harness does not answer: names outside, and calls of AWS that it does not emulate.

use std::collections::BTreeSet;

use super::facts::{Evidence, Facts};
use super::other_cluster;
use super::script_output::{is_failure, lines_before_the_end};
use super::types::Finding;
use crate::observation::{AwsCall, CalledService, Millis, ObservedEvent};
use crate::plan::Network;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::not_emulated;
use crate::vocabulary::outside_name::{is_of_aws, is_private};
use crate::vocabulary::phase::Phase;
use crate::vocabulary::region::Region;
use crate::vocabulary::service::Service;

/// Requests for the same name, or calls of the same operation, that count as waiting for it.
pub(super) const WAITING: usize = 5;

/// The script needs a name that no resolver of the node knows.
pub(super) fn unresolved_name(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let end = lines_before_the_end(facts);
    let all: Vec<(Millis, &str)> = misses(facts).collect();
    // The resolver library tries a name with the search domain, too.
    let is_searched = |name: &str| {
        all.iter()
            .any(|(_, other)| name.starts_with(&format!("{other}.")))
    };
    let misses: Vec<(Millis, &str)> = all
        .iter()
        .copied()
        .filter(|(_, name)| !is_searched(name))
        .collect();
    let is_named = |name: &str| end.iter().any(|(_, line)| is_about(&line.message, name));
    let counted = |name: &str| misses.iter().filter(|(_, missed)| *missed == name).count();
    let is_waited_for = |name: &str| facts.user_data_done.is_none() && counted(name) >= WAITING;
    let (at, name) = misses
        .iter()
        .rev()
        .copied()
        .find(|(_, name)| is_named(name) || is_waited_for(name))?;
    // The failure lasts since the first of these queries, not only since the last.
    let first = misses
        .iter()
        .find(|(_, missed)| *missed == name)
        .map_or(at, |(first, _)| *first);
    let requests = match counted(name) {
        1 => "1 query".to_owned(),
        count => format!("{count} queries"),
    };
    let evidence = Evidence::new("resolver", at, format!("no address for {name} ({requests})"));
    if is_private(name) {
        let because = format!("the name {name} does not resolve, and the script needs it");
        if let Some(evidence) = other_cluster::endpoint(facts, name, at) {
            let because = format!("{because}: it is the endpoint of another cluster");
            let remedy = other_cluster::remedy_for_endpoint(name);
            let finding = facts.final_(Cause::NameNotResolved, because, &evidence, remedy)?;
            return Some(Finding { at: first, ..finding });
        }
        let remedy = match name.ends_with(".eks.amazonaws.com") {
            true => format!(
                "pass the endpoint of this cluster: https://{} (`{{{{ cluster.endpoint }}}}` in a scenario)",
                facts.plan.cluster.endpoint_host(&facts.plan.region)
            ),
            false => "correct the name, or let the script continue without it".to_owned(),
        };
        let finding = facts.final_(Cause::NameNotResolved, because, &evidence, remedy)?;
        return Some(Finding { at: first, ..finding });
    }
    if let Some((zone, region)) = zone_in(name).filter(|_| is_of_aws(name)) {
        let because = format!(
            "the name {name} does not resolve, and the script needs it: `{zone}` is not a region but begins with one, \
             `{region}`, as the names of zones do"
        );
        let remedy = "take the region from `placement/region` of the metadata service: the name of a zone is not always the \
                      region and one letter"
            .to_owned();
        let finding = facts.final_(Cause::NameNotResolved, because, &evidence, remedy)?;
        return Some(Finding { at: first, ..finding });
    }
    let what = match is_of_aws(name) {
        true => "which is the host name of no AWS service in a region that nodejoin knows",
        false => "a name outside",
    };
    let open = match facts.plan.network {
        Network::Isolated => facts.plan.key_hint("network: open"),
        Network::Open => "let the resolver of the container engine know the name".to_owned(),
    };
    let answer = facts
        .plan
        .key_hint(&format!("aws: {{ answers: [{{ host: {name}, file: FILE }}] }}"));
    let remedy =
        format!("{open}; or put the file into the node with an overlay; or, to answer the request, {answer}");
    let because = format!("a limit of nodejoin, not an error of the script: it needs {name}, {what}");
    let finding = facts.final_(Cause::HarnessLimit, because, &evidence, remedy)?;
    Some(Finding { at: first, ..finding })
}

/// The script ended with the error of a call that the fake AWS does not emulate.
pub(super) fn reported_call(facts: &Facts<'_>) -> Option<Finding> {
    let lines = lines_before_the_end(facts);
    let is_reported = lines.iter().any(|(_, line)| is_unanswered_code(&line.message));
    let (at, call) = last_unanswered(facts).filter(|_| is_reported)?;
    unanswered_call(facts, at, call)
}

fn is_unanswered_code(message: &str) -> bool {
    [not_emulated::CODE, not_emulated::UPSTREAM_CODE]
        .iter()
        .any(|code| message.contains(code))
}

/// The script ended after such a call, and its output has no cause.
pub(super) fn unreported_call(facts: &Facts<'_>) -> Option<Finding> {
    let (at, call) = last_unanswered(facts)?;
    let last = facts
        .calls()
        .filter(|(_, call)| call.service != Service::Imds)
        .last();
    let has_ended = facts.user_data_lines().any(|(_, line)| is_failure(line));
    let is_last = last.is_some_and(|(_, other)| std::ptr::eq(other, call));
    let count = facts.calls().filter(|(_, other)| is_like(other, call)).count();
    let is_polled = facts.user_data_done.is_none() && count >= WAITING;
    match (has_ended && is_last) || is_polled {
        true => unanswered_call(facts, at, call),
        false => None,
    }
}

/// The last call without an answer that the scenario does not allow.
fn last_unanswered<'a>(facts: &Facts<'a>) -> Option<(Millis, &'a AwsCall)> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let is_unanswered = |call: &AwsCall| {
        !call.known
            && call.service != Service::Imds
            && call.service != CalledService::Outside
            && !facts.plan.aws.allows(call.service.word(), &call.operation)
    };
    facts.calls().filter(|(_, call)| is_unanswered(call)).last()
}

fn is_like(one: &AwsCall, other: &AwsCall) -> bool {
    one.service == other.service && one.operation == other.operation
}

fn unanswered_call(facts: &Facts<'_>, at: Millis, call: &AwsCall) -> Option<Finding> {
    let (service, operation) = (call.service.word(), &call.operation);
    if call.error.as_deref() == Some(not_emulated::UPSTREAM_CODE) {
        return silent_upstream(facts, at, call);
    }
    let message = call.message.as_deref().unwrap_or_default();
    let is_of_resource = not_emulated::is_of_resource(message);
    let what = match not_emulated::parameter(message) {
        None if is_of_resource => format!("calls {operation} of {}, which", call.host),
        Some(parameter) => format!("calls {operation} of {service} with {parameter}, a parameter that"),
        None => format!("calls {operation} of {service}, which"),
    };
    let because =
        format!("a limit of nodejoin, not an error of the script: it {what} nodejoin does not emulate");
    let request = match is_of_resource {
        true => format!("host: {}, path: {}", call.host, call.path),
        false => format!("service: {service}, operation: {operation}"),
    };
    let answer = format!("aws: {{ answers: [{{ {request}, json: {{}} }}] }}");
    let remedy = format!("to add the answer, {}", facts.plan.key_hint(&answer));
    // The same error since the first of these calls: a script that polls does not start anew.
    let first = facts.calls().find(|(_, other)| is_like(other, call));
    let finding = facts.final_(Cause::HarnessLimit, because, &Evidence::call(at, call), remedy)?;
    Some(Finding {
        at: first.map_or(at, |(first, _)| first),
        ..finding
    })
}

/// The emulator in `aws.upstream` does not respond.
fn silent_upstream(facts: &Facts<'_>, at: Millis, call: &AwsCall) -> Option<Finding> {
    let service = call.service.word();
    let url = facts.plan.aws.upstream_of(service)?;
    let because = format!(
        "not an error of the script: it calls {} of {service}, and {url}, the upstream of {service}, does not respond",
        call.operation
    );
    let remedy =
        format!("start the emulator on the machine that runs nodejoin, or correct `aws.upstream.{service}`");
    let first = facts.calls().find(|(_, other)| is_like(other, call));
    let finding = facts.final_(Cause::HarnessLimit, because, &Evidence::call(at, call), remedy)?;
    Some(Finding {
        at: first.map_or(at, |(first, _)| first),
        ..finding
    })
}

/// Queries without an address, except reverse look-ups and names whose requests are known.
fn misses<'a>(facts: &Facts<'a>) -> impl Iterator<Item = (Millis, &'a str)> + use<'a> {
    let requested: BTreeSet<&str> = facts
        .refused_outside()
        .map(|(_, call)| call.host.as_str())
        .collect();
    let timeline = facts.observation.timeline.iter();
    timeline.filter_map(move |seen| match &seen.what {
        ObservedEvent::Dns(query)
            if !query.answered
                && query.fault.is_none()
                && !query.name.ends_with(".arpa")
                && !requested.contains(query.name.as_str()) =>
        {
            Some((seen.at, query.name.as_str()))
        }
        _ => None,
    })
}

/// Whether a message names a host, as a whole word. Queries have names in lower case, and endpoints of EKS have
/// capitals.
pub(super) fn is_about(message: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    message
        .split(|c: char| !is_part(c) && c != '.')
        .any(|word| word.trim_matches('.').eq_ignore_ascii_case(name))
}

/// The part of a host name that begins with the name of a region and is longer, and that region.
fn zone_in(name: &str) -> Option<(&str, &'static str)> {
    name.split('.').find_map(|part| {
        let region = Region::all().find(|region| part.starts_with(region.as_str()))?;
        (part != region.as_str()).then_some((part, region.as_str()))
    })
}
