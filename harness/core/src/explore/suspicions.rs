//! Values on a machine that are wrong in every world.

use std::net::IpAddr;

use crate::compare::MachineState;
use crate::plan::Plan;
use crate::plan::aws::IpFamily;
use crate::plan::expect::{Expect, UnitDetails, UnitExpect};
use crate::vocabulary::cidr::Cidr;

const ARGUMENTS: &str = "kubelet arguments";
/// What programs print for a value that they do not have.
const NOTHING: [&str; 4] = ["null", "None", "nil", "undefined"];
/// How pages of HTML begin.
const HTML: [&str; 4] = ["<!doctype", "<html", "<head>", "<body>"];
/// Length of the beginning of a page by which it is recognized: the shortest of these texts without its last character.
const HTML_PREFIX: usize = 5;

/// A value that is wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspicion {
    /// The part of the machine, such as `kubelet arguments`.
    pub part: String,
    /// What is wrong, in one sentence.
    pub what: String,
    /// An expectation that the machine does not meet, and that one with any right value meets. `None` if there is
    /// none.
    pub expect: Option<Expect>,
}

/// What is wrong with a value, and the text that a machine with a right one lacks.
struct Wrong {
    what: String,
    text: Option<String>,
}

impl Wrong {
    fn new(what: impl Into<String>, text: Option<&str>) -> Self {
        Self {
            what: what.into(),
            text: text.map(str::to_owned),
        }
    }
}

/// What is wrong on the machine of a plan.
#[must_use]
pub fn suspicions(state: &MachineState, plan: &Plan) -> Vec<Suspicion> {
    let mut found = Vec::new();
    let mut add = |part: &str, what: String, expect: Option<Expect>| {
        found.push(Suspicion {
            part: part.to_owned(),
            what,
            expect,
        });
    };
    for line in state.lines("failed units") {
        let unit = line.split(' ').next().map(has_succeeded);
        add("failed units", format!("the unit {line}"), unit);
    }
    for line in state.lines(ARGUMENTS) {
        if let Some(wrong) = wrong_argument(line, plan) {
            add(ARGUMENTS, wrong.what, wrong.text.map(lacks_argument));
        }
    }
    for part in state.names().filter(|part| part.starts_with("file ")) {
        // The first line has mode and owner.
        let lines = state.lines(part);
        let content = lines.get(1..).unwrap_or_default().join("\n");
        if let Some(wrong) = wrong_file(part, &content, plan) {
            let path = part.trim_start_matches("file ");
            let expect = wrong.text.map(|text| lacks_text(path, text));
            add(part, wrong.what, expect);
        }
    }
    found
}

/// The expectation that a unit has not failed.
pub(super) fn has_succeeded(unit: &str) -> Expect {
    let mut expect = Expect::default();
    let details = UnitDetails {
        show: [("Result".to_owned(), "success".to_owned())].into(),
        ..UnitDetails::default()
    };
    expect.units.insert(unit.to_owned(), UnitExpect::Details(details));
    expect
}

fn lacks_argument(argument: String) -> Expect {
    let mut expect = Expect::default();
    expect.kubelet.get_or_insert_default().argv_absent.push(argument);
    expect
}

fn lacks_text(path: &str, text: String) -> Expect {
    let mut expect = Expect::default();
    expect.files.entry(path.to_owned()).or_default().lacks.push(text);
    expect
}

fn wrong_argument(argument: &str, plan: &Plan) -> Option<Wrong> {
    let (flag, value) = argument.split_once('=')?;
    if !flag.starts_with("--") {
        return None;
    }
    if value.is_empty() {
        // A right value begins with the same text.
        return Some(Wrong::new(format!("`{flag}` has an empty value"), None));
    }
    if let Some(at) = html_at(value) {
        let what = format!("`{flag}` has a page of HTML as its value");
        let end = flag.len() + 1 + at;
        return Some(Wrong::new(what, argument.get(..end + HTML_PREFIX)));
    }
    let is_nothing = |value: &str| NOTHING.contains(&value);
    if is_nothing(value)
        || value
            .split(',')
            .any(|pair| pair.split_once('=').is_some_and(|(_, it)| is_nothing(it)))
    {
        let what = format!("`{argument}` has the value of a missing one");
        return Some(Wrong::new(what, Some(argument)));
    }
    if flag == "--cluster-dns" {
        let wrong = value.split(',').find_map(|address| wrong_dns(address, plan));
        return wrong.map(|what| Wrong::new(what, Some(argument)));
    }
    None
}

fn wrong_file(part: &str, content: &str, plan: &Plan) -> Option<Wrong> {
    let path = part.trim_start_matches("file ");
    // Pages that a program of the machine serves are not of the script.
    if let Some(at) = html_at(content)
        && !path.ends_with(".html")
    {
        return Some(Wrong::new(
            "it holds a page of HTML",
            content.get(at..at + HTML_PREFIX),
        ));
    }
    // A name in place of a value has two braces.
    let is_object = content.starts_with('{') && !content.starts_with("{{");
    if !(is_object || path.ends_with(".json")) || content.starts_with("SHA-256 ") {
        return None;
    }
    let json: serde_json::Value = match serde_json::from_str(content) {
        Ok(json) => json,
        // A scanner of several values reads an empty file as none.
        Err(error) => return Some(Wrong::new(format!("it is not valid JSON: {error}"), None)),
    };
    let servers = json.get("clusterDNS").and_then(|servers| servers.as_array());
    let addresses = servers.into_iter().flatten().filter_map(|one| one.as_str());
    addresses.into_iter().find_map(|address| {
        let what = wrong_dns(address, plan)?;
        Some(Wrong::new(what, Some(address)))
    })
}

