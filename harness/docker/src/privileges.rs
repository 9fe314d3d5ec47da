//! What containers may do on an engine, found out by trying.

use std::path::PathBuf;

use bollard::models::HostConfig;
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::{DockerError, status};
use crate::owner::Owner;
use crate::probe::Probe;

/// What a node's container may have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Privileges {
    /// Whether `--privileged` works.
    pub privileged: bool,
    /// The capabilities that the host itself lacks, so that no container has them.
    pub lacking: Vec<String>,
    /// Those of them that must be dropped from `ALL`: some engines refuse to start a container with what they lack, newer ones
    /// start it without, say nothing, and refuse to drop it.
    pub dropped: Vec<String>,
}

impl Engine {
    /// What containers may do here, probed by a throw-away container of `image`, which needs the program `cat`.
    /// The answer is kept in memory and in the cache folder: it belongs to the engine and the boot of its machine.
    ///
    /// # Errors
    /// When no container starts at all.
    pub async fn privileges(&self, image: &str) -> Result<Privileges, DockerError> {
        let mut known = self.known_privileges().lock().await;
        let key = self.facts().id.clone();
        if let Some(privileges) = known.get(&key) {
            return Ok(privileges.clone());
        }
        let kept = self.kept_file();
        let privileges = match read(&kept) {
            Some(privileges) => privileges,
            None => self.try_out(image).await?,
        };
        keep(&kept, &privileges);
        known.insert(key, privileges.clone());
        Ok(privileges)
    }

    async fn try_out(&self, image: &str) -> Result<Privileges, DockerError> {
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
            lacking_here(&CAPABILITIES[..KNOWN_TO_ALL]),
            lacking_here(&CAPABILITIES),
        );
        for dropped in [Vec::new(), old, all] {
            if let Attempt::Starts(lacking) = self.attempt(image, with_all_but(&dropped)).await? {
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

    /// The long way: asks for every capability alone. Some ten seconds, once.
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
            // Then it is not about capabilities: let the engine say what it is about.
            Probe::of(image).run(self).await?;
        }
        Ok(dropped)
    }

    async fn attempt(&self, image: &str, host: HostConfig) -> Result<Attempt, DockerError> {
        let probe = Probe::of(image).with_host(host).with_command(&LOOK);
        match probe.run(self).await {
            Ok((_, seen)) => Ok(Attempt::Starts(lacking_of(&seen))),
            Err(DockerError::Engine {
                operation: Probe::START,
                ..
            }) => Ok(Attempt::Refused),
            Err(DockerError::Engine { source, .. }) if status(&source) == Some(400) => Ok(Attempt::Unknown),
            Err(error) => Err(error),
        }
    }

    fn kept_file(&self) -> PathBuf {
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

fn with_all_but(dropped: &[String]) -> HostConfig {
    HostConfig {
        cap_add: Some(vec!["ALL".to_owned()]),
        cap_drop: Some(dropped.to_vec()),
        ..HostConfig::default()
    }
}

/// What became of a container that asked for something.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Attempt {
    /// It runs, without these.
    Starts(Vec<String>),
    Refused,
    /// The engine does not know what was asked for: an older one and a newer capability.
    Unknown,
}

/// Shows the capabilities that the kernel knows and those that a process can have.
const LOOK: [&str; 3] = ["cat", "/proc/sys/kernel/cap_last_cap", "/proc/self/status"];

/// What a container lacks, by what `LOOK` shows in it. An image without the program shows nothing, and lacks nothing then.
fn lacking_of(seen: &str) -> Vec<String> {
    let last = seen.lines().next().and_then(|line| line.trim().parse().ok());
    let known = last.map_or(0, |last: usize| (last + 1).min(CAPABILITIES.len()));
    lacking(seen, &CAPABILITIES[..known])
}

/// What this process cannot have either: an engine beside it most often lacks the same.
fn lacking_here(capabilities: &[&str]) -> Vec<String> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    lacking(&status, capabilities)
}

/// Those of the capabilities that the bounding set in a process' status has not.
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

fn keep(file: &PathBuf, privileges: &Privileges) {
    let write = || {
        std::fs::create_dir_all(file.parent()?).ok()?;
        std::fs::write(file, serde_json::to_vec(privileges).ok()?).ok()
    };
    if write().is_none() {
        tracing::debug!(file = %file.display(), "what the engine allows could not be kept and is probed again next time");
    }
}

/// How many of them engines of API 1.41 know.
const KNOWN_TO_ALL: usize = 38;

/// Every capability by its number in the kernel.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounding_set_is_read_by_number() {
        let status = |set: &str| format!("Name:\tcat\nCapEff:\t0000000000000000\nCapBnd:\t{set}\n");
        assert_eq!(
            lacking(&status("000001fffeffffff"), &CAPABILITIES),
            ["SYS_RESOURCE"]
        );
        assert!(lacking(&status("ffffffffffffffff"), &CAPABILITIES).is_empty());
    }

    #[test]
    fn a_container_lacks_what_its_kernel_knows_and_it_has_not() {
        let seen = |last: &str, set: &str| lacking_of(&format!("{last}\nName:\tcat\nCapBnd:\t{set}\n"));
        assert_eq!(seen("40", "000001fffeffffff"), ["SYS_RESOURCE"]);
        assert!(seen("40", "000001ffffffffff").is_empty());
        // A kernel before 5.8 has no CAP_PERFMON and what came after it.
        assert!(seen("37", "0000003fffffffff").is_empty());
        assert!(lacking_of("").is_empty());
    }
}
