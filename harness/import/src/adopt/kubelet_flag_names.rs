//! The names of the kubelet's flags, and misspelt ones: a kubelet exits at a flag that it does not know.

use nodejoin_core::kubernetes::{is_kubelet_flag, kubelet_flags};

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

/// Whether no version of the kubelet from 1.20 on has the flag.
pub(super) fn is_unknown(flag: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    flag.strip_prefix("--").is_some_and(is_name) && !is_kubelet_flag(&as_read(flag))
}

/// Whether a word is a flag with a single hyphen: the kubelet takes its letters for flags (pflag: `parseShortArg`).
pub(super) fn is_shorthand(flag: &str) -> bool {
    flag.strip_prefix('-')
        .is_some_and(|name| is_known(&format!("--{name}")))
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

    #[test]
    fn a_flag_of_no_version_is_unknown() {
        for flag in [
            "--shutdown-grace-period",
            "--max_parallel_image_pulls",
            "--an-unknown-flag",
        ] {
            assert!(is_unknown(flag), "{flag}");
        }
        for flag in [
            "--v",
            "--network-plugin",
            "--housekeeping_interval",
            "--storage-driver-db",
            "--docker-only",
            "--",
            "--$X",
            "--a<b>",
            "-v",
        ] {
            assert!(!is_unknown(flag), "{flag}");
        }
    }

    #[test]
    fn a_flag_with_a_single_hyphen_is_letters() {
        for flag in ["-node-labels", "-max-pods", "-node_labels"] {
            assert!(is_shorthand(flag), "{flag}");
        }
        for flag in ["-v", "-h", "-v=2", "-", "--max-pods", "-5", "max-pods"] {
            assert!(!is_shorthand(flag), "{flag}");
        }
    }
}
