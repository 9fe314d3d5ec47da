//! The programs `kind` and `docker`: from PATH, else kind as Debian packages it.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use nodejoin_docker::{ImageSettings, debian_program, on_path};
use tokio::process::Command;
use tokio::time::timeout;

use crate::ClusterError;

/// The program that makes the cluster, and the one that it makes it with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindProgram {
    pub(crate) kind: PathBuf,
    pub(crate) docker: PathBuf,
}

/// The first that gives each node control groups of its own on every host.
const OLDEST: [u32; 2] = [0, 20];
/// The release of Debian whose kind is taken where there is none: its 0.27 runs on both versions of control groups.
const DEBIAN: &str = "trixie";
/// How long a program may take to say its version.
const SAYS_WITHIN: Duration = Duration::from_secs(20);

impl KindProgram {
    /// kind from PATH, else from Debian's package, which is unpacked into the cache folder. Nothing is installed on this machine.
    ///
    /// # Errors
    /// When there is no docker on PATH, kind is too old, or there is none and the package cannot be downloaded.
    pub async fn find(settings: &ImageSettings) -> Result<Self, ClusterError> {
        let docker = on_path("docker").ok_or_else(|| ClusterError::Program {
            program: "docker",
            wrong: "it is not on PATH, and kind makes its nodes with it".to_owned(),
        })?;
        let kind = match on_path("kind") {
            Some(kind) => kind,
            None => debian_program(settings, DEBIAN, "kind", "kind")
                .await
                .map_err(missing)?,
        };
        let said = said(Command::new(&kind).arg("version")).await?;
        check(&kind.display().to_string(), &said)?;
        Ok(Self { kind, docker })
    }
}

fn missing(source: nodejoin_docker::DockerError) -> ClusterError {
    ClusterError::Program {
        program: "kind",
        wrong: format!("it is not on PATH, and {source}"),
    }
}

async fn said(command: &mut Command) -> Result<String, ClusterError> {
    let wrong = |wrong: String| ClusterError::Program {
        program: "kind",
        wrong,
    };
    let done = timeout(
        SAYS_WITHIN,
        command.stdin(Stdio::null()).kill_on_drop(true).output(),
    )
    .await;
    let done = done.map_err(|_| wrong("it does not say its version".to_owned()))?;
    let done = done.map_err(|error| wrong(error.to_string()))?;
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Whether `kind v0.27.0 go1.24.4 linux/amd64` is new enough.
fn check(program: &str, said: &str) -> Result<(), ClusterError> {
    let version = said.split_whitespace().find_map(|word| {
        let mut parts = word.strip_prefix('v')?.split(['.', '-', '+']);
        let (major, minor) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some([major, minor])
    });
    let wrong = match version {
        Some(version) if version >= OLDEST => return Ok(()),
        Some([major, minor]) => format!(
            "`{program}` is version {major}.{minor}, and {}.{} is the oldest that will do",
            OLDEST[0], OLDEST[1]
        ),
        None => format!("`{program} version` said `{}`", said.trim()),
    };
    Err(ClusterError::Program {
        program: "kind",
        wrong,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_from_what_kind_says() {
        for good in [
            "kind v0.27.0 go1.24.4 linux/amd64",
            "kind v0.20.0-alpha+abc go1.20 linux/arm64",
            "kind v1.0.0",
        ] {
            assert!(check("kind", good).is_ok(), "{good}");
        }
        let old = check("/usr/bin/kind", "kind v0.9.0 go1.15 linux/amd64").unwrap_err();
        assert_eq!(
            old.to_string(),
            "kind cannot be used: `/usr/bin/kind` is version 0.9, and 0.20 is the oldest that will do"
        );
        assert!(old.hint().unwrap().contains("kind.sigs.k8s.io"));
        assert!(
            check("kind", "hello")
                .unwrap_err()
                .to_string()
                .contains("said `hello`")
        );
    }
}
