//! Subnets for the networks of runs.

use std::net::Ipv4Addr;

use bollard::errors::Error;

/// Number of subnets to try before the engine chooses one.
pub(crate) const TRIES: usize = 24;

/// A /24 of 198.18.0.0/15, which RFC 2544 reserves for test networks: it overlaps with no host network, no VPC of a
/// scenario and no address pool of the engine. The engine may choose from 192.168.0.0/16, where scenarios put their
/// instances.
pub(crate) fn candidate(seed: usize) -> String {
    let [high, low] = u16::try_from(seed % 512).unwrap_or_default().to_be_bytes();
    format!("{}/24", Ipv4Addr::new(198, 18 + high, low, 0))
}

/// Whether the engine refused a subnet because another network uses it.
pub(crate) fn is_taken(error: &Error) -> bool {
    matches!(error, Error::DockerResponseServerError { message, .. } if message.to_lowercase().contains("overlap"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_stay_in_the_test_range_and_differ() {
        let all: std::collections::BTreeSet<_> = (0..512).map(candidate).collect();
        assert_eq!(all.len(), 512);
        assert!(
            all.iter()
                .all(|subnet| subnet.starts_with("198.18.") || subnet.starts_with("198.19."))
        );
        assert_eq!(candidate(512), candidate(0));
    }

    #[test]
    fn only_an_overlap_counts_as_a_taken_subnet() {
        let refused = |message: &str| Error::DockerResponseServerError {
            status_code: 403,
            message: message.to_owned(),
        };
        assert!(is_taken(&refused(
            "Pool overlaps with other one on this address space"
        )));
        assert!(!is_taken(&refused("network with name x already exists")));
    }
}
