//! Calls of the bootstrap script for IPv6 clusters at which it exits, or which give pods a wrong address of DNS.

use std::net::Ipv4Addr;

use super::ami::AmiChoice;
use super::bootstrap_call::BootstrapCall;
use super::stated::Stated;

const CIDR: &str = "--service-ipv6-cidr";
/// The variable from which the script takes that value without the flag.
const CIDR_VARIABLE: &str = "SERVICE_IPV6_CIDR";
const DNS: &str = "--dns-cluster-ip";
/// The first release of AMIs whose script takes the address of DNS in place of the network (amazon-eks-ami 2e5a10d7).
const DNS_IS_ENOUGH: &str = "v20220914";

/// What is wrong with such calls of user data for Amazon Linux 2.
pub(super) fn ipv6_mistakes(stated: &Stated, choice: &AmiChoice) -> Vec<String> {
    let is_ipv6 = |call: &&BootstrapCall| {
        value(call, "--ip-family").is_some_and(|text| text.eq_ignore_ascii_case("ipv6"))
    };
    let call = stated.calls.iter().find(is_ipv6).filter(|_| choice.is_al2());
    let Some(call) = call else { return Vec::new() };
    let network = without_network(call, choice).filter(|_| !stated.text.contains(CIDR_VARIABLE));
    network.into_iter().chain(other_family(call)).collect()
}

fn value<'c>(call: &'c BootstrapCall, flag: &str) -> Option<&'c str> {
    let value = call.values.get(flag).map(String::as_str);
    value.filter(|value| !value.is_empty())
}

/// With an endpoint and a certificate authority, the script does not call `describe-cluster`.
fn without_network(call: &BootstrapCall, choice: &AmiChoice) -> Option<String> {
    let is_described = ["--apiserver-endpoint", "--b64-cluster-ca"]
        .iter()
        .any(|flag| value(call, flag).is_none());
    if is_described || call.is_open || call.flags.contains(CIDR) {
        return None;
    }
    let what = format!(
        "the call of bootstrap.sh has `--ip-family ipv6`, an endpoint and a certificate authority, and no `{CIDR}`"
    );
    match value(call, DNS) {
        None => Some(format!(
            "{what}: the script does not call `describe-cluster` then, and exits; pass the network of the services with `{CIDR}`"
        )),
        // The trial has the last script.
        Some(_) if !choice.files.is_empty() => None,
        Some(_) => Some(format!(
            "{what}: the script of AMIs before {DNS_IS_ENOUGH} exits; newer ones take `{DNS}`"
        )),
    }
}

/// Services of an IPv6 cluster of EKS have IPv6 addresses only. An address of the node can be of IPv4.
fn other_family(call: &BootstrapCall) -> Option<String> {
    let is_of_service = |text: &&str| {
        text.parse()
            .is_ok_and(|address: Ipv4Addr| !address.is_link_local())
    };
    let address = value(call, DNS)?.split(',').find(is_of_service)?;
    Some(format!(
        "`{DNS} {address}` is an IPv4 address, and services of an IPv6 cluster have IPv6 addresses only: with the script of AMIs since \
         {DNS_IS_ENOUGH}, pods resolve no name of the cluster"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adopt::ami::choose;
    use crate::machine::Machine;

    fn mistakes(before: &str, flags: &str) -> Vec<String> {
        let text = format!("#!/bin/bash\n{before}\n/etc/eks/bootstrap.sh demo {flags}\n");
        let stated = Stated::of(text.as_bytes());
        ipv6_mistakes(&stated, &choose(&Machine::default(), &stated).unwrap())
    }

    const OF_CLUSTER: &str = "--apiserver-endpoint https://a.b --b64-cluster-ca Y2E=";

    #[test]
    fn a_call_without_the_network_of_services_ends_the_script() {
        for flags in ["--ip-family ipv6", "--ip-family IPv6 --use-max-pods false"] {
            let found = mistakes("", &format!("{flags} {OF_CLUSTER}"));
            assert_eq!(
                found,
                [
                    "the call of bootstrap.sh has `--ip-family ipv6`, an endpoint and a certificate authority, and no \
                     `--service-ipv6-cidr`: the script does not call `describe-cluster` then, and exits; pass the network of the \
                     services with `--service-ipv6-cidr`"
                ],
                "{flags}"
            );
        }
        let with_dns = format!("--ip-family ipv6 --dns-cluster-ip fd00:ec2::53 {OF_CLUSTER}");
        let found = mistakes("", &with_dns);
        assert!(
            found.len() == 1 && found[0].ends_with("exits; newer ones take `--dns-cluster-ip`"),
            "{found:?}"
        );
        let last = format!("{with_dns} --mount-bpf-fs true");
        assert_eq!(mistakes("", &last), [""; 0]);
    }

    #[test]
    fn other_calls_are_right() {
        for (before, flags) in [
            ("", "--ip-family ipv6".to_owned()),
            ("", "--ip-family ipv6 --apiserver-endpoint https://a.b".to_owned()),
            ("", format!("--ip-family ipv4 {OF_CLUSTER}")),
            (
                "",
                format!("--ip-family ipv6 --service-ipv6-cidr $CIDR {OF_CLUSTER}"),
            ),
            (
                "export SERVICE_IPV6_CIDR=fd00::/108",
                format!("--ip-family ipv6 {OF_CLUSTER}"),
            ),
            ("", format!("--ip-family ipv6 {OF_CLUSTER} \"$@\"")),
        ] {
            assert_eq!(mistakes(before, &flags), [""; 0], "{flags}");
        }
    }

    #[test]
    fn an_address_of_dns_in_the_other_family_is_named() {
        let found = |dns: &str| {
            mistakes(
                "",
                &format!("--ip-family ipv6 --service-ipv6-cidr fd00:1::/108 --dns-cluster-ip {dns}"),
            )
        };
        assert_eq!(
            found("10.100.0.10"),
            [
                "`--dns-cluster-ip 10.100.0.10` is an IPv4 address, and services of an IPv6 cluster have IPv6 addresses only: with the \
                 script of AMIs since v20220914, pods resolve no name of the cluster"
            ]
        );
        for dns in ["fd00:1::a", "169.254.20.10", "$DNS"] {
            assert_eq!(found(dns), [""; 0], "{dns}");
        }
    }
}
