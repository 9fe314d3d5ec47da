//! The programs `kind` and `docker`: from PATH, else kind as Debian packages it.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::{ImageSettings, debian_program, on_path};
use tokio::process::Command;
use tokio::time::timeout;

use crate::ClusterError;

/// The programs `kind` and `docker`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KindProgram {
    pub(crate) kind: PathBuf,
    pub(crate) docker: PathBuf,
}

/// The first version that gives each node its own control groups on every host.
const OLDEST: [u32; 2] = [0, 20];
/// The Debian release whose package is used without kind on PATH: its kind 0.27 supports both versions of control
/// groups.
const DEBIAN: &str = "trixie";
/// Until a program has printed its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

impl KindProgram {
    /// Finds kind on PATH, else unpacks Debian's package into the cache folder, without installing it.
    ///
    /// # Errors
    /// When docker is not on PATH, kind is too old, or its package cannot be downloaded.
    pub(crate) async fn find(
        settings: &ImageSettings,
        time_factor: TimeFactor,
    ) -> Result<Self, ClusterError> {
        let docker = on_path("docker").ok_or_else(|| ClusterError::Program {
            program: "docker",
            reason: "it is not on PATH, and kind creates nodes with it".to_owned(),
        })?;
        let kind = match on_path("kind") {
            Some(kind) => kind,
            None => debian_program(settings, DEBIAN, "kind", "kind")
                .await
                .map_err(missing)?,
        };
        let output = stdout(Command::new(&kind).arg("version"), time_factor).await?;
        check_version(&kind.display().to_string(), &output)?;
        Ok(Self { kind, docker })
    }
}

fn missing(source: nodejoin_docker::DockerError) -> ClusterError {
    ClusterError::Program {
        program: "kind",
        reason: format!("it is not on PATH, and {source}"),
    }
}

async fn stdout(command: &mut Command, time_factor: TimeFactor) -> Result<String, ClusterError> {
    let failed = |reason: String| ClusterError::Program {
        program: "kind",
        reason,
    };
    let done = timeout(
        time_factor.scale(VERSION_TIMEOUT),
        command.stdin(Stdio::null()).kill_on_drop(true).output(),
    )
    .await;
    let done = done.map_err(|_| failed("`kind version` does not end".to_owned()))?;
    let done = done.map_err(|error| failed(error.to_string()))?;
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Checks an output such as `kind v0.27.0 go1.24.4 linux/amd64`.
fn check_version(program: &str, output: &str) -> Result<(), ClusterError> {
    let version = output.split_whitespace().find_map(|word| {
        let mut parts = word.strip_prefix('v')?.split(['.', '-', '+']);
        let (major, minor) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some([major, minor])
    });
    let reason = match version {
        Some(version) if version >= OLDEST => return Ok(()),
        Some([major, minor]) => format!(
            "`{program}` has version {major}.{minor}, but nodejoin needs {}.{} or later",
            OLDEST[0], OLDEST[1]
        ),
        None => format!("unexpected output of `{program} version`: `{}`", output.trim()),
    };
    Err(ClusterError::Program {
        program: "kind",
        reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed_from_the_output_of_kind() {
        for good in [
            "kind v0.27.0 go1.24.4 linux/amd64",
            "kind v0.20.0-alpha+abc go1.20 linux/arm64",
            "kind v1.0.0",
        ] {
            assert!(check_version("kind", good).is_ok(), "{good}");
        }
        let old = check_version("/usr/bin/kind", "kind v0.9.0 go1.15 linux/amd64").unwrap_err();
        assert_eq!(
            old.to_string(),
            "could not use the program `kind`: `/usr/bin/kind` has version 0.9, but nodejoin needs 0.20 or later"
        );
        assert!(old.hint().unwrap().contains("kind.sigs.k8s.io"));
        assert!(
            check_version("kind", "hello")
                .unwrap_err()
                .to_string()
                .contains("`hello`")
        );
    }
}
