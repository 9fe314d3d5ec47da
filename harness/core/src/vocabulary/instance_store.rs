//! Disks of the instance store of EC2 instance types, from a data file that travels inside the program.

use std::collections::HashMap;
use std::sync::LazyLock;

/// One type per line, after comments that name the columns.
const DATA: &str = include_str!("../../data/instance-store.tsv");

/// The disks of a type, all of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceStore {
    pub disks: u32,
    /// GB of each disk.
    pub gigabytes: u64,
    /// Whether the disks are NVMe devices.
    pub is_nvme: bool,
}

/// Reads a line of the data file.
fn read(line: &'static str) -> Option<(&'static str, InstanceStore)> {
    let columns: Vec<&str> = line.split('\t').collect();
    let &[name, disks, gigabytes, kind] = columns.as_slice() else {
        return None;
    };
    let store = InstanceStore {
        disks: disks.parse().ok()?,
        gigabytes: gigabytes.parse().ok()?,
        is_nvme: kind == "nvme",
    };
    Some((name, store))
}

static BY_NAME: LazyLock<HashMap<&str, InstanceStore>> = LazyLock::new(|| {
    let lines = DATA.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(read).collect()
});

/// The instance store of a type; `None` for a type without one.
#[must_use]
pub fn instance_store(name: &str) -> Option<InstanceStore> {
    BY_NAME.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::ec2_type::ec2_type;

    #[test]
    fn every_line_is_read_and_names_a_known_type() {
        let lines = DATA.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(BY_NAME.len(), lines);
        for name in BY_NAME.keys() {
            assert!(ec2_type(name).is_some(), "{name}");
        }
    }

    #[test]
    fn figures_are_those_of_ec2() {
        let of = |name| instance_store(name).map(|store| (store.disks, store.gigabytes, store.is_nvme));
        assert_eq!(of("m5d.large"), Some((1, 75, true)));
        assert_eq!(of("i3.8xlarge"), Some((4, 1900, true)));
        assert_eq!(of("m1.large"), Some((2, 420, false)));
        assert_eq!(of("m5.large"), None);
    }
}
