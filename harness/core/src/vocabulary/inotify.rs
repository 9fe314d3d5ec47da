//! The inotify instances that nodes need, and the limit of the host.

/// Inotify instances per node: three for systemd, one each for dbus, the journal reader, containerd and docker, the
/// rest for the kubelet.
const INSTANCES_OF_NODE: u64 = 9;
/// Inotify instances of the container engine and of host services that run as root.
const INSTANCES_OF_HOST: u64 = 16;
/// Minimum value of the suggestion: unused instances cost nothing.
const MIN_SUGGESTION: u64 = 1024;

/// Number of nodes that `fs.inotify.max_user_instances` allows.
#[must_use]
pub fn nodes_allowed(instances: u64) -> u64 {
    instances.saturating_sub(INSTANCES_OF_HOST) / INSTANCES_OF_NODE
}

/// Suggested value of `fs.inotify.max_user_instances` for this number of nodes.
#[must_use]
pub fn instances_for(nodes: u64) -> u64 {
    let needed = INSTANCES_OF_HOST + nodes * INSTANCES_OF_NODE;
    needed.next_power_of_two().max(MIN_SUGGESTION)
}

/// The command that sets it.
#[must_use]
pub fn remedy(nodes: u64) -> String {
    format!(
        "sudo sysctl -w fs.inotify.max_user_instances={}",
        instances_for(nodes)
    )
}
