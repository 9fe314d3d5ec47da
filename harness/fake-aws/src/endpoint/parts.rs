//! The parts of a host name: its suffix, and the region and the account before it.

use nodejoin_core::plan::region::{Partition, Region};

/// The kind of host names below a suffix.
#[derive(Debug, Clone, Copy)]
pub(super) enum EndpointKind {
    /// A service, over IPv4.
    Ipv4,
    /// A service, over IPv4 and IPv6.
    DualStack,
    /// A customer's own resource, over both.
    DualStackResource,
}

pub(super) fn is_region(name: &str, partition: &Partition) -> bool {
    let region = name.parse::<Region>();
    region.is_ok_and(|region| region.dns_suffix() == partition.dns_suffix)
}

/// Splits a host name at the suffix of its partition. Partitions that share suffixes match as the first of them.
pub(super) fn without_suffix(host: &str) -> Option<(&str, EndpointKind, &'static Partition)> {
    let labels = |suffix: &str| host.strip_suffix(suffix)?.strip_suffix('.');
    Partition::all().iter().find_map(|partition| {
        let ipv4 = labels(partition.dns_suffix).map(|labels| (labels, EndpointKind::Ipv4));
        let dual_stack =
            || labels(partition.dual_stack_suffix).map(|labels| (labels, EndpointKind::DualStack));
        let resource =
            || labels(partition.resource_suffix?).map(|labels| (labels, EndpointKind::DualStackResource));
        let (labels, kind) = ipv4.or_else(dual_stack).or_else(resource)?;
        Some((labels, kind, *partition))
    })
}

pub(super) fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|b| b.is_ascii_digit())
}
