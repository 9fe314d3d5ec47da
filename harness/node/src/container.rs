//! The container of a node: its privileges and mounts.

use std::collections::HashMap;

use nodejoin_core::plan::machine::MachineSize;
use nodejoin_docker::{EngineFacts, ImageRef, ImageVolume, Privileges, Run};
use testcontainers::bollard::models::{
    DeviceMapping, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig, Mount, MountType,
};
use testcontainers::{ContainerRequest, CopyDataSource, GenericImage, ImageExt as _};

use crate::confinement::{DEVICE_RULES, KERNEL_LOG, security_options};
use crate::layer;
use crate::tools::Tools;

/// The folder that needs a volume: layers of containerd and docker are overlays, which cannot lie on the container's
/// own overlay, and the kubelet needs the block device below its folder. A volume for each of them would be a mount
/// point, on which a script mounts no disk of its own: its unit counts as active already.
const VOLUME: &str = "/var/lib";
/// The data of the instance store, whose disks are mounted in place of these folders.
const STORE: &str = "/opt/nodejoin/store";
/// Folders of the image on an engine with slow storage, each with its name below this one.
const FOLDERS: &str = "/opt/nodejoin/folders";
/// What the node changes of them.
const CHANGES: &str = "/opt/nodejoin/changes";

/// What a node can use of its host, so that a script that goes wrong harms its own node only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContainerLimits {
    /// Bytes; `None` if the host has no more than the instance type.
    memory: Option<i64>,
    /// Processes and threads.
    processes: u32,
}

impl ContainerLimits {
    /// The limits for the machine of an instance type.
    pub(crate) fn of(machine: Option<MachineSize>, processes: u32, host: &EngineFacts) -> Self {
        let memory = machine.map(|size| size.memory_kib * 1024);
        let limited = memory.filter(|memory| *memory < host.memory);
        Self {
            memory: limited.and_then(|memory| i64::try_from(memory).ok()),
            processes,
        }
    }

    fn apply(self, host: &mut HostConfig) {
        host.memory = self.memory;
        // The same as the memory: an instance has no swap.
        host.memory_swap = self.memory;
        host.pids_limit = Some(self.processes.into());
    }
}

/// The container that runs a node.
pub(crate) fn request(
    run: &Run,
    image: &ImageRef,
    privileges: &Privileges,
    limits: ContainerLimits,
    has_store: bool,
    volumes: &[ImageVolume],
    archive: Vec<u8>,
) -> ContainerRequest<GenericImage> {
    let (name, tag) = image.name.rsplit_once(':').unwrap_or((&image.name, "latest"));
    let store = has_store.then_some(STORE);
    let own = std::iter::once(VOLUME).chain(store);
    let mut mounts: Vec<_> = own.map(|target| run.volume_mount(target)).collect();
    mounts.extend(volumes.iter().map(image_folder));
    if !volumes.is_empty() {
        mounts.push(run.volume_mount(CHANGES));
    }
    let privileges = privileges.clone();
    let engine = run.engine().facts().clone();
    let tools = Tools::of(image);
    GenericImage::new(name, tag)
        .with_entrypoint(tools.shell())
        .with_cmd(layer::command(tools))
        .with_env_var("container", "docker")
        .with_copy_to(layer::ARCHIVE, CopyDataSource::Data(archive))
        .with_host_config_modifier(move |host| {
            host.mounts = Some(mounts.clone());
            machine(host);
            limits.apply(host);
            allow(host, &privileges, &engine);
        })
}

/// The mount of a volume with a folder of the image, which all nodes share.
fn image_folder(volume: &ImageVolume) -> Mount {
    Mount {
        source: Some(volume.name.clone()),
        target: Some(format!("{FOLDERS}{}", volume.folder)),
        typ: Some(MountType::VOLUME),
        read_only: Some(true),
        ..Mount::default()
    }
}

/// Sets what systemd needs as the first process.
fn machine(host: &mut HostConfig) {
    host.cgroupns_mode = Some(HostConfigCgroupnsModeEnum::PRIVATE);
    // A daemon with `init: true` would start its own init before systemd.
    host.init = Some(false);
    host.publish_all_ports = Some(false);
    host.tmpfs = Some(HashMap::from([
        ("/run".to_owned(), "exec,mode=755".to_owned()),
        ("/tmp".to_owned(), "exec,mode=1777".to_owned()),
    ]));
    // The harness reads the journal from the container's log; the engine's default driver may keep no log.
    host.log_config = Some(HostConfigLogConfig {
        typ: Some("json-file".to_owned()),
        config: Some(HashMap::new()),
    });
}

