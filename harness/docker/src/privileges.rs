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
    /// Where it does not: the capabilities that the host itself lacks, to be dropped from `ALL`.
    pub dropped: Vec<String>,
}

impl Engine {
    /// What containers may do here, probed by a throw-away container of `image`, which needs the program `true`.
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
        if self.attempt(image, everything).await? == Attempt::Starts {
            return Ok(Privileges {
                privileged: true,
                dropped: Vec::new(),
            });
        }
        let (old, all) = (
            lacking_here(&CAPABILITIES[..KNOWN_TO_ALL]),
            lacking_here(&CAPABILITIES),
        );
        for dropped in [Vec::new(), old, all] {
            if self.attempt(image, with_all_but(&dropped)).await? == Attempt::Starts {
                return Ok(Privileges {
                    privileged: false,
                    dropped,
                });
            }
        }
        let dropped = self.lacking_one_by_one(image).await?;
        Ok(Privileges {
            privileged: false,
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
        match Probe::of(image).with_host(host).run(self).await {
            Ok(_) => Ok(Attempt::Starts),
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
        self.cache().join("privileges").join(name)
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Starts,
    Refused,
    /// The engine does not know what was asked for: an older one and a newer capability.
    Unknown,
}

/// What this process cannot have either: an engine beside it most often lacks the same.
fn lacking_here(capabilities: &[&str]) -> Vec<String> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bounding = status.lines().find_map(|line| line.strip_prefix("CapBnd:"));
    let bounding = bounding.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    bounding.map_or_else(Vec::new, |bounding| lacking(bounding, capabilities))
}

fn lacking(bounding: u64, capabilities: &[&str]) -> Vec<String> {
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
        assert_eq!(lacking(0x0000_01ff_feff_ffff, &CAPABILITIES), ["SYS_RESOURCE"]);
        assert!(lacking(u64::MAX, &CAPABILITIES).is_empty());
    }
}
