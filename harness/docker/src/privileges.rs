//! What the engine allows containers to do, determined by starting probe containers.

use std::path::PathBuf;

use bollard::models::HostConfig;
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::{DockerError, status};
use crate::owner::Owner;
use crate::probe::Probe;

/// Capabilities that reach beyond a container: modules and clock of the kernel belong to the host. No node gets them, and the
/// entry program of a node checks that.
const HOST_ONLY_CAPABILITIES: [&str; 2] = ["SYS_MODULE", "SYS_TIME"];

/// Prints the highest capability that the kernel knows, and the capabilities that a process can have.
const LOOK: [&str; 3] = ["cat", "/proc/sys/kernel/cap_last_cap", "/proc/self/status"];

/// Number of capabilities that engines with API 1.41 know.
const KNOWN_TO_ALL: usize = 38;

/// Every capability, indexed by its number in the kernel.
const CAPABILITIES: [&str; 41] = [
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
    /// The subset of `lacking` that a container must drop from `ALL`: some engines refuse to start a container with capabilities
    /// that they lack; newer engines start it without them, do not report that, and refuse to drop them.
    pub dropped: Vec<String>,
}

impl Privileges {
    /// The capabilities that a container with `ALL` must drop, so that it starts and gets none of the host-only capabilities. A
    /// host-only capability that the host lacks is not among them: Docker 28 refuses to drop it.
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

impl Engine {
    /// The privileges of containers, determined once by probe containers of `image`, which must contain `cat`. The result is cached
    /// in memory and in the cache folder, for this engine and this boot of its machine.
    ///
    /// # Errors
    /// When no container starts.
    pub async fn privileges(&self, image: &str) -> Result<Privileges, DockerError> {
        let mut known = self.known_privileges().lock().await;
        let key = self.facts().id.clone();
        if let Some(privileges) = known.get(&key) {
            return Ok(privileges.clone());
        }
        let cached = self.cache_file();
        let privileges = match read(&cached) {
            Some(privileges) => privileges,
            None => self.probe_privileges(image).await?,
        };
        write(&cached, &privileges);
        known.insert(key, privileges.clone());
        Ok(privileges)
    }

    async fn probe_privileges(&self, image: &str) -> Result<Privileges, DockerError> {
        let everything = HostConfig {
            privileged: Some(true),
            ..HostConfig::default()
        };
        if let Attempt::Starts(lacking) = self.attempt(image, everything).await? {
            return Ok(Privileges {
                privileged: true,
                lacking,
                dropped: Vec::new(),
            });
        }
        let (old, all) = (
            lacking_on_this_machine(&CAPABILITIES[..KNOWN_TO_ALL]),
            lacking_on_this_machine(&CAPABILITIES),
        );
        for dropped in [Vec::new(), old, all] {
            if let Attempt::Starts(lacking) = self.attempt(image, with_all_except(&dropped)).await? {
                return Ok(Privileges {
                    privileged: false,
                    lacking,
                    dropped,
                });
            }
        }
        let dropped = self.lacking_one_by_one(image).await?;
        Ok(Privileges {
            privileged: false,
            lacking: dropped.clone(),
            dropped,
        })
    }

    /// Probes each capability separately, which takes about ten seconds.
    async fn lacking_one_by_one(&self, image: &str) -> Result<Vec<String>, DockerError> {
        let mut dropped = Vec::new();
        for capability in CAPABILITIES {
            let one = HostConfig {
                cap_add: Some(vec![capability.to_owned()]),
                ..HostConfig::default()
            };
            if self.attempt(image, one).await? == Attempt::Refused {
                dropped.push(capability.to_owned());
            }
        }
        if dropped.len() >= KNOWN_TO_ALL {
            // So many refusals have another cause than capabilities: a plain probe returns the engine's reason.
            Probe::of(image).run(self).await?;
        }
        Ok(dropped)
    }

    async fn attempt(&self, image: &str, host: HostConfig) -> Result<Attempt, DockerError> {
        let probe = Probe::of(image).with_host(host).with_command(&LOOK);
        match probe.run(self).await {
            Ok((_, seen)) => Ok(Attempt::Starts(lacking_in(&seen))),
            Err(DockerError::Engine {
                operation: Probe::START,
                ..
            }) => Ok(Attempt::Refused),
            Err(DockerError::Engine { source, .. }) if status(&source) == Some(400) => Ok(Attempt::Unknown),
            Err(error) => Err(error),
        }
    }

    fn cache_file(&self) -> PathBuf {
        let safe = |text: &str| {
            text.chars()
                .filter(char::is_ascii_alphanumeric)
                .collect::<String>()
        };
        let name = format!(
            "{}-{}-{}.json",
            safe(&self.facts().id),
            safe(&self.facts().server_version),
            safe(&Owner::current().boot)
        );
        self.cache().join("capabilities").join(name)
    }
}

fn with_all_except(dropped: &[String]) -> HostConfig {
    HostConfig {
        cap_add: Some(vec!["ALL".to_owned()]),
        cap_drop: Some(dropped.to_vec()),
        ..HostConfig::default()
    }
}

/// The result of starting a container with some privileges.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Attempt {
    /// The container runs, without these capabilities.
    Starts(Vec<String>),
    Refused,
    /// The engine does not know one of the requested capabilities: it is older than the capability.
    Unknown,
}

/// Capabilities that a container lacks by the output of `LOOK`. Without output, because the image has no `cat`, it lacks none.
fn lacking_in(seen: &str) -> Vec<String> {
    let last = seen.lines().next().and_then(|line| line.trim().parse().ok());
    let known = last.map_or(0, |last: usize| (last + 1).min(CAPABILITIES.len()));
    lacking(seen, &CAPABILITIES[..known])
}

/// Capabilities that this process lacks: a local engine usually lacks the same.
fn lacking_on_this_machine(capabilities: &[&str]) -> Vec<String> {
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

fn read(file: &PathBuf) -> Option<Privileges> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

fn write(file: &PathBuf, privileges: &Privileges) {
    let written = || {
        std::fs::create_dir_all(file.parent()?).ok()?;
        std::fs::write(file, serde_json::to_vec(privileges).ok()?).ok()
    };
    if written().is_none() {
        tracing::debug!(file = %file.display(), "could not cache the privileges; the next run probes them again");
    }
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