/// Pods find the cluster's DNS at an address of a Service, or at a cache on the node.
fn wrong_dns(address: &str, plan: &Plan) -> Option<String> {
    let services = match plan.cluster.eks.ip_family {
        IpFamily::Ipv4 => plan.cluster.service_ipv4_cidr.as_deref()?,
        IpFamily::Ipv6 => plan.cluster.eks.service_ipv6_cidr.as_deref()?,
    };
    let outside = || {
        Some(format!(
            "the DNS address {address} is outside the CIDR of services {services}"
        ))
    };
    match address.parse() {
        Err(_) => Some(format!("the DNS address `{address}` is not an IP address")),
        Ok(IpAddr::V4(ip)) if ip.is_link_local() => None,
        Ok(IpAddr::V4(ip)) => match services.parse::<Cidr>() {
            Ok(cidr) if cidr.contains(ip) => None,
            _ => outside(),
        },
        Ok(IpAddr::V6(ip)) => match services.split_once('/') {
            // The CIDR of services has at least 108 bits in EKS.
            Some((network, _)) if shares_network(ip, network) => None,
            _ => outside(),
        },
    }
}

fn shares_network(ip: std::net::Ipv6Addr, network: &str) -> bool {
    const HOST_BITS: u32 = 20;
    network
        .parse::<std::net::Ipv6Addr>()
        .is_ok_and(|network| u128::from(ip) >> HOST_BITS == u128::from(network) >> HOST_BITS)
}

/// Where a page of HTML begins.
fn html_at(text: &str) -> Option<usize> {
    let text = text.to_ascii_lowercase();
    HTML.iter().filter_map(|start| text.find(start)).min()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::testing::plan;

    fn found(parts: &[(&str, &str)]) -> Vec<String> {
        suspicious(parts).into_iter().map(|one| one.what).collect()
    }

    fn suspicious(parts: &[(&str, &str)]) -> Vec<Suspicion> {
        let mut plan = plan();
        plan.cluster.service_ipv4_cidr = Some("10.100.0.0/16".to_owned());
        let parts: BTreeMap<_, _> = parts
            .iter()
            .map(|(part, text)| ((*part).to_owned(), (*text).to_owned()))
            .collect();
        let state = MachineState::of_machine(parts);
        suspicions(&state, &plan)
    }

    #[test]
    fn wrong_arguments_of_the_kubelet_are_named() {
        let found = found(&[(
            ARGUMENTS,
            "--v=2\n--node-ip=\n--node-labels=a=b,c=None\n--hostname-override=<html>\n--cluster-dns=172.20.0.10\n\
             --provider-id=null\n--node-labels=a=b,c=\n",
        )]);
        assert_eq!(
            found,
            [
                "`--node-ip` has an empty value",
                "`--node-labels=a=b,c=None` has the value of a missing one",
                "`--hostname-override` has a page of HTML as its value",
                "the DNS address 172.20.0.10 is outside the CIDR of services 10.100.0.0/16",
                "`--provider-id=null` has the value of a missing one",
            ]
        );
    }

    #[test]
    fn files_and_units_that_nothing_can_use_are_named() {
        let found = found(&[
            ("failed units", "containerd.service failed failed\n"),
            ("file /etc/a.json", "rw-r--r-- root:root\n{\"a\": }\n"),
            (
                "file /etc/b",
                "rw-r--r-- root:root\n<!DOCTYPE html><title>502</title>\n",
            ),
            (
                "file /etc/c.json",
                "rw-r--r-- root:root\n{\"clusterDNS\": [\"10.100.0.10\"]}\n",
            ),
            (
                "file /etc/d.json",
                "rw-r--r-- root:root\n{\"clusterDNS\": [\"10.101.0.10\"]}\n",
            ),
            ("file /etc/large.json", "rw-r--r-- root:root\nSHA-256 0123\n"),
            (
                "file /etc/hostname",
                "rw-r--r-- root:root\n{{ instance.host_name }}\n",
            ),
        ]);
        assert_eq!(
            found,
            [
                "the unit containerd.service failed failed",
                "it is not valid JSON: expected value at line 1 column 7",
                "it holds a page of HTML",
                "the DNS address 10.101.0.10 is outside the CIDR of services 10.100.0.0/16",
            ]
        );
    }

    #[test]
    fn an_expectation_tells_the_wrong_value_from_right_ones() {
        let found = suspicious(&[
            (
                ARGUMENTS,
                "--node-ip=\n--hostname-override=a<HTML>502\n--provider-id=null\n",
            ),
            ("failed units", "containerd.service failed failed\n"),
            (
                "file /etc/b",
                "rw-r--r-- root:root\n\n<!DOCTYPE html><title>502</title>\n",
            ),
            (
                "file /etc/d.json",
                "rw-r--r-- root:root\n{\"clusterDNS\": [\"10.101.0.10\"]}\n",
            ),
        ]);
        let expected = found.iter().map(|one| one.expect.clone().unwrap_or_default());
        let expected: Vec<Expect> = expected.collect();
        assert_eq!(expected[0], has_succeeded("containerd.service"));
        assert_eq!(expected[1], Expect::default());
        assert_eq!(
            expected[2],
            lacks_argument("--hostname-override=a<HTML".to_owned())
        );
        assert_eq!(expected[3], lacks_argument("--provider-id=null".to_owned()));
        assert_eq!(expected[4], lacks_text("/etc/b", "<!DOC".to_owned()));
        assert_eq!(expected[5], lacks_text("/etc/d.json", "10.101.0.10".to_owned()));
    }

    #[test]
    fn a_cache_on_the_node_may_answer_for_dns() {
        assert_eq!(found(&[(ARGUMENTS, "--cluster-dns=169.254.20.10\n")]), [""; 0]);
    }
}
