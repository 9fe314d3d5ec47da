//! ARNs, and the names inside them.

use nodejoin_core::plan::ids::AccountId;
use nodejoin_core::plan::region::Region;
use sha2::{Digest, Sha256};

/// `arn:PARTITION:iam::ACCOUNT:role/PATH/NAME`. `name` carries the path, with or without its first slash.
pub(crate) fn role(region: &Region, account: &AccountId, name: &str) -> String {
    let name = name.trim_start_matches('/');
    format!("arn:{}:iam::{account}:role/{name}", region.partition())
}

/// `arn:PARTITION:iam::ACCOUNT:instance-profile/PATH/NAME`.
pub(crate) fn instance_profile(region: &Region, account: &AccountId, path: &str, name: &str) -> String {
    let partition = region.partition();
    format!("arn:{partition}:iam::{account}:instance-profile{path}{name}")
}

/// `arn:PARTITION:sts::ACCOUNT:assumed-role/ROLE/SESSION`: STS leaves the role's path out.
pub(crate) fn session(region: &Region, account: &AccountId, role: &str, session: &str) -> String {
    let partition = region.partition();
    format!("arn:{partition}:sts::{account}:assumed-role/{role}/{session}")
}

/// A role's name without its path.
pub(crate) fn without_path(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// An id in the form of a UUID, derived from `text`: EKS ends the ARNs of node groups and access entries with one.
pub(crate) fn derived_uuid(text: &str) -> String {
    let hash = hex::encode(Sha256::digest(text));
    let parts = [
        &hash[..8],
        &hash[8..12],
        &hash[12..16],
        &hash[16..20],
        &hash[20..32],
    ];
    parts.join("-")
}
