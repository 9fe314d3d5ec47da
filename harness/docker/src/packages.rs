//! Debian packages unpacked into the cache folder: programs that the host lacks, without installing anything.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use crate::error::DockerError;
use crate::file_lock::FileLock;
use crate::settings::ImageSettings;

/// Path of Debian's keyring on a Debian system, relative to the root.
pub(crate) const KEYRING: &str = "usr/share/keyrings/debian-archive-keyring.gpg";

/// Path of a program of a Debian release; the program is unpacked from its package into the cache folder if necessary.
///
/// # Errors
/// When the host has no apt, or the package cannot be downloaded.
pub async fn debian_program(
    settings: &ImageSettings,
    release: &str,
    package: &str,
    program: &str,
) -> Result<PathBuf, DockerError> {
    let folder = settings.cache.join(format!("debian-{release}"));
    let file = folder.join("tree/usr/bin").join(program);
    let _lock = FileLock::take(&settings.cache.join("locks"), &format!("debian-{release}")).await?;
    if file.is_file() {
        return Ok(file);
    }
    let failed = |reason| DockerError::Package {
        package: package.to_owned(),
        release: release.to_owned(),
        reason,
    };
    let mut ignored = |output: &str| tracing::debug!(output, "apt");
    let archive = AptArchive::of_release(folder, release, settings, &mut ignored).await;
    let archive = archive.map_err(failed)?;
    archive.unpack(&[package], &mut ignored).await.map_err(failed)?;
    if file.is_file() {
        Ok(file)
    } else {
        Err(failed(format!("the package does not contain `{program}`")))
    }
}

/// A source of packages, and the folder for package lists, archives, and (below `tree`) the unpacked files.
///
/// The folder has its own package lists: the host may have none, and the harness must not update the host's.
pub(crate) struct AptArchive {
    folder: PathBuf,
    /// A sources.list with a single source that replaces the host's sources.
    sources: Option<PathBuf>,
}

/// Receives the output of the tools.
pub(crate) type OnOutput<'a> = &'a mut (dyn FnMut(&str) + Send);

impl AptArchive {
    /// Packages of the host's distribution.
    pub(crate) fn of_the_host(folder: PathBuf) -> Self {
        Self {
            folder,
            sources: None,
        }
    }

    /// Packages of a Debian release, on any host. Debian's keyring comes from the host, else from its package.
    async fn of_release(
        folder: PathBuf,
        release: &str,
        settings: &ImageSettings,
        on_output: OnOutput<'_>,
    ) -> Result<Self, String> {
        let keyring = keyring(&folder, on_output).await?;
        let sources = folder.join("sources.list");
        let line = format!(
            "deb [signed-by={}] {} {release} main\n",
            keyring.display(),
            settings.debian_mirror
        );
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("could not create `{}`: {error}", folder.display()))?;
        std::fs::write(&sources, line)
            .map_err(|error| format!("could not write `{}`: {error}", sources.display()))?;
        Ok(Self {
            folder,
            sources: Some(sources),
        })
    }

    /// Downloads packages and unpacks them below `tree`, without their dependencies.
    pub(crate) async fn unpack(&self, packages: &[&str], on_output: OnOutput<'_>) -> Result<(), String> {
        if on_path("apt-get").is_none() || on_path("dpkg-deb").is_none() {
            let packages = packages.join(" and ");
            return Err(format!(
                "this host lacks {packages}, and has no apt-get to download it"
            ));
        }
        let apt = self.folder.join("apt");
        for sub in ["lists/partial", "archives/partial"] {
            std::fs::create_dir_all(apt.join(sub))
                .map_err(|error| format!("could not create `{}`: {error}", apt.display()))?;
        }
        let archives = apt.join("archives");
        let options = self.options(&apt);
        let get = || {
            let mut command = Command::new("apt-get");
            command.args(&options).arg("-qq");
            command
        };
        run(get().arg("update"), on_output).await?;
        run(
            get().arg("download").args(packages).current_dir(&archives),
            on_output,
        )
        .await?;
        for file in archives_in(&archives)? {
            let mut unpack = Command::new("dpkg-deb");
            unpack.arg("-x").arg(&file).arg(self.folder.join("tree"));
            run(&mut unpack, on_output).await?;
        }
        Ok(())
    }

    fn options(&self, apt: &Path) -> Vec<String> {
        let option = |name: &str, path: &Path| format!("-o{name}={}", path.display());
        let mut options = vec![
            option("Dir::State", apt),
            option("Dir::State::Lists", &apt.join("lists")),
            option("Dir::State::status", Path::new("/var/lib/dpkg/status")),
            option("Dir::Cache", apt),
            option("Dir::Cache::archives", &apt.join("archives")),
            // Otherwise apt switches to its own user, which cannot write here.
            "-oAPT::Sandbox::User=".to_owned(),
            "-oAcquire::Languages=none".to_owned(),
            "-oAcquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
            "-oAPT::Update::Error-Mode=any".to_owned(),
        ];
        if let Some(sources) = &self.sources {
            options.push(option("Dir::Etc::SourceList", sources));
            options.push("-oDir::Etc::SourceParts=/dev/null".to_owned());
        }
        options
    }
}

async fn keyring(folder: &Path, on_output: OnOutput<'_>) -> Result<PathBuf, String> {
    let installed = Path::new("/").join(KEYRING);
    if installed.exists() {
        return Ok(installed);
    }
    let folder = folder.join("keys");
    let unpacked = folder.join("tree").join(KEYRING);
    if !unpacked.exists() {
        let host = AptArchive::of_the_host(folder);
        host.unpack(&["debian-archive-keyring"], on_output).await?;
    }
    Ok(unpacked)
}

fn archives_in(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let files = std::fs::read_dir(folder)
        .map_err(|error| format!("could not read `{}`: {error}", folder.display()))?;
    let files = files.flatten().map(|file| file.path());
    Ok(files
        .filter(|path| path.extension().is_some_and(|it| it == "deb"))
        .collect())
}

async fn run(command: &mut Command, on_output: OnOutput<'_>) -> Result<(), String> {
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    let done = command.stdin(Stdio::null()).kill_on_drop(true).output().await;
    let done = done.map_err(|error| format!("{program}: {error}"))?;
    let output = String::from_utf8_lossy(&done.stderr);
    on_output(&output);
    let last = output
        .lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or_default();
    if done.status.success() {
        Ok(())
    } else {
        Err(format!("{program} failed with {}: {last}", done.status))
    }
}

/// Path of a program in PATH.
#[must_use]
pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debian_release_replaces_the_sources_of_the_host() {
        let apt = Path::new("/c/apt");
        let host = AptArchive::of_the_host("/c".into()).options(apt);
        assert!(!host.iter().any(|option| option.contains("Source")), "{host:?}");
        let release = AptArchive {
            folder: "/c".into(),
            sources: Some("/c/sources.list".into()),
        };
        let options = release.options(apt);
        assert!(
            options.contains(&"-oDir::Etc::SourceList=/c/sources.list".to_owned()),
            "{options:?}"
        );
        assert!(options.contains(&"-oDir::Etc::SourceParts=/dev/null".to_owned()));
    }
}
