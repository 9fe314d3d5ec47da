//! Connections to services of AWS that rules in the node refuse: `guest/refuse` sets them and counts.

use std::collections::BTreeSet;

use nodejoin_core::plan::fault::{Fault, Refusal, Service};
use nodejoin_core::plan::link_local;

/// Prints all totals, after the program that counts has counted once more.
pub(crate) const SCRIPT: &str = "cd /opt/nodejoin && : > refused.ask; tries=0; \
     while { [ -e refused.ask ] || [ -e refused.answer ]; } && [ $tries -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done; \
     sed 's/^/nodejoin-refused /' refused 2>/dev/null || :";
/// Prefix of a line with a service and a total.
const MARK: &str = "nodejoin-refused ";
/// Stands for a number without a limit.
const UNLIMITED: &str = "-";

/// How many connections to a service the node's rules have refused since its first boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedTotal {
    pub service: Service,
    pub total: u32,
}

impl RefusedTotal {
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (service, total) = line.strip_prefix(MARK)?.split_once(' ')?;
        Some(Self {
            service: Service::named(service)?,
            total: total.trim_end().parse().ok()?,
        })
    }
}

/// Whether a fault refuses connections.
#[must_use]
pub fn are_in(faults: &[Fault]) -> bool {
    faults.iter().any(|fault| fault.refusal().is_some())
}

/// The addresses of AWS host names in the node, separated by spaces.
pub(crate) fn tls_addresses(faults: &[Fault]) -> String {
    let refused = faults.iter().filter(|fault| fault.refusal().is_some());
    let own = refused.map(|fault| link_local::of_refused(fault.service));
    let own = own.filter(|address| *address != link_local::METADATA);
    let all: BTreeSet<_> = own.chain([link_local::AWS_SERVICES]).collect();
    let all: Vec<String> = all.iter().map(ToString::to_string).collect();
    all.join(" ")
}

/// A line for `guest/refuse` for each fault that refuses connections.
pub(crate) fn lines(faults: &[Fault]) -> String {
    let lines = faults
        .iter()
        .filter_map(|fault| Some(line(fault.service, fault.refusal()?)));
    lines.collect::<Vec<_>>().join("\n")
}

fn line(service: Service, refusal: Refusal) -> String {
    let limit = |number: Option<String>| number.unwrap_or_else(|| UNLIMITED.to_owned());
    let hundredths = |seconds: f64| format!("{:.0}", seconds * 100.0);
    let (after, times, from, until) = match refusal {
        Refusal::Counted { after, times } => (after, times, None, None),
        Refusal::Timed { from, until } => (0, None, Some(hundredths(from)), until.map(hundredths)),
    };
    let port = match service {
        Service::Imds => 80,
        _ => 443,
    };
    let times = limit(times.map(|times| times.to_string()));
    let (address, from, until) = (link_local::of_refused(service), limit(from), limit(until));
    format!(
        "{} {address} {port} {after} {times} {from} {until}",
        service.word()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(more: &str) -> Fault {
        serde_json::from_str(&format!("{{ \"effect\": \"refuse\", {more} }}")).unwrap()
    }

    #[test]
    fn each_refused_service_has_a_line_and_an_address() {
        let faults = [
            fault(r#""service": "imds", "until_seconds": 2.5"#),
            fault(r#""service": "eks", "after": 1, "times": 3"#),
            fault(r#""service": "sts", "after": 4"#),
        ];
        let faults = &faults[..];
        let (eks, sts) = (
            link_local::of_refused(Service::Eks),
            link_local::of_refused(Service::Sts),
        );
        let expected = [
            "imds 169.254.169.254 80 0 - 0 250".to_owned(),
            format!("eks {eks} 443 1 3 - -"),
            format!("sts {sts} 443 4 - - -"),
        ];
        assert_eq!(lines(faults), expected.join("\n"));
        assert_eq!(tls_addresses(faults), format!("169.254.171.1 {eks} {sts}"));
        assert_eq!(
            (lines(&[]).as_str(), tls_addresses(&[]).as_str()),
            ("", "169.254.171.1")
        );
    }

    #[test]
    fn totals_are_lines_of_the_output() {
        let total = |line: &str| RefusedTotal::parse(line).map(|seen| (seen.service, seen.total));
        assert_eq!(total("nodejoin-refused imds 3"), Some((Service::Imds, 3)));
        assert_eq!(total("nodejoin-refused dynamodb 3"), None);
        assert_eq!(total("nodejoin-refused eks x"), None);
        assert_eq!(total("{}"), None);
    }
}
