//! mmdebstrap, Debian's tool that builds a system from packages: from PATH, or unpacked from its package into the cache
//! folder.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use bytes::Bytes;
use futures::Stream;
use nodejoin_core::plan::architecture::Architecture;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio_util::io::ReaderStream;

use crate::images::builder::BuildSession;
use crate::packages::{AptArchive, KEYRING, on_path};
use crate::settings::ImageSettings;

/// Removes what Debian's slim images omit, and excludes it from later installations, so that a built base image equals
/// a pulled one. The option `--dpkgopt` is not used: mmdebstrap then filters archives with a Python program, which the
/// host may lack.
const SLIM: &str = r#"
cd "$1"
{
  for kind in doc groff info linda lintian locale man; do echo "path-exclude /usr/share/$kind/*"; done
  echo 'path-include /usr/share/doc/*/copyright'
} > etc/dpkg/dpkg.cfg.d/docker
echo force-unsafe-io > etc/dpkg/dpkg.cfg.d/docker-apt-speedup
find usr/share/doc -type f ! -name copyright -delete
find usr/share/doc -type l -delete
find usr/share/doc -type d -empty -delete
rm -rf usr/share/groff/* usr/share/info/* usr/share/lintian/* usr/share/locale/* usr/share/man/*
"#;

/// mmdebstrap, ready to run.
pub(crate) struct Mmdebstrap {
    program: PathBuf,
    /// Debian's keyring, if the host has none.
    keyring: Option<PathBuf>,
}

impl Mmdebstrap {
    /// Finds mmdebstrap in PATH, else unpacks it into the cache folder. Nothing is installed on the host.
    pub(crate) async fn find(settings: &ImageSettings, session: &mut BuildSession) -> Result<Self, String> {
        let folder = settings.cache.join("debian");
        let installed = on_path("mmdebstrap");
        let keyring = (!Path::new("/").join(KEYRING).exists()).then(|| folder.join("tree").join(KEYRING));
        let unpacked = folder.join("tree/usr/bin/mmdebstrap");
        let mut missing = Vec::new();
        if installed.is_none() && !unpacked.exists() {
            missing.push("mmdebstrap");
        }
        if keyring.as_ref().is_some_and(|keyring| !keyring.exists()) {
            missing.push("debian-archive-keyring");
        }
        if !missing.is_empty() {
            session.step(&format!(
                "unpack {} into {}",
                missing.join(" and "),
                folder.display()
            ));
            let from = AptArchive::of_the_host(folder.clone());
            from.unpack(&missing, &mut |output| session.write(output)).await?;
        }
        Ok(Self {
            program: installed.unwrap_or(unpacked),
            keyring,
        })
    }

    /// Starts mmdebstrap and returns the system as an archive, and a future for the tool's end. Dropping that future
    /// stops the tool.
    pub(crate) async fn run(
        &self,
        settings: &ImageSettings,
        architecture: Architecture,
        session: &mut BuildSession,
    ) -> Result<
        (
            impl Stream<Item = std::io::Result<Bytes>> + Send + use<>,
            impl Future<Output = Result<(), String>>,
        ),
        String,
    > {
        session.step(&format!("mmdebstrap bookworm from {}", settings.debian_mirror));
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
        let (Some(tree), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
            return Err("mmdebstrap was started without its output".to_owned());
        };
        let log = session.log_path().to_owned();
        // A task writes the log and keeps the last error as the reason of a failure; it ends with the tool's output.
        let last_error = tokio::spawn(follow(errors, log));
        let running = TerminateOnDrop(child);
        let end = async move {
            let mut running = running;
            let status = running
                .0
                .wait()
                .await
                .map_err(|error| format!("mmdebstrap: {error}"))?;
            let last = last_error.await.unwrap_or_default();
            if status.success() {
                Ok(())
            } else {
                Err(format!("mmdebstrap failed with {status}: {last}"))
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
        .map_err(|error| format!("could not start perl, which mmdebstrap needs: {error}"))
}

/// Appends the tool's output to the log and returns its last error.
async fn follow(output: impl AsyncRead + Unpin, log: PathBuf) -> String {
    use std::io::Write as _;
    let mut log = std::fs::OpenOptions::new().append(true).open(log).ok();
    let mut lines = BufReader::new(output).lines();
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

/// Terminates the tool when it is dropped. SIGKILL would leave the incomplete tree behind.
struct TerminateOnDrop(Child);

impl Drop for TerminateOnDrop {
    fn drop(&mut self) {
        if let (Some(id), Ok(None)) = (self.0.id(), self.0.try_wait()) {
            let pid = id.try_into().ok().and_then(Pid::from_raw);
            let terminated = pid.map(|pid| kill_process(pid, Signal::TERM));
            tracing::debug!(id, ?terminated, "sent SIGTERM to mmdebstrap");
        }
    }
}
