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
        .any(|part| ["text/cloud-config", "text/jinja2"].contains(&part.mime.as_str()) && has_key(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::UserDataEngine;

    #[test]
    fn a_cloud_config_sets_up_disks_as_a_template_too() {
        let sets = |text: &str| {
            sets_up_disks(&UserDataPlan {
                engine: UserDataEngine::CloudInit,
                base64: STANDARD.encode(text),
                gzip: false,
                replace: None,
                is_translated: false,
            })
        };
        assert!(sets("#cloud-config\nmounts:\n- [a, b]\n"));
        assert!(sets(
            "## template: jinja\n#cloud-config\nfs_setup:\n- {device: /dev/sdf}\n"
        ));
        assert!(!sets("#cloud-config\nruncmd: [true]\n"));
        assert!(!sets("#!/bin/sh\nmounts: x\n"));
    }
}
