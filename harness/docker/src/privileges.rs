//! The privileges of containers, and the capabilities of the kernel.

use serde::{Deserialize, Serialize};

/// Capabilities that reach beyond a container: modules and clock of the kernel belong to the host. No node gets them,
/// and the entry program of a node checks that.
const HOST_ONLY_CAPABILITIES: [&str; 2] = ["SYS_MODULE", "SYS_TIME"];

/// Number of capabilities that engines with API 1.41 know.
pub(crate) const KNOWN_TO_ALL: usize = 38;

/// Every capability, indexed by its number in the kernel.
pub(crate) const CAPABILITIES: [&str; 41] = [
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
];

/// The privileges that containers can have on an engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Privileges {
    /// Whether `--privileged` works.
    pub privileged: bool,
    /// Capabilities that the host lacks, so that no container has them.
    pub lacking: Vec<String>,
    /// The subset of `lacking` that a container must drop from `ALL`: some engines refuse to start a container with
    /// capabilities that they lack; newer engines start it without them, do not report that, and refuse to drop them.
    pub dropped: Vec<String>,
}

impl Privileges {
    /// The capabilities that a container with `ALL` must drop, so that it starts and gets none of the host-only
    /// capabilities. A host-only capability that the host lacks is not among them: Docker 28 refuses to drop it.
    #[must_use]
    pub fn capabilities_to_drop(&self) -> Vec<String> {
        let host_only = HOST_ONLY_CAPABILITIES
            .into_iter()
            .filter(|name| !self.lacking.iter().any(|lacking| lacking == name));
        let mut all = self.dropped.clone();
        all.extend(host_only.map(str::to_owned));
        all
    }
}

/// Capabilities that a container lacks: `output` is /proc/sys/kernel/cap_last_cap followed by /proc/self/status in it.
/// Without output, because the image has no `cat`, it lacks none.
pub(crate) fn lacking_in(output: &str) -> Vec<String> {
    let last = output.lines().next().and_then(|line| line.trim().parse().ok());
    let known = last.map_or(0, |last: usize| (last + 1).min(CAPABILITIES.len()));
    lacking(output, &CAPABILITIES[..known])
}

/// Capabilities that this process lacks: a local engine usually lacks the same.
pub(crate) fn lacking_on_this_machine(capabilities: &[&str]) -> Vec<String> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    lacking(&status, capabilities)
}

/// Capabilities missing from `CapBnd` in /proc/PID/status.
fn lacking(status: &str, capabilities: &[&str]) -> Vec<String> {
    let bounding = status.lines().find_map(|line| line.strip_prefix("CapBnd:"));
    let Some(bounding) = bounding.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()) else {
        return Vec::new();
    };
    let missing = capabilities
        .iter()
        .enumerate()
        .filter(|(bit, _)| bounding & (1 << bit) == 0);
    missing.map(|(_, name)| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_drop_host_only_capabilities_unless_the_host_lacks_them() {
        let dropped = |lacking: &[&str], dropped: &[&str]| {
            let privileges = Privileges {
                privileged: false,
                lacking: lacking.iter().map(|&name| name.to_owned()).collect(),
                dropped: dropped.iter().map(|&name| name.to_owned()).collect(),
            };
            privileges.capabilities_to_drop().join(" ")
        };
        assert_eq!(dropped(&[], &[]), "SYS_MODULE SYS_TIME");
        assert_eq!(dropped(&["SYS_TIME"], &[]), "SYS_MODULE");
        assert_eq!(
            dropped(&["SYS_RESOURCE"], &["SYS_RESOURCE"]),
            "SYS_RESOURCE SYS_MODULE SYS_TIME"
        );
        assert_eq!(dropped(&["SYS_TIME"], &["SYS_TIME"]), "SYS_TIME SYS_MODULE");
    }

    #[test]
    fn the_bounding_set_is_a_bit_mask_of_capability_numbers() {
        let status = |set: &str| format!("Name:\tcat\nCapEff:\t0000000000000000\nCapBnd:\t{set}\n");
        assert_eq!(
            lacking(&status("000001fffeffffff"), &CAPABILITIES),
            ["SYS_RESOURCE"]
        );
        assert!(lacking(&status("ffffffffffffffff"), &CAPABILITIES).is_empty());
    }

    #[test]
    fn capabilities_unknown_to_the_kernel_are_not_lacking() {
        let seen = |last: &str, set: &str| lacking_in(&format!("{last}\nName:\tcat\nCapBnd:\t{set}\n"));
        assert_eq!(seen("40", "000001fffeffffff"), ["SYS_RESOURCE"]);
        assert!(seen("40", "000001ffffffffff").is_empty());
        // Kernels before 5.8 have no CAP_PERFMON and no later capability.
        assert!(seen("37", "0000003fffffffff").is_empty());
        assert!(lacking_in("").is_empty());
    }
}
