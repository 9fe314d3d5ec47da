//! Addresses of the cluster's DNS that are none.

use std::net::IpAddr;

use super::shell::UNKNOWN;
use super::stated::Stated;
use crate::source_lines::SourceLines;
use crate::words::dns_ip;

/// The addresses, if all are some.
pub(super) fn usable(dns: &[String]) -> &[String] {
    match dns.iter().all(|address| is_address(address)) {
        true => dns,
        false => &[],
    }
}

/// A sentence for each that is none.
pub(super) fn others(stated: &Stated, lines: &SourceLines<'_>) -> Vec<String> {
    let others = stated.dns.iter().filter(|address| !is_address(address));
    let sentences = others.map(|address| {
        let is_line =
            |line: &str| line.to_ascii_lowercase().contains("dns") && line.contains(address.as_str());
        let number = stated.text.lines().position(is_line).map(|index| index + 1);
        let place = number.and_then(|number| lines.known_place(&stated.text, number));
        let at = place.map(|place| format!(" ({place})")).unwrap_or_default();
        let meant = dns_ip(address).filter(|meant| is_address(meant));
        let meant = meant.unwrap_or_else(|| "10.100.0.10".to_owned());
        format!(
            "the cluster DNS `{address}`{at} is not an IP address: the kubelet ignores it, and pods do not get it as name server; write \
             the address of the cluster's DNS service, such as `{meant}`"
        )
    });
    sentences.collect()
}

/// Whether the kubelet takes a text for an address: also one whose numbers begin with zeros (Kubernetes 1.36:
/// `ParseIPSloppy` in `NewMainKubelet`).
fn is_address(text: &str) -> bool {
    let is_open = text.contains([UNKNOWN, '$', '{', '<']);
    let octets: Vec<&str> = text.split('.').collect();
    let is_octet = |octet: &&str| {
        octet.bytes().all(|byte| byte.is_ascii_digit()) && octet.parse::<u32>().is_ok_and(|octet| octet < 256)
    };
    let is_sloppy = octets.len() == 4 && octets.iter().all(is_octet);
    is_open || is_sloppy || text.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_texts_are_not_addresses() {
        for text in [
            "10.100.0.10",
            "010.100.0.010",
            "fd30:1c53:5f8a::a",
            "$DNS",
            "\u{e000}",
        ] {
            assert!(is_address(text), "{text}");
        }
        for text in [
            "10.100.0.0/16",
            "10.100.0",
            "10.100.0.256",
            "coredns",
            "",
            "10.0.0.10.",
        ] {
            assert!(!is_address(text), "{text}");
        }
        let right = ["10.0.0.10".to_owned()];
        assert_eq!(usable(&right), right);
        assert!(usable(&["10.0.0.10".to_owned(), "x".to_owned()]).is_empty());
    }
}
