//! Feature gates of the kubelet, and the first version that has each.

use super::version::Minor;

/// Lines of a version and names.
const TABLE: &str = include_str!("../../data/feature-gates.txt");

/// The newest version whose gates are in the table.
pub const GATES_UNTIL: Minor = Minor::new(36);

/// All names with the first version that has them. A later version may lack a gate again.
fn gates() -> impl Iterator<Item = (&'static str, Minor)> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(|line| {
        let (version, names) = line.split_once(' ').unwrap_or_default();
        let since = version.parse().unwrap_or(Minor::OLDEST);
        names.split(' ').map(move |name| (name, since))
    })
}

/// The names of all gates of all versions.
pub fn feature_gates() -> impl Iterator<Item = &'static str> {
    gates().map(|(name, _)| name)
}

/// The first version whose kubelet has a gate, and 1.20 for older ones; `None`: no version is known to have it.
#[must_use]
pub fn gate_since(name: &str) -> Option<Minor> {
    gates().find(|(gate, _)| *gate == name).map(|(_, since)| since)
}

/// The gates that only kubelets newer than this version have.
pub fn newer_gates(minor: Minor) -> impl Iterator<Item = &'static str> {
    gates()
        .filter(move |(_, since)| minor < *since)
        .map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_line_has_a_version_and_names_of_gates() {
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let (version, names) = line.split_once(' ').unwrap();
            let minor: Minor = version.parse().unwrap();
            assert!((Minor::OLDEST..=Minor::NEWEST).contains(&minor), "{line}");
            let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric());
            assert!(names.split(' ').all(is_name), "{line}");
        }
        let names: BTreeSet<&str> = feature_gates().collect();
        assert_eq!(names.len(), feature_gates().count(), "a name is in two lines");
    }

    #[test]
    fn a_gate_of_newer_kubelets_is_neither_a_misspelt_nor_a_removed_one() {
        let newer: Vec<&str> = newer_gates(Minor::new(31)).collect();
        assert!(newer.contains(&"MutableCSINodeAllocatableCount"));
        for name in [
            "ImageVolume",
            "CSIMigrationAWS",
            "InTreePluginAWSUnregister",
            "RotateKubeletServerCertificat",
        ] {
            assert!(!newer.contains(&name), "{name}");
        }
        assert_eq!(gate_since("ImageVolume"), Some(Minor::new(31)));
        assert_eq!(gate_since("CSIMigrationAWS"), Some(Minor::OLDEST));
        assert_eq!(gate_since("RotateKubeletServerCertificat"), None);
    }
}
