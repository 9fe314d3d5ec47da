//! What the name of an EC2 instance type tells of the machine.

/// Whether machines of the type have GPUs of NVIDIA's: the families called `g`, `gr` or `p`, but for the one with AMD's.
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
