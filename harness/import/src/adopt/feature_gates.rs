//! Misspelt feature gates of the kubelet, which exits at a gate that it does not know.

use nodejoin_core::kubernetes::feature_gates;

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
}
