//! The names of the kubelet's flags, and misspelt ones: a kubelet exits at a flag that it does not know.

use nodejoin_core::kubernetes::kubelet_flags;

use crate::known_fields;

/// Whether a version of the kubelet has the flag.
pub(super) fn is_known(flag: &str) -> bool {
    let flag = as_read(flag);
    kubelet_flags().any(|known| known == flag)
}

/// The flag that a misspelt one means. `None`: a version of the kubelet has it, or it is like none.
pub(super) fn meant(flag: &str) -> Option<&'static str> {
    let flag = as_read(flag);
    let meant = known_fields::meant(&flag, kubelet_flags())?;
    (meant != flag).then_some(meant)
}

/// The kubelet takes an underscore for a hyphen.
fn as_read(flag: &str) -> String {
    flag.replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_flag_means_another() {
        for (flag, expected) in [
            ("--node-label", Some("--node-labels")),
            ("--max-pod", Some("--max-pods")),
            ("--regiser-with-taints", Some("--register-with-taints")),
            ("--node_labels", None),
            ("--network-plugin", None),
            ("--fail-cgroupv1", None),
            ("--housekeeping-interval", None),
            ("--v", None),
            ("--an-unknown-flag", None),
        ] {
            assert_eq!(meant(flag), expected, "{flag}");
        }
    }
}
