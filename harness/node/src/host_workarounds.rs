//! Workarounds for hosts that lack what a node needs.

use nodejoin_core::kubernetes::{Minor, refuses_cgroup_v1};
use nodejoin_core::observation::ImageFacts;
use nodejoin_core::plan::machine::MachineSize;
use nodejoin_docker::{EngineFacts, ImageRef, Privileges};

/// The workarounds for a node on its host. The report names each one as a deviation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HostWorkarounds {
    /// Removes raised limits and negative OOM scores from the specifications of containers, because the host cannot set
    /// them.
    pub(crate) clamps_limits: bool,
    /// Starts the kubelet with a flag that permits control groups of version 1.
    pub(crate) permits_cgroup_v1: bool,
    /// Starts systemd with an argument that permits control groups of version 1.
    pub(crate) forces_cgroup_v1: bool,
    /// The host has fewer processors or less memory than the instance type.
    pub(crate) is_smaller: bool,
    /// Mounts overlays at /usr, /etc and /var/log, because the storage of the engine is slow.
    pub(crate) mounts_image_folders: bool,
}

/// The first systemd that refuses control groups of version 1.
const REFUSES_CGROUP_V1: u32 = 256;

impl HostWorkarounds {
    /// The workarounds for an engine with this version of control groups, and an image.
    pub(crate) fn of(cgroup_version: u8, privileges: &Privileges, image: &ImageRef) -> Self {
        let systemd = image.facts.as_ref().and_then(ImageFacts::systemd_major);
        let lacks_resource = privileges.lacking.iter().any(|name| name == "SYS_RESOURCE");
        Self {
            clamps_limits: lacks_resource,
            permits_cgroup_v1: cgroup_version == 1 && refuses_cgroup_v1(Minor::of(&image.kubernetes)),
            forces_cgroup_v1: cgroup_version == 1 && systemd.is_some_and(|major| major >= REFUSES_CGROUP_V1),
            is_smaller: false,
            mounts_image_folders: false,
        }
    }

    /// Adds what the host lacks of the machine of an instance type.
    pub(crate) fn for_machine(self, facts: &EngineFacts, machine: Option<MachineSize>) -> Self {
        let lacks =
            |size: MachineSize| u64::from(size.vcpus) > facts.cpus || size.memory_kib > facts.memory / 1024;
        Self {
            is_smaller: machine.is_some_and(lacks),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_newer_kubelets_on_control_groups_of_version_1_need_permission() {
        let privileges = Privileges {
            privileged: true,
            lacking: Vec::new(),
            dropped: Vec::new(),
        };
        let permits = |version, kubelet| {
            HostWorkarounds::of(version, &privileges, &ImageRef::own("x", kubelet)).permits_cgroup_v1
        };
        assert!(permits(1, "v1.35.0"));
        assert!(permits(1, "v1.36.3"));
        assert!(!permits(1, "v1.34.9"));
        assert!(!permits(1, "v1.20.2"));
        assert!(!permits(2, "v1.36.3"));
    }

    #[test]
    fn only_newer_systemds_on_control_groups_of_version_1_are_forced() {
        let privileges = Privileges {
            privileged: true,
            lacking: Vec::new(),
            dropped: Vec::new(),
        };
        let forces = |version, systemd: &str| {
            let facts = ImageFacts {
                systemd: Some(systemd.to_owned()),
                ..ImageFacts::default()
            };
            let image = ImageRef {
                facts: Some(facts),
                ..ImageRef::own("x", "v1.20.2")
            };
            HostWorkarounds::of(version, &privileges, &image).forces_cgroup_v1
        };
        assert!(forces(1, "256.1") && forces(1, "257"));
        assert!(!forces(1, "252") && !forces(2, "257"));
    }

    #[test]
    fn a_host_is_smaller_by_its_processors_or_its_memory() {
        let facts = EngineFacts {
            cpus: 2,
            memory: 8 << 30,
            ..EngineFacts::default()
        };
        let is_smaller = |vcpus, memory_gib: u64| {
            let machine = MachineSize {
                vcpus,
                threads_per_core: 1,
                memory_kib: memory_gib << 20,
            };
            let host = HostWorkarounds::default().for_machine(&facts, Some(machine));
            host.is_smaller
        };
        assert!(!is_smaller(2, 8));
        assert!(is_smaller(4, 8) && is_smaller(2, 16));
    }

    #[test]
    fn a_host_without_sys_resource_clamps_limits() {
        let privileges = |privileged, lacking: &[&str]| Privileges {
            privileged,
            lacking: lacking.iter().map(|name| (*name).to_owned()).collect(),
            dropped: Vec::new(),
        };
        let image = ImageRef::own("x", "v1.20.2");
        let clamps = |privileges: &Privileges| HostWorkarounds::of(2, privileges, &image).clamps_limits;
        assert!(clamps(&privileges(false, &["SYS_RESOURCE"])));
        // Newer engines start a privileged container without the capabilities that they lack.
        assert!(clamps(&privileges(true, &["SYS_RESOURCE"])));
        assert!(!clamps(&privileges(true, &[])));
        assert!(!clamps(&privileges(false, &["SYS_TIME"])));
    }
}
