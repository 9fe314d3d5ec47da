//! Debian packages unpacked into the cache folder: programs that a host lacks, without installing anything on it.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use crate::error::DockerError;
use crate::images::Lock;
use crate::settings::ImageSettings;

/// Where a system keeps Debian's keys, when it has them.
pub(crate) const KEYRING: &str = "usr/share/keyrings/debian-archive-keyring.gpg";

/// A program of a Debian release, unpacked from its package into the cache folder where that was not done before.
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
    let _lock = Lock::take(&settings.cache.join("locks"), &format!("debian-{release}")).await?;
    if file.is_file() {
        return Ok(file);
    }
    let failed = |reason| DockerError::Package {
        package: package.to_owned(),
        release: release.to_owned(),
        reason,
    };
    let mut ignored = |said: &str| tracing::debug!(said, "apt");
    let archive = Archive::of_release(folder, release, settings, &mut ignored).await;
    let archive = archive.map_err(failed)?;
    archive.unpack(&[package], &mut ignored).await.map_err(failed)?;
    if file.is_file() {
        Ok(file)
    } else {
        Err(failed(format!("it has no `{program}`")))
    }
}

/// Where packages come from, and the folder that has everything: package lists, archives, and below `tree` what was in them.
///
/// The lists are the folder's own: a host may have none, and fetching them for the host is not ours to do.
pub(crate) struct Archive {
    folder: PathBuf,
    /// A file with the one source, instead of the host's.
    sources: Option<PathBuf>,
}

/// Who is told what the tools say.
pub(crate) type Say<'a> = &'a mut (dyn FnMut(&str) + Send);

impl Archive {
    /// Packages of the host's own distribution.
    pub(crate) fn of_the_host(folder: PathBuf) -> Self {
        Self {
            folder,
            sources: None,
        }
    }

    /// Packages of a Debian release, whatever the host runs. Debian's keys are the host's, else from its package of them.
    async fn of_release(
        folder: PathBuf,
        release: &str,
        settings: &ImageSettings,
        say: Say<'_>,
    ) -> Result<Self, String> {
        let keyring = keyring(&folder, say).await?;
        let sources = folder.join("sources.list");
        let line = format!(
            "deb [signed-by={}] {} {release} main\n",
            keyring.display(),
            settings.debian_mirror
        );
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("making `{}`: {error}", folder.display()))?;
        std::fs::write(&sources, line)
            .map_err(|error| format!("writing `{}`: {error}", sources.display()))?;
        Ok(Self {
            folder,
            sources: Some(sources),
        })
    }

    /// Downloads packages and unpacks them below `tree`; what they depend on is not taken.
    pub(crate) async fn unpack(&self, packages: &[&str], say: Say<'_>) -> Result<(), String> {
        if on_path("apt-get").is_none() || on_path("dpkg-deb").is_none() {
            let packages = packages.join(" and ");
            return Err(format!(
                "this host has no {packages}, and no apt-get to download it with"
            ));
        }
        let apt = self.folder.join("apt");
        for sub in ["lists/partial", "archives/partial"] {
            std::fs::create_dir_all(apt.join(sub))
                .map_err(|error| format!("making `{}`: {error}", apt.display()))?;
        }
        let archives = apt.join("archives");
        let options = self.options(&apt);
        let get = || {
            let mut command = Command::new("apt-get");
            command.args(&options).arg("-qq");
            command
        };
        run(get().arg("update"), say).await?;
        run(get().arg("download").args(packages).current_dir(&archives), say).await?;
        for file in archives_in(&archives)? {
            let mut unpack = Command::new("dpkg-deb");
            unpack.arg("-x").arg(&file).arg(self.folder.join("tree"));
            run(&mut unpack, say).await?;
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
            // Else apt changes to a user of its own, who may not write here.
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

async fn keyring(folder: &Path, say: Say<'_>) -> Result<PathBuf, String> {
    let installed = Path::new("/").join(KEYRING);
    if installed.exists() {
        return Ok(installed);
    }
    let folder = folder.join("keys");
    let unpacked = folder.join("tree").join(KEYRING);
    if !unpacked.exists() {
        let host = Archive::of_the_host(folder);
        host.unpack(&["debian-archive-keyring"], say).await?;
    }
    Ok(unpacked)
}

fn archives_in(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let files =
        std::fs::read_dir(folder).map_err(|error| format!("reading `{}`: {error}", folder.display()))?;
    let files = files.flatten().map(|file| file.path());
    Ok(files
        .filter(|path| path.extension().is_some_and(|it| it == "deb"))
        .collect())
}

async fn run(command: &mut Command, say: Say<'_>) -> Result<(), String> {
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    let done = command.stdin(Stdio::null()).kill_on_drop(true).output().await;
    let done = done.map_err(|error| format!("{program}: {error}"))?;
    let said = String::from_utf8_lossy(&done.stderr);
    say(&said);
    let last = said
        .lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or_default();
    if done.status.success() {
        Ok(())
    } else {
        Err(format!("{program} ended with {}: {last}", done.status))
    }
}

/// A program on PATH.
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
    fn a_release_of_our_own_choice_takes_the_place_of_the_hosts_sources() {
        let apt = Path::new("/c/apt");
        let host = Archive::of_the_host("/c".into()).options(apt);
        assert!(!host.iter().any(|option| option.contains("Source")), "{host:?}");
        let release = Archive {
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
