//! Rules for faults of the node's DNS resolver.

use crate::input::problems::Problems;
use crate::plan::Plan;
use crate::plan::dns_fault::DnsFault;
use crate::vocabulary::outside_name::is_host;

pub(super) fn check(plan: &Plan, problems: &mut Problems<'_>) {
    for (index, fault) in plan.dns_faults.iter().enumerate() {
        let key = |name: &str| format!("dns_faults[{index}].{name}");
        if fault.name.as_deref().is_some_and(|name| !is_pattern(name)) {
            problems.add(
                &key("name"),
                "invalid name: expected a host name in lower case, or `*` and the end of one",
                "",
                "for example `*.eks.amazonaws.com`",
            );
        }
        limits(fault, &key, problems);
    }
}

fn limits(fault: &DnsFault, key: &impl Fn(&str) -> String, problems: &mut Problems<'_>) {
    if fault.times == Some(0) {
        problems.add(
            &key("times"),
            "the fault affects no query",
            "",
            "remove `times` to affect every query",
        );
    }
    if fault
        .for_seconds
        .is_some_and(|seconds| !(0.001..=86_400.0).contains(&seconds))
    {
        problems.add(
            &key("for_seconds"),
            "invalid time: expected 0.001 to 86400 seconds",
            "",
            "remove `for_seconds` to affect every query",
        );
    }
    if fault.times.is_some() && fault.for_seconds.is_some() {
        problems.add(
            &key("for_seconds"),
            "a DNS fault cannot be limited by count and by time at once",
            "",
            "remove `times` or `for_seconds`",
        );
    }
}

fn is_pattern(name: &str) -> bool {
    let rest = name.strip_prefix('*').unwrap_or(name);
    let end = rest
        .strip_prefix('.')
        .filter(|_| rest.len() < name.len())
        .unwrap_or(rest);
    is_host(end) && !end.bytes().any(|byte| byte.is_ascii_uppercase())
}
