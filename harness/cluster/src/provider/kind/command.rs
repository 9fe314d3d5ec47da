//! Runs kind in its own process group with all output in a file, until it ends, exceeds its timeout, or the run is torn
//! down.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use nodejoin_core::run::env::PROXIES;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::ClusterError;

const LAST_LINES: usize = 20;

/// Timeouts on this machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KindTimeouts {
    /// Until the cluster is created.
    pub(crate) create: Duration,
    /// Until the engine has created a container.
    pub(crate) settle: Duration,
}

/// One invocation of kind.
pub(crate) struct KindCommand {
    command: Command,
    output: KindOutput,
}

/// What kind prints while it works on a cluster.
struct KindOutput {
    cluster: String,
    log: PathBuf,
}

impl KindCommand {
    /// Creates a command for this cluster with its output in this file.
    pub(crate) fn new(program: &Path, cluster: &str, log: PathBuf) -> Self {
        let mut command = dying_with_parent(program);
        // Proxies are for the engine that pulls images. Nodes would use them to reach each other.
        for name in PROXIES {
            command.env_remove(name);
        }
        command
            .env_remove("KIND_CLUSTER_NAME")
            .env("KIND_EXPERIMENTAL_PROVIDER", "docker")
            // The harness handles signals of the terminal and ends kind itself.
            .process_group(0);
        Self {
            command,
            output: KindOutput {
                cluster: cluster.to_owned(),
                log,
            },
        }
    }

    pub(crate) fn args<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs kind to its end. When `ending` fires, it kills the process group once `settled` is done, so that no
    /// container is half created. When the timeout has passed or the future is dropped, it kills the group at once.
    pub(crate) async fn run(
        self,
        limits: KindTimeouts,
        ending: CancellationToken,
        settled: impl Future<Output = ()>,
    ) -> Result<(), ClusterError> {
        let Self { mut command, output } = self;
        let log = output.open()?;
        let errors = log.try_clone().map_err(|error| output.write_error(error))?;
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        let spawned = ProcessGroup::spawn(command).await;
        let mut group = spawned.map_err(|error| ClusterError::Program {
            program: "kind",
            reason: error.to_string(),
        })?;
        let ended = tokio::select! {
            ended = timeout(limits.create, group.child.wait()) => ended,
            () = ending.cancelled() => {
                let _ = timeout(limits.settle, settled).await;
                return Err(output.failed("the run is being torn down".to_owned()));
            }
        };
        match ended {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(output.failed(format!("it ended with {status}"))),
            Ok(Err(error)) => Err(output.failed(error.to_string())),
            Err(_) => Err(output.failed(format!("timeout after {} s", limits.create.as_secs()))),
        }
    }
}

impl KindOutput {
    fn open(&self) -> Result<File, ClusterError> {
        if let Some(folder) = self.log.parent() {
            std::fs::create_dir_all(folder).map_err(|error| self.write_error(error))?;
        }
        let mut options = File::options();
        let file = options.create(true).append(true).open(&self.log);
        file.map_err(|error| self.write_error(error))
    }

    fn write_error(&self, source: std::io::Error) -> ClusterError {
        ClusterError::File {
            path: self.log.clone(),
            source,
        }
    }

    fn failed(&self, reason: String) -> ClusterError {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        ClusterError::Kind {
            cluster: self.cluster.clone(),
            reason,
            log: self.log.clone(),
            lines: lines[lines.len().saturating_sub(LAST_LINES)..].join("\n"),
        }
    }
}

/// Starts the program so that it does not outlive a killed harness: it would write into folders that a sweep removes.
/// Without setpriv (util-linux) kind ends once its node is gone.
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

/// kind and all programs that it started. Dropping it kills them.
struct ProcessGroup {
    child: Child,
    /// Ends the thread that spawned kind.
    _parent: mpsc::Sender<()>,
}

impl ProcessGroup {
    /// Spawns the command on a thread of its own, which lives as long as the group. The kernel sends the signal of
    /// `--pdeathsig` when the thread ends that spawned the process, and threads of a runtime end when they are idle.
    async fn spawn(mut command: Command) -> std::io::Result<Self> {
        let runtime = Handle::current();
        let (parent, released) = mpsc::channel();
        let (report, spawned) = oneshot::channel();
        let spawn = move || {
            let entered = runtime.enter();
            let is_awaited = report.send(command.spawn()).is_ok();
            drop(entered);
            if is_awaited {
                // An error: the group is dropped.
                let _ = released.recv();
            }
        };
        std::thread::Builder::new().name("kind".to_owned()).spawn(spawn)?;
        let child = spawned.await.map_err(std::io::Error::other)??;
        Ok(Self {
            child,
            _parent: parent,
        })
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let (Some(pid), Ok(None)) = (self.child.id(), self.child.try_wait()) else {
            return;
        };
        // The command starts in its own process group, whose id is kind's process id.
        let group = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let killed = group.map(|group| kill_process_group(group, Signal::KILL));
        tracing::debug!(pid, ?killed, "killed kind");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: KindTimeouts = KindTimeouts {
        create: Duration::from_secs(60),
        settle: Duration::from_secs(60),
    };

    fn shell(script: &str, log: &Path) -> KindCommand {
        KindCommand::new(Path::new("/bin/sh"), "demo", log.to_owned()).args(["-c", script])
    }

    #[tokio::test]
    async fn a_failure_names_the_log_and_ends_with_its_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("logs/kind.log");
        let failed = shell("echo first; echo 'no such image' >&2; exit 3", &log)
            .run(MINUTE, CancellationToken::new(), std::future::pending())
            .await;
        let text = failed.unwrap_err().to_string();
        assert!(
            text.contains("exit status: 3") && text.contains(&*log.to_string_lossy()),
            "{text}"
        );
        assert!(text.ends_with("first\nno such image"), "{text}");
    }

    /// A runtime ends a worker that waited for blocking work, ten seconds later.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn kind_outlives_the_thread_that_ran_its_task() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let runtime = Handle::current();
        let begun = std::thread::spawn(move || {
            let command = shell("echo started; sleep 1; echo ended", &log);
            let mut run = Box::pin(command.run(MINUTE, CancellationToken::new(), std::future::pending()));
            runtime.block_on(async {
                while !std::fs::read_to_string(&log).is_ok_and(|text| text.contains("started")) {
                    assert!(futures::poll!(&mut run).is_pending());
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            });
            run
        });
        begun.join().unwrap().await.unwrap();
    }

    #[tokio::test]
    async fn programs_of_kind_end_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let (log, pid) = (folder.path().join("log"), folder.path().join("pid"));
        let script = format!(
            "sleep 1000 & echo $! > {0}.new; mv {0}.new {0}; wait",
            pid.display()
        );
        let ending = CancellationToken::new();
        ending.cancel();
        let exists = async {
            while !pid.exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        // Already cancelled, it still runs until the file exists.
        let run = shell(&script, &log).run(MINUTE, ending, exists);
        let ended = run.await.unwrap_err().to_string();
        assert!(ended.contains("the run is being torn down"), "{ended}");
        let pid = std::fs::read_to_string(&pid).unwrap();
        let stat = format!("/proc/{}/stat", pid.trim());
        // Only the init process reaps orphans, so a zombie may remain for a while.
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
