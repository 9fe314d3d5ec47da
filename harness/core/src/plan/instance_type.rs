//! Properties of a machine that follow from its instance type.

/// Whether the instance type has NVIDIA GPUs: the families `g`, `gr` and `p`, except the one with AMD GPUs.
#[must_use]
pub fn has_nvidia_gpu(instance_type: &str) -> bool {
    let family = instance_type.split('.').next().unwrap_or_default();
    let letters: String = family.chars().take_while(char::is_ascii_lowercase).collect();
    matches!(letters.as_str(), "g" | "gr" | "p") && family != "g4ad"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_with_gpus() {
        for name in [
            "g4dn.xlarge",
            "g5g.metal",
            "gr6.4xlarge",
            "p4d.24xlarge",
            "p6-b200.48xlarge",
        ] {
            assert!(has_nvidia_gpu(name), "{name}");
        }
        for name in [
            "g4ad.xlarge",
            "m5.large",
            "m6g.large",
            "inf1.xlarge",
            "trn1.2xlarge",
            "hpc7g.4xlarge",
            "",
        ] {
            assert!(!has_nvidia_gpu(name), "{name}");
        }
    }
}
