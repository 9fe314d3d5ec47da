//! Host names of the Internet, as distinct from those of AWS and those that no public resolver knows.

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
