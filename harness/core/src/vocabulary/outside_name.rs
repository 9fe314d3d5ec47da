//! Host names of the Internet, as distinct from those of AWS and those that no public resolver knows.

use std::net::Ipv4Addr;

/// Suffixes of names that resolve in private networks only, or nowhere.
const PRIVATE: [&str; 12] = [
    ".internal",
    ".local",
    ".localdomain",
    ".localhost",
    ".lan",
    ".corp",
    ".svc",
    ".arpa",
    ".eks.amazonaws.com",
    ".invalid",
    ".example",
    ".test",
];

/// Suffixes of AWS' own names.
const AWS: [&str; 4] = [".amazonaws.com", ".amazonaws.com.cn", ".api.aws", ".on.aws"];

/// Whether a name in lower case would not resolve outside the harness either.
#[must_use]
pub fn is_private(name: &str) -> bool {
    !name.contains('.') || PRIVATE.iter().any(|suffix| name.ends_with(suffix))
}

/// Whether a name in lower case is below a domain of AWS, also if AWS has no such service.
#[must_use]
pub fn is_of_aws(name: &str) -> bool {
    AWS.iter()
        .any(|suffix| name.ends_with(suffix) || name == &suffix[1..])
}

/// Whether a name in lower case can belong to a host of the Internet.
#[must_use]
pub fn is_outside(name: &str) -> bool {
    is_host(name) && !is_private(name) && !is_of_aws(name)
}

/// Whether a text is an address of the Internet.
#[must_use]
pub fn is_public_address(host: &str) -> bool {
    let Ok(address) = host.parse::<Ipv4Addr>() else {
        return false;
    };
    let [first, second, ..] = address.octets();
    let is_shared = first == 100 && second & 0b1100_0000 == 64;
    let is_special = address.is_private() || address.is_loopback() || address.is_link_local() || is_shared;
    !is_special && (1..224).contains(&first)
}

/// Whether a text is a host name and not an address.
#[must_use]
pub fn is_host(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=63).contains(&label.len()) && label.bytes().all(is_part)
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    name.len() <= 253
        && name.split('.').all(is_label)
        // The last label of an address is a number.
        && !last.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_addresses_are_those_that_the_internet_routes() {
        for address in ["203.0.113.7", "52.94.236.248", "100.63.0.1", "223.255.255.1"] {
            assert!(is_public_address(address), "{address}");
        }
        for address in [
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "192.168.40.1",
            "0.0.0.0",
            "224.0.0.1",
            "2001:db8::1",
            "a.com",
        ] {
            assert!(!is_public_address(address), "{address}");
        }
    }

    #[test]
    fn names_of_the_internet_are_outside() {
        for name in [
            "downloads.example.com",
            "registry.k8s.io",
            "public.ecr.aws",
            "xn--bcher-kva.de",
        ] {
            assert!(is_outside(name), "{name}");
        }
        for name in [
            "",
            "localhost",
            "instance-data",
            "amazonaws.com",
            "eks.eu-wset-1.amazonaws.com",
            "abc.gr7.eu-west-1.eks.amazonaws.com",
            "db.corp.internal",
            "kubernetes.default.svc",
            "1.0.168.192.in-addr.arpa",
            "203.0.113.7",
            "a..b",
            "a b.com",
        ] {
            assert!(!is_outside(name), "{name}");
        }
    }
}
