//! The container of a node: what it may do, and what is mounted in it.

use std::collections::HashMap;

use nodejoin_docker::{Privileges, Run};
use testcontainers::bollard::models::{
    DeviceMapping, HostConfig, HostConfigCgroupnsModeEnum, HostConfigLogConfig,
};
use testcontainers::{ContainerRequest, CopyDataSource, GenericImage, ImageExt as _};

use crate::layer;

/// Folders that programs of a node cannot keep on the container's own file system: containerd's and docker's layers are overlays
/// themselves, and the kubelet wants the device below its folder.
const VOLUMES: [&str; 3] = ["/var/lib/containerd", "/var/lib/docker", "/var/lib/kubelet"];

/// The request for a node's container.
pub(crate) fn request(
    run: &Run,
    image: &str,
    privileges: &Privileges,
    archive: Vec<u8>,
) -> ContainerRequest<GenericImage> {
    let (name, tag) = image.rsplit_once(':').unwrap_or((image, "latest"));
    let mounts: Vec<_> = VOLUMES.iter().map(|target| run.volume_mount(target)).collect();
    let privileges = privileges.clone();
    GenericImage::new(name, tag)
        .with_entrypoint("/bin/sh")
        .with_cmd(["-c", layer::COMMAND])
        .with_env_var("container", "docker")
        .with_copy_to(layer::ARCHIVE, CopyDataSource::Data(archive))
        .with_host_config_modifier(move |host| {
            host.mounts = Some(mounts.clone());
            machine(host);
            allow(host, &privileges);
        })
}

/// What makes a container a machine that systemd can run.
fn machine(host: &mut HostConfig) {
    host.cgroupns_mode = Some(HostConfigCgroupnsModeEnum::PRIVATE);
    // A daemon that puts its own init into every container would keep systemd from being the first process.
    host.init = Some(false);
    host.publish_all_ports = Some(false);
    host.tmpfs = Some(HashMap::from([
        ("/run".to_owned(), "exec,mode=755".to_owned()),
        ("/tmp".to_owned(), "exec,mode=1777".to_owned()),
    ]));
    // The journal leaves through the container's output; the engine's own default may keep none.
    host.log_config = Some(HostConfigLogConfig {
        typ: Some("json-file".to_owned()),
        config: Some(HashMap::new()),
    });
}

/// Every capability that the engine can give and that stays inside, and no confinement.
///
/// Not `--privileged`, even where the engine allows it: that brings all devices of the host, and user data that formats an
/// instance store would format the second disk of whoever runs it.
fn allow(host: &mut HostConfig, privileges: &Privileges) {
    let unconfined = ["seccomp=unconfined", "apparmor=unconfined"];
    host.privileged = Some(false);
    host.cap_add = Some(vec!["ALL".to_owned()]);
    host.cap_drop = Some(privileges.capabilities_to_drop());
    host.security_opt = Some(unconfined.map(str::to_owned).to_vec());
    // What the command-line client sends for `--security-opt systempaths=unconfined`.
    host.masked_paths = Some(Vec::new());
    host.readonly_paths = Some(Vec::new());
    host.device_cgroup_rules = Some(vec!["a *:* rwm".to_owned()]);
    host.devices = Some(vec![DeviceMapping {
        path_on_host: Some("/dev/kmsg".to_owned()),
        path_in_container: Some("/dev/kmsg".to_owned()),
        cgroup_permissions: Some("rwm".to_owned()),
    }]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_privileges_all_that_the_host_has_is_asked_for() {
        let mut host = HostConfig::default();
        let privileges = Privileges {
            privileged: false,
            lacking: vec!["SYS_RESOURCE".to_owned()],
            dropped: vec!["SYS_RESOURCE".to_owned()],
        };
        allow(&mut host, &privileges);
        assert_eq!(host.cap_drop.unwrap(), ["SYS_RESOURCE", "SYS_MODULE", "SYS_TIME"]);
        assert_eq!(host.privileged, Some(false));
    }

    /// Docker 28 answers 400 to the drop of a capability that it has not itself.
    #[test]
    fn what_the_engine_lacks_is_not_dropped_where_it_starts_containers_without() {
        let mut host = HostConfig::default();
        let privileges = Privileges {
            privileged: true,
            lacking: ["SYS_RESOURCE", "SYS_TIME"].map(str::to_owned).to_vec(),
            dropped: Vec::new(),
        };
        allow(&mut host, &privileges);
        assert_eq!(host.cap_drop.unwrap(), ["SYS_MODULE"]);
    }

    #[test]
    fn an_engine_that_allows_everything_gives_no_device_clock_or_module_of_the_host() {
        let mut host = HostConfig::default();
        let privileges = Privileges {
            privileged: true,
            lacking: Vec::new(),
            dropped: Vec::new(),
        };
        allow(&mut host, &privileges);
        assert_eq!(host.privileged, Some(false));
        assert_eq!(host.cap_add.unwrap(), ["ALL"]);
        assert_eq!(host.cap_drop.unwrap(), ["SYS_MODULE", "SYS_TIME"]);
        let devices: Vec<_> = host
            .devices
            .unwrap()
            .into_iter()
            .filter_map(|device| device.path_on_host)
            .collect();
        assert_eq!(devices, ["/dev/kmsg"]);
    }

    #[test]
    fn every_node_has_a_tree_of_control_groups_of_its_own() {
        let mut host = HostConfig::default();
        machine(&mut host);
        assert_eq!(host.cgroupns_mode, Some(HostConfigCgroupnsModeEnum::PRIVATE));
        assert_eq!(host.init, Some(false));
    }
}
