//! Determines the privileges of containers by starting probe containers.

use std::path::PathBuf;

use bollard::models::HostConfig;

use crate::engine::Engine;
use crate::error::{DockerError, status};
use crate::owner::Owner;
use crate::privileges::{CAPABILITIES, KNOWN_TO_ALL, Privileges, lacking_in, lacking_on_this_machine};
use crate::probe::Probe;

/// The highest capability that the kernel knows, and the capabilities that a process can have.
const FILES: [&str; 2] = ["/proc/sys/kernel/cap_last_cap", "/proc/self/status"];

/// An image and the path of its `cat`, which prints the files.
#[derive(Clone, Copy)]
struct Looking<'a> {
    image: &'a str,
    cat: &'a str,
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

impl Engine {
    /// The privileges of containers, determined once by probe containers of `image` with its program `cat`. The
    /// result is cached in memory and in the cache folder, for this engine and this boot of its machine.
    ///
    /// # Errors
    /// When no container starts.
    pub async fn privileges(&self, image: &str, cat: &str) -> Result<Privileges, DockerError> {
        let mut known = self.known_privileges().lock().await;
        if let Some(privileges) = &*known {
            return Ok(privileges.clone());
        }
        let cached = self.cache_file();
        let privileges = match read(&cached) {
            Some(privileges) => privileges,
            None => self.probe_privileges(Looking { image, cat }).await?,
        };
        write(&cached, &privileges);
        Ok(known.insert(privileges).clone())
    }

    async fn probe_privileges(&self, image: Looking<'_>) -> Result<Privileges, DockerError> {
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
    async fn lacking_one_by_one(&self, image: Looking<'_>) -> Result<Vec<String>, DockerError> {
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
            // The refusals have another cause than capabilities: a plain probe returns the engine's reason.
            Probe::of(image.image).run(self).await?;
        }
        Ok(dropped)
    }

    async fn attempt(&self, looking: Looking<'_>, host: HostConfig) -> Result<Attempt, DockerError> {
        let probe = Probe::of(looking.image)
            .with_host(host)
            .with_command(&[looking.cat, FILES[0], FILES[1]]);
        match probe.run(self).await {
            Ok((_, output)) => Ok(Attempt::Starts(lacking_in(&output))),
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
