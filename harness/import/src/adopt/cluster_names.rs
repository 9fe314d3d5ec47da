//! What EKS takes for the name of a cluster.

/// The limit of EKS.
pub(super) const LONGEST: usize = 100;

/// Whether EKS creates a cluster with this name.
pub(super) fn is_cluster_name(name: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    begins && name.bytes().all(is_sign) && name.len() <= LONGEST
}
