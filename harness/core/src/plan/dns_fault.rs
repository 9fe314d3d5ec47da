//! Faults of the node's DNS resolver, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fault of the node's DNS resolver: which queries fail, how, and for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DnsFault {
    /// Host name in lower case; a first `*` matches any beginning. `*.eks.amazonaws.com` matches the endpoint of the
    /// cluster (default: every name).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of queries that fail. A look-up queries the A and the AAAA record, and repeats both after some failures
    /// (default: every query).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// Seconds after the first matching query during which queries fail (default: all the time).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_seconds: Option<f64>,
    /// What the resolver responds.
    pub effect: DnsEffect,
    /// Whether the verdict may pass without the fault ever firing.
    #[serde(default)]
    pub may_fire: bool,
}

/// What the resolver responds to a query that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DnsEffect {
    /// SERVFAIL: the resolver could not find out. Clients may repeat the query at once.
    Servfail,
    /// REFUSED: the resolver does not want to respond.
    Refused,
    /// NXDOMAIN: the name does not exist.
    Nxdomain,
    /// A response without records: the name exists and has no address.
    Empty,
    /// No response: the client waits until its timeout.
    NoAnswer,
}

impl DnsFault {
    /// Whether the fault is about this name, in lower case and without its final dot.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match self.name.as_deref() {
            None => true,
            Some(pattern) => match pattern.strip_prefix('*') {
                Some(end) => name.ends_with(end),
                None => name == pattern,
            },
        }
    }
}

impl DnsEffect {
    /// The response in words, after "the resolver".
    #[must_use]
    pub fn response(self) -> &'static str {
        match self {
            Self::Servfail => "responds SERVFAIL",
            Self::Refused => "responds REFUSED",
            Self::Nxdomain => "responds NXDOMAIN",
            Self::Empty => "responds without an address",
            Self::NoAnswer => "does not respond",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_matches_a_name_or_its_end() {
        let matches = |pattern: Option<&str>, name: &str| {
            let fault = DnsFault {
                name: pattern.map(str::to_owned),
                times: None,
                for_seconds: None,
                effect: DnsEffect::Servfail,
                may_fire: false,
            };
            fault.matches(name)
        };
        assert!(matches(None, "a.example.com"));
        assert!(matches(Some("a.example.com"), "a.example.com"));
        assert!(!matches(Some("a.example.com"), "b.a.example.com"));
        assert!(matches(Some("*.example.com"), "b.a.example.com"));
        assert!(!matches(Some("*.example.com"), "example.com"));
        assert!(!matches(Some("*.example.com"), "a.example.com.ec2.internal"));
    }
}
