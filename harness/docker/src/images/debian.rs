//! Debian's own tool that makes a system from packages: from PATH, or unpacked from its package into the cache folder.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use bytes::Bytes;
use futures::Stream;
use nodejoin_core::architecture::Architecture;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio_util::io::ReaderStream;

use crate::images::workshop::Bench;
use crate::settings::ImageSettings;

/// Where the host keeps Debian's keys, when it has them.
const KEYRING: &str = "usr/share/keyrings/debian-archive-keyring.gpg";
/// Leaves out what Debian's own slim images leave out, now and in later installations, so that both ways lead to the same image.
/// Not by the tool's `--dpkgopt`: that makes it filter archives by a Python program, which a host may not have.
const SLIM: &str = r#"
cd "$1"
{
  for kind in doc groff info linda lintian locale man; do echo "path-exclude /usr/share/$kind/*"; done
  echo 'path-include /usr/share/doc/*/copyright'
} > etc/dpkg/dpkg.cfg.d/docker
find usr/share/doc -type f ! -name copyright -delete
find usr/share/doc -type l -delete
find usr/share/doc -type d -empty -delete
rm -rf usr/share/groff/* usr/share/info/* usr/share/lintian/* usr/share/locale/* usr/share/man/*
"#;

/// The tool, ready to run.
pub(crate) struct Mmdebstrap {
    program: PathBuf,
    /// Keys, where the host has none.
    keyring: Option<PathBuf>,
}

impl Mmdebstrap {
    /// The tool from PATH, else unpacked into the cache folder. Nothing is installed on the host.
    pub(crate) async fn find(settings: &ImageSettings, bench: &mut Bench) -> Result<Self, String> {
        let folder = settings.cache.join("debian");
        let installed = on_path("mmdebstrap");
        let keyring = (!Path::new("/").join(KEYRING).exists()).then(|| folder.join("tree").join(KEYRING));
        let unpacked = folder.join("tree/usr/bin/mmdebstrap");
        let mut wanted = Vec::new();
        if installed.is_none() && !unpacked.exists() {
            wanted.push("mmdebstrap");
        }
        if keyring.as_ref().is_some_and(|keyring| !keyring.exists()) {
            wanted.push("debian-archive-keyring");
        }
        if !wanted.is_empty() {
            unpack(&folder, &wanted, bench).await?;
        }
        Ok(Self {
            program: installed.unwrap_or(unpacked),
            keyring,
        })
    }

    /// Starts the tool: the system as an archive, and the tool's own end. Dropping the end stops the tool.
    pub(crate) async fn run(
        &self,
        settings: &ImageSettings,
        architecture: Architecture,
        bench: &mut Bench,
    ) -> Result<
        (
            impl Stream<Item = std::io::Result<Bytes>> + Send + use<>,
            impl Future<Output = Result<(), String>>,
        ),
        String,
    > {
        bench.step(&format!("mmdebstrap bookworm from {}", settings.debian_mirror));
        let mut command = Command::new("perl");
        command
            .arg(&self.program)
            .args(["--variant=minbase", "--include=ca-certificates"]);
        command.arg(format!("--customize-hook={SLIM}"));
        if let Some(keyring) = &self.keyring {
            command.arg(format!("--keyring={}", keyring.display()));
        }
        command.arg(format!("--architectures={}", architecture.debian()));
        command.args(["bookworm", "-", &settings.debian_mirror]);
        let mut child = start(&mut command)?;
        let (Some(tree), Some(said)) = (child.stdout.take(), child.stderr.take()) else {
            return Err("mmdebstrap was started without its output".to_owned());
        };
        let log = bench.log_path().to_owned();
        // The log is written by a task that ends with the tool's output; what it saw last is the reason of a failure.
        let said = tokio::spawn(follow(said, log));
        let running = Stopped(child);
        let end = async move {
            let mut running = running;
            let status = running
                .0
                .wait()
                .await
                .map_err(|error| format!("mmdebstrap: {error}"))?;
            let last = said.await.unwrap_or_default();
            if status.success() {
                Ok(())
            } else {
                Err(format!("mmdebstrap ended with {status}: {last}"))
            }
        };
        Ok((ReaderStream::with_capacity(tree, 256 * 1024), end))
    }
}

/// Unpacks packages of the host's own distribution. The package lists are the cache folder's own: a host may have none, and
/// fetching them for the host is not ours to do.
async fn unpack(folder: &Path, packages: &[&str], bench: &mut Bench) -> Result<(), String> {
    bench.step(&format!(
        "unpack {} into {}",
        packages.join(" and "),
        folder.display()
    ));
    if on_path("apt-get").is_none() || on_path("dpkg-deb").is_none() {
        return Err("this host has no mmdebstrap, and no apt-get to download it with".to_owned());
    }
    let apt = folder.join("apt");
    for sub in ["lists/partial", "archives/partial"] {
        std::fs::create_dir_all(apt.join(sub))
            .map_err(|error| format!("making `{}`: {error}", apt.display()))?;
    }
    let option = |name: &str, path: &Path| format!("-o{name}={}", path.display());
    let options = [
        option("Dir::State", &apt),
        option("Dir::State::Lists", &apt.join("lists")),
        option("Dir::State::status", Path::new("/var/lib/dpkg/status")),
        option("Dir::Cache", &apt),
        option("Dir::Cache::archives", &apt.join("archives")),
        // Else apt changes to a user of its own, who may not write here.
        "-oAPT::Sandbox::User=".to_owned(),
        "-oAcquire::Languages=none".to_owned(),
        "-oAcquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
        "-oAPT::Update::Error-Mode=any".to_owned(),
    ];
    let archives = apt.join("archives");
    run(
        Command::new("apt-get").args(&options).arg("-qq").arg("update"),
        bench,
    )
    .await?;
    run(
        Command::new("apt-get")
            .args(&options)
            .arg("-qq")
            .arg("download")
            .args(packages)
            .current_dir(&archives),
        bench,
    )
    .await?;
    let files =
        std::fs::read_dir(&archives).map_err(|error| format!("reading `{}`: {error}", archives.display()))?;
    for file in files
        .flatten()
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|it| it == "deb"))
    {
        run(
            Command::new("dpkg-deb")
                .arg("-x")
                .arg(&file)
                .arg(folder.join("tree")),
            bench,
        )
        .await?;
    }
    Ok(())
}

async fn run(command: &mut Command, bench: &mut Bench) -> Result<(), String> {
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    let done = command.stdin(Stdio::null()).kill_on_drop(true).output().await;
    let done = done.map_err(|error| format!("{program}: {error}"))?;
    let said = String::from_utf8_lossy(&done.stderr);
    bench.say(&said);
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

fn start(command: &mut Command) -> Result<Child, String> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
        .spawn()
        .map_err(|error| format!("perl, which mmdebstrap is written in: {error}"))
}

/// Writes what the tool says to the log, and gives its last error.
async fn follow(said: impl AsyncRead + Unpin, log: PathBuf) -> String {
    use std::io::Write as _;
    let mut log = std::fs::OpenOptions::new().append(true).open(log).ok();
    let mut lines = BufReader::new(said).lines();
    let mut last = String::new();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(log) = &mut log {
            let _ = writeln!(log, "{line}");
        }
        if line.starts_with("E:") || last.is_empty() {
            last = line;
        }
    }
    last
}

/// A tool that is asked to end when nobody waits for it any more. Killed outright it would leave its half-made tree behind.
struct Stopped(Child);

impl Drop for Stopped {
    fn drop(&mut self) {
        if let (Some(pid), Ok(None)) = (self.0.id(), self.0.try_wait()) {
            let asked = std::process::Command::new("kill")
                .args(["-TERM", &pid.to_string()])
                .status();
            tracing::debug!(pid, ?asked, "mmdebstrap was asked to end");
        }
    }
}

/// A program on PATH.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}
