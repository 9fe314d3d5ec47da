//! Which addresses a run's network gets.

use std::net::Ipv4Addr;

use bollard::errors::Error;

/// How many subnets are tried before the engine may choose by itself.
pub(crate) const TRIES: usize = 24;

/// A /24 of 198.18.0.0/15, which RFC 2544 keeps for test networks: no machine's own network, no VPC of a scenario and no pool of
/// the engine overlaps it, while the engine's choice may fall into 192.168.0.0/16, where scenarios put their instances.
pub(crate) fn candidate(seed: usize) -> String {
    let [high, low] = u16::try_from(seed % 512).unwrap_or_default().to_be_bytes();
    format!("{}/24", Ipv4Addr::new(198, 18 + high, low, 0))
}

/// Whether another network has these addresses: the next ones may be free.
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
    fn an_overlap_is_told_from_other_refusals() {
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
