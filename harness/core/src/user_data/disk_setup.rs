//! User data by which cloud-init prepares disks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::parse::{Part, parse};
use crate::plan::UserDataPlan;

/// Whether a cloud-config makes file systems or mounts them.
#[must_use]
pub fn sets_up_disks(data: &UserDataPlan) -> bool {
    const KEYS: [&str; 3] = ["disk_setup:", "fs_setup:", "mounts:"];
    let has_key = |part: &Part| {
        let text = String::from_utf8_lossy(&part.content);
        text.lines()
            .any(|line| KEYS.iter().any(|key| line.starts_with(key)))
    };
    let parts = parse(&STANDARD.decode(&data.base64).unwrap_or_default()).parts;
    parts
        .iter()
        .any(|part| part.mime == "text/cloud-config" && has_key(part))
}
