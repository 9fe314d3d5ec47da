//! Misspelt feature gates of the kubelet, which exits at a gate that it does not know.

use nodejoin_core::kubernetes::{GATES_UNTIL, feature_gates};

use crate::known_fields;

/// The gate that a misspelt one means. `None`: a version of the kubelet has it, or it is like none and may be newer.
pub(super) fn meant(gate: &str) -> Option<&'static str> {
    let meant = known_fields::meant(gate, feature_gates())?;
    (meant != gate).then_some(meant)
}

/// What the kubelet does at a misspelt gate. `place` is where it stands, such as ` (line 3)`.
pub(super) fn sentence(gate: &str, meant: &str, place: &str) -> String {
    format!("the kubelet has no feature gate `{gate}`{place} and exits at it; did you mean `{meant}`?")
}

/// Whether no version is known to have the gate.
pub(super) fn is_unknown(gate: &str) -> bool {
    let is_name = !gate.is_empty() && gate.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_name && feature_gates().all(|known| known != gate)
}

/// What the kubelet does at such a gate. `place` is where it stands.
pub(super) fn sentence_of_unknown(gate: &str, place: &str) -> String {
    format!(
        "nodejoin knows no feature gate `{gate}`{place} of kubelets up to {GATES_UNTIL}: a kubelet exits at a gate that it does not have"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_gate_means_another() {
        for (gate, expected) in [
            (
                "RotateKubeletServerCertificat",
                Some("RotateKubeletServerCertificate"),
            ),
            ("imageVolume", Some("ImageVolume")),
            ("NodeSwaps", Some("NodeSwap")),
            ("RotateKubeletServerCertificate", None),
            ("CSIMigrationAWS", None),
            ("KMSv1", None),
            ("ContainerRestartPolicies", None),
            ("A", None),
        ] {
            assert_eq!(meant(gate), expected, "{gate}");
        }
    }

    #[test]
    fn a_gate_of_no_version_is_unknown() {
        assert!(is_unknown("MyOwnGate"));
        for gate in [
            "ImageVolume",
            "CSIMigrationAWS",
            "LegacySidecarContainers",
            "AllAlpha",
            "",
            "A$B",
        ] {
            assert!(!is_unknown(gate), "{gate}");
        }
        assert_eq!(
            sentence_of_unknown("MyOwnGate", " (line 2)"),
            "nodejoin knows no feature gate `MyOwnGate` (line 2) of kubelets up to 1.36: a kubelet exits at a gate that it does not have"
        );
    }
}
