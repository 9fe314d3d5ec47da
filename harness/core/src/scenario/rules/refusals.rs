//! Rules for faults that refuse connections: a connection comes before its request, and rules in the node count it.

use crate::input::problems::Problems;
use crate::plan::Plan;
use crate::plan::fault::{Fault, Refusal};
use crate::vocabulary::service::Service;

/// Limit of `after` and of `times`: each connection that they count is a rule in the node.
const MAX_COUNT: u32 = 1000;

pub(super) fn check(index: usize, fault: &Fault, refusal: Refusal, plan: &Plan, problems: &mut Problems<'_>) {
    let fault_key = format!("faults[{index}]");
    let key = |name: &str| format!("{fault_key}.{name}");
    let by_request = [
        ("operation", fault.operation.is_some()),
        ("path", fault.path.is_some()),
        ("above_per_second", fault.above_per_second.is_some()),
    ];
    for (name, _) in by_request.into_iter().filter(|(_, is_set)| *is_set) {
        problems.add(
            &key(name),
            format!("`refuse` cannot be limited by `{name}`"),
            "a connection is refused before its request is known",
            "use `effect: close`, which accepts the connection and closes it after the request",
        );
    }
    if let Refusal::Counted { after, times } = refusal {
        let is_timed = fault.from_seconds.is_some() || fault.until_seconds.is_some();
        if is_timed {
            problems.add(
                &key("effect"),
                "`refuse` cannot be limited by count and by time at once",
                "",
                "remove `after` and `times`, or `from_seconds` and `until_seconds`",
            );
        }
        let counts = [("after", after), ("times", times.unwrap_or(0))];
        for (name, count) in counts.into_iter().filter(|(_, count)| *count > MAX_COUNT) {
            problems.add(
                &key(name),
                format!("`refuse` counts at most {MAX_COUNT} connections, not {count}"),
                "",
                "use `from_seconds` and `until_seconds`",
            );
        }
    }
    let is_same = |other: &Fault| other.service == fault.service && other.refusal().is_some();
    if plan.faults.iter().take(index).any(is_same) {
        problems.add(
            &fault_key,
            format!("a second fault refuses connections to {}", fault.service.word()),
            "the node could not tell which of them refused a connection",
            "use `effect: close` for one of them",
        );
    }
    if fault.service == Service::Imds && plan.instance.metadata.ipv6 {
        problems.add(
            &key("effect"),
            "`refuse` does not affect the IPv6 endpoint of the metadata service",
            "",
            "use `effect: close`, or remove `instance.metadata.ipv6`",
        );
    }
}

/// An account is served without a node, whose rules could refuse connections.
pub(in crate::scenario) fn check_account(faults: &[Fault], problems: &mut Problems<'_>) {
    for (index, _) in faults
        .iter()
        .enumerate()
        .filter(|(_, fault)| fault.refusal().is_some())
    {
        problems.add(
            &format!("faults[{index}].effect"),
            "`nodejoin aws` cannot refuse connections",
            "all services share one port, and all instances",
            "use `effect: close`, which accepts the connection and closes it after the request",
        );
    }
}
