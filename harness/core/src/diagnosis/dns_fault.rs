//! Names that the node needs and that a DNS fault of the scenario does not resolve.

use super::facts::{Evidence, Facts};
use super::nodeadm;
use super::script_output::{is_failure, lines_before_the_end};
use super::types::Finding;
use super::unanswered::{WAITING, is_about};
use crate::observation::{DnsQuery, Millis};
use crate::plan::dns_fault::DnsFault;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// Messages of a kubelet that cannot resolve a name.
const OF_A_KUBELET: [&str; 4] = [
    "server misbehaving",
    "no such host",
    "Temporary failure in name resolution",
    "i/o timeout",
];

/// A query that a fault failed, and after which no query of the name succeeded.
struct Miss<'a> {
    at: Millis,
    name: &'a str,
    index: usize,
    fault: &'a DnsFault,
}

/// The script, or nodeadm, ended because a fault did not resolve a name, or repeats the look-up.
pub(super) fn script_needs_name(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let end = lines_before_the_end(facts);
    let by_nodeadm = nodeadm::last_error(facts);
    let misses = misses(facts);
    let is_of_nodeadm = |miss: &Miss<'_>| {
        by_nodeadm
            .as_deref()
            .is_some_and(|error| is_about(error, miss.name))
    };
    let is_named = |miss: &Miss<'_>| {
        end.iter().any(|(_, line)| is_about(&line.message, miss.name)) || is_of_nodeadm(miss)
    };
    let is_waited_for = |miss: &Miss<'_>| {
        facts.user_data_done.is_none() && failed_queries(facts, miss.name).count() >= WAITING
    };
    let miss = misses
        .iter()
        .rev()
        .find(|miss| is_named(miss) || is_waited_for(miss) || is_last_of_a_failed_script(facts, miss))?;
    let has_ended =
        facts.user_data_done.is_some() || facts.user_data_lines().any(|(_, line)| is_failure(line));
    finding(facts, miss, "the script", has_ended || is_of_nodeadm(miss))
}

/// The kubelet does not reach the API server because a fault does not resolve its name.
pub(super) fn kubelet_needs_name(facts: &Facts<'_>) -> Option<Finding> {
    if facts.is_before(Phase::Configured) || !facts.is_before(Phase::Authenticated) {
        return None;
    }
    let misses = misses(facts);
    let miss = misses.iter().rev().find(|miss| {
        facts.kubelet().any(|(_, line)| {
            let is_lookup = OF_A_KUBELET.iter().any(|words| line.message.contains(words));
            is_lookup && is_about(&line.message, miss.name)
        })
    })?;
    // A kubelet repeats its requests without end.
    finding(facts, miss, "the kubelet", false)
}

/// `has_ended`: what needs the name does not request it again.
fn finding(facts: &Facts<'_>, miss: &Miss<'_>, who: &str, has_ended: bool) -> Option<Finding> {
    let Miss {
        name, index, fault, ..
    } = miss;
    let count = failed_queries(facts, name).count();
    let queries = if count == 1 { "query" } else { "queries" };
    let response = fault.effect.response();
    let evidence = Evidence::new(
        "resolver",
        miss.at,
        format!("{response}: {name} ({count} {queries})"),
    );
    let is_temporary = fault.times.is_some() || fault.for_seconds.is_some();
    // A trial has this fault for a name that its own report calls wrong.
    let is_misspelt = facts.plan.is_trial && !is_temporary && fault.may_fire;
    let by = match is_misspelt {
        true => "EKS has no such name, and".to_owned(),
        false => format!("by the fault `dns_faults[{index}]` of the scenario,"),
    };
    let because =
        format!("the name {name} does not resolve, and {who} needs it: {by} the resolver {response}");
    let remedy = match is_temporary {
        true => {
            "repeat the look-up, with a pause, until the name resolves: resolvers can fail for a moment after a boot"
        }
        false if is_misspelt => {
            "correct the domain of the endpoint: the report before the boot names the right one"
        }
        false => "let the script continue without the name, or limit the fault by `times` or `for_seconds`",
    };
    let finding = facts.found(Cause::NameNotResolved, because, &evidence, remedy.to_owned())?;
    Some(Finding {
        // The failure lasts since the first of these queries, not only since the last.
        at: failed_queries(facts, name).next().unwrap_or(miss.at),
        // A repeated look-up succeeds after a temporary fault.
        is_final: has_ended || !is_temporary,
        ..finding
    })
}

/// The last failed query of each name that has not resolved since.
fn misses<'a>(facts: &Facts<'a>) -> Vec<Miss<'a>> {
    let mut misses: Vec<Miss<'a>> = Vec::new();
    for (at, query) in facts.observation.queries() {
        misses.retain(|miss| miss.name != query.name);
        let fault = query
            .fault
            .and_then(|index| Some((index, facts.plan.dns_faults.get(index)?)));
        if let Some((index, fault)) = fault {
            let name = query.name.as_str();
            misses.push(Miss {
                at,
                name,
                index,
                fault,
            });
        }
    }
    misses
}

fn failed_queries(facts: &Facts<'_>, name: &str) -> impl Iterator<Item = Millis> {
    let is_it = move |query: &DnsQuery| query.fault.is_some() && query.name == name;
    facts
        .observation
        .queries()
        .filter_map(move |(at, query)| is_it(query).then_some(at))
}

/// Whether a script failed silently, and the query was the last thing that its node requested.
fn is_last_of_a_failed_script(facts: &Facts<'_>, miss: &Miss<'_>) -> bool {
    let Some((end, _)) = facts.user_data_lines().find(|(_, line)| is_failure(line)) else {
        return false;
    };
    let is_later = |at: Millis| at > miss.at && at <= end;
    miss.at <= end
        && !facts.calls().any(|(at, _)| is_later(at))
        && !facts.observation.queries().any(|(at, _)| is_later(at))
}