/// Grants every capability that does not reach beyond the container, and removes the engine's confinement.
///
/// Never `--privileged`, even when the engine allows it: it exposes all devices of the host, and user data that formats
/// an instance store would format the host's second disk.
fn allow(host: &mut HostConfig, privileges: &Privileges, engine: &EngineFacts) {
    host.privileged = Some(false);
    host.cap_add = Some(vec!["ALL".to_owned()]);
    host.cap_drop = Some(privileges.capabilities_to_drop());
    host.security_opt = Some(security_options(engine));
    // The same as `--security-opt systempaths=unconfined` of the docker command.
    host.masked_paths = Some(Vec::new());
    host.readonly_paths = Some(Vec::new());
    host.device_cgroup_rules = Some(DEVICE_RULES.map(str::to_owned).to_vec());
    host.devices = Some(vec![DeviceMapping {
        path_on_host: Some(KERNEL_LOG.0.to_owned()),
        path_in_container: Some(KERNEL_LOG.1.to_owned()),
        cgroup_permissions: Some("rwm".to_owned()),
    }]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_privileges_every_available_capability_is_requested() {
        let mut host = HostConfig::default();
        let privileges = Privileges {
            privileged: false,
            lacking: vec!["SYS_RESOURCE".to_owned()],
            dropped: vec!["SYS_RESOURCE".to_owned()],
        };
        allow(&mut host, &privileges, &EngineFacts::default());
        assert_eq!(host.cap_drop.unwrap(), ["SYS_RESOURCE", "SYS_MODULE", "SYS_TIME"]);
        assert_eq!(host.privileged, Some(false));
    }

    /// Docker 28 returns 400 when a container drops a capability that the engine lacks.
    #[test]
    fn a_capability_that_the_engine_lacks_is_not_dropped() {
        let mut host = HostConfig::default();
        let privileges = Privileges {
            privileged: true,
            lacking: ["SYS_RESOURCE", "SYS_TIME"].map(str::to_owned).to_vec(),
            dropped: Vec::new(),
        };
        allow(&mut host, &privileges, &EngineFacts::default());
        assert_eq!(host.cap_drop.unwrap(), ["SYS_MODULE"]);
    }

    #[test]
    fn a_privileged_engine_exposes_no_device_clock_or_module_of_the_host() {
        let mut host = HostConfig::default();
        let privileges = Privileges {
            privileged: true,
            lacking: Vec::new(),
            dropped: Vec::new(),
        };
        allow(&mut host, &privileges, &EngineFacts::default());
        assert_eq!(host.privileged, Some(false));
        assert_eq!(host.cap_add.unwrap(), ["ALL"]);
        assert_eq!(host.cap_drop.unwrap(), ["SYS_MODULE", "SYS_TIME"]);
        let devices: Vec<_> = host
            .devices
            .unwrap()
            .into_iter()
            .filter_map(|device| device.path_on_host)
            .collect();
        assert_eq!(devices, ["/dev/null"]);
    }

    #[test]
    fn memory_is_limited_where_the_host_has_more() {
        let limit = |gib: u64| {
            let machine = MachineSize {
                vcpus: 2,
                threads_per_core: 2,
                memory_kib: 8 << 20,
            };
            let facts = EngineFacts {
                memory: gib << 30,
                ..EngineFacts::default()
            };
            let mut host = HostConfig::default();
            ContainerLimits::of(Some(machine), 4096, &facts).apply(&mut host);
            assert_eq!(host.pids_limit, Some(4096));
            (host.memory, host.memory_swap)
        };
        assert_eq!(limit(16), (Some(8 << 30), Some(8 << 30)));
        assert_eq!(limit(4), (None, None));
    }

    #[test]
    fn every_node_has_a_private_cgroup_namespace() {
        let mut host = HostConfig::default();
        machine(&mut host);
        assert_eq!(host.cgroupns_mode, Some(HostConfigCgroupnsModeEnum::PRIVATE));
        assert_eq!(host.init, Some(false));
    }
}
