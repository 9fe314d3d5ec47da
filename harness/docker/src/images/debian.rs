//! Debian's own tool that makes a system from packages: from PATH, or unpacked from its package into the cache folder.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use bytes::Bytes;
use futures::Stream;
use nodejoin_core::plan::architecture::Architecture;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio_util::io::ReaderStream;

use crate::images::workshop::Bench;
use crate::packages::{Archive, KEYRING, on_path};
use crate::settings::ImageSettings;

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
            bench.step(&format!(
                "unpack {} into {}",
                wanted.join(" and "),
                folder.display()
            ));
            let from = Archive::of_the_host(folder.clone());
            from.unpack(&wanted, &mut |said| bench.say(said)).await?;
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
