//! The systemd units of the node images, and the types of units.

/// What a unit's name ends with.
pub const TYPES: &[&str] = &[
    "automount",
    "device",
    "mount",
    "path",
    "scope",
    "service",
    "slice",
    "socket",
    "swap",
    "target",
    "timer",
];

/// Units that the node images, their overlays and cloud-init have, and units that AMIs have.
pub const KNOWN: &[&str] = &[
    "amazon-ssm-agent.service",
    "chrony.service",
    "chronyd.service",
    "cloud-config.service",
    "cloud-final.service",
    "cloud-init-local.service",
    "cloud-init.service",
    "containerd.service",
    "docker.service",
    "docker.socket",
    "iptables-restore.service",
    "kubelet-containerd.service",
    "kubelet.service",
    "nodeadm-config.service",
    "nodeadm-run.service",
    "sandbox-image.service",
    "snap.kubelet-eks.daemon.service",
];
