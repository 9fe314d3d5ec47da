//! What a host lacks that a node needs, and the node is helped with.

use nodejoin_core::kubernetes::{Minor, refuses_cgroup_v1};
use nodejoin_docker::Privileges;

/// The help that a node gets on its host. Each is a deviation that the report names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Host {
    /// Raised limits and negative OOM scores cannot be set here: they are taken out of what pods ask for.
    pub(crate) clamps_limits: bool,
    /// The control groups are of version 1, which the kubelet refuses unless it is told not to.
    pub(crate) is_refused: bool,
}

impl Host {
    /// Of an engine with control groups of this version, for a kubelet such as `v1.36.3`.
    pub(crate) fn of(cgroup_version: u8, privileges: &Privileges, kubelet: &str) -> Self {
        let lacks_resource = privileges.lacking.iter().any(|name| name == "SYS_RESOURCE");
        Self {
            clamps_limits: lacks_resource,
            is_refused: cgroup_version == 1 && refuses_cgroup_v1(Minor::of(kubelet)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_newer_kubelet_on_the_first_control_groups_is_told_that_they_will_do() {
        let privileges = Privileges {
            privileged: true,
            lacking: Vec::new(),
            dropped: Vec::new(),
        };
        let is_refused = |version, kubelet| Host::of(version, &privileges, kubelet).is_refused;
        assert!(is_refused(1, "v1.35.0"));
        assert!(is_refused(1, "v1.36.3"));
        assert!(!is_refused(1, "v1.34.9"));
        assert!(!is_refused(1, "v1.20.2"));
        assert!(!is_refused(2, "v1.36.3"));
    }

    #[test]
    fn limits_are_clamped_where_they_cannot_be_set() {
        let privileges = |privileged, lacking: &[&str]| Privileges {
            privileged,
            lacking: lacking.iter().map(|name| (*name).to_owned()).collect(),
            dropped: Vec::new(),
        };
        let clamps = |privileges: &Privileges| Host::of(2, privileges, "v1.20.2").clamps_limits;
        assert!(clamps(&privileges(false, &["SYS_RESOURCE"])));
        // Newer engines start a privileged container without what they lack.
        assert!(clamps(&privileges(true, &["SYS_RESOURCE"])));
        assert!(!clamps(&privileges(true, &[])));
        assert!(!clamps(&privileges(false, &["SYS_TIME"])));
    }
}
