//! Runs kind: in a process group of its own, with all output in a file, until it ends, takes too long, or the run is torn down.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::ClusterError;

/// One start of kind.
pub(crate) struct KindCommand {
    cluster: String,
    log: PathBuf,
    command: Command,
}

impl KindCommand {
    /// kind for this cluster, with its output to this file.
    pub(crate) fn new(program: &Path, cluster: &str, log: PathBuf) -> Self {
        let mut command = dying_with_parent(program);
        // A proxy is for the engine that pulls images; nodes would ask it for each other.
        for name in PROXIES {
            command.env_remove(name).env_remove(name.to_lowercase());
        }
        command
            .env_remove("KIND_CLUSTER_NAME")
            .env("KIND_EXPERIMENTAL_PROVIDER", "docker")
            // A signal of the terminal is for the harness, which ends kind in its own time.
            .process_group(0);
        Self {
            cluster: cluster.to_owned(),
            log,
            command,
        }
    }

    /// Its arguments.
    pub(crate) fn args<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        self.command.args(arguments);
        self
    }

    /// A variable of its environment.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it to its end. Where the run is ending it is killed with all that it started, once it is `settled`: no container is
    /// half made. Where the limit is reached, or this future is dropped, it is killed at once.
    pub(crate) async fn run(
        mut self,
        limit: Duration,
        ending: CancellationToken,
        settled: impl Future<Output = ()>,
    ) -> Result<(), ClusterError> {
        let log = self.open()?;
        let errors = log.try_clone().map_err(|error| self.unwritable(error))?;
        self.command.stdin(Stdio::null()).stdout(log).stderr(errors);
        let child = self.command.spawn().map_err(|error| ClusterError::Program {
            program: "kind",
            wrong: error.to_string(),
        })?;
        let mut group = Group(child);
        let ended = tokio::select! {
            ended = timeout(limit, group.0.wait()) => ended,
            () = ending.cancelled() => {
                let _ = timeout(SETTLED_WITHIN, settled).await;
                return Err(self.failed("the run is being torn down".to_owned()));
            }
        };
        match ended {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(self.failed(format!("it ended with {status}"))),
            Ok(Err(error)) => Err(self.failed(error.to_string())),
            Err(_) => Err(self.failed(format!("it took longer than {} s", limit.as_secs()))),
        }
    }

    fn open(&self) -> Result<File, ClusterError> {
        if let Some(folder) = self.log.parent() {
            std::fs::create_dir_all(folder).map_err(|error| self.unwritable(error))?;
        }
        let mut options = File::options();
        let file = options.create(true).append(true).open(&self.log);
        file.map_err(|error| self.unwritable(error))
    }

    fn unwritable(&self, source: std::io::Error) -> ClusterError {
        ClusterError::File {
            path: self.log.clone(),
            source,
        }
    }

    fn failed(&self, wrong: String) -> ClusterError {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        ClusterError::Kind {
            cluster: self.cluster.clone(),
            wrong,
            log: self.log.clone(),
            lines: lines[lines.len().saturating_sub(LAST_LINES)..].join("\n"),
        }
    }
}

/// The program, so that it does not outlive a harness that is killed: it would go on writing where a sweep removes. A host without
/// setpriv (util-linux) has kind end by itself, once it finds its node gone.
fn dying_with_parent(program: &Path) -> Command {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).map(|folder| folder.join("setpriv"));
    match found.into_iter().find(|path| path.is_file()) {
        Some(setpriv) => {
            let mut command = Command::new(setpriv);
            command.args(["--pdeathsig", "KILL"]).arg(program);
            command
        }
        None => Command::new(program),
    }
}

/// kind and every program that it started. They end with this.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        let (Some(pid), Ok(None)) = (self.0.id(), self.0.try_wait()) else {
            return;
        };
        let mut kill = std::process::Command::new("kill");
        let ended = kill.args(["-KILL", "--", &format!("-{pid}")]).status();
        tracing::debug!(pid, ?ended, "kind was ended");
    }
}

const LAST_LINES: usize = 20;
/// How long an engine may take to make a container.
const SETTLED_WITHIN: Duration = Duration::from_secs(20);
const PROXIES: [&str; 3] = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, log: &Path) -> KindCommand {
        KindCommand::new(Path::new("/bin/sh"), "demo", log.to_owned()).args(["-c", script])
    }

    #[tokio::test]
    async fn a_failure_names_the_log_and_ends_with_its_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("logs/kind.log");
        let failed = shell("echo first; echo 'no such image' >&2; exit 3", &log)
            .run(
                Duration::from_secs(60),
                CancellationToken::new(),
                std::future::pending(),
            )
            .await;
        let said = failed.unwrap_err().to_string();
        assert!(
            said.contains("exit status: 3") && said.contains(&*log.to_string_lossy()),
            "{said}"
        );
        assert!(said.ends_with("first\nno such image"), "{said}");
    }

    #[tokio::test]
    async fn what_kind_started_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let (log, pid) = (folder.path().join("log"), folder.path().join("pid"));
        let script = format!(
            "sleep 1000 & echo $! > {0}.new; mv {0}.new {0}; wait",
            pid.display()
        );
        let ending = CancellationToken::new();
        ending.cancel();
        let there = async {
            while !pid.exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        // Told to end at once, it is let go on until the file is there.
        let run = shell(&script, &log).run(Duration::from_secs(60), ending, there);
        let ended = run.await.unwrap_err().to_string();
        assert!(ended.contains("the run is being torn down"), "{ended}");
        let pid = std::fs::read_to_string(&pid).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        // Nobody waits for an orphan here but the system, which may let it be a zombie for a while.
        let runs = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        for _ in 0..500 {
            if !runs() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("process {pid} still runs");
    }
}
