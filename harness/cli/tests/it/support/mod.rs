//! Runs of the real command: started in a closed environment, followed event by event, and stopped when a test fails.

pub mod account;
pub mod github;
mod stalling_engine;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bollard::query_parameters::{
    ListContainersOptionsBuilder, ListNetworksOptionsBuilder, ListVolumesOptionsBuilder,
};
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::run::event::{RunEvent, Summary};
use nodejoin_docker::Engine;
use nodejoin_engine::report::text;
pub use stalling_engine::StallingEngine;
use tempfile::TempDir;

/// A scenario whose node registers.
pub const REGISTERS: &str = r#"name: a node registers
user_data: |
  #!/bin/bash
  set -o errexit
  /etc/eks/bootstrap.sh {{ cluster.name }} --container-runtime containerd
expect: { phase: registered }
"#;

/// A scenario that fails within seconds.
pub const FAILS: &str = r##"name: a node that does nothing registers
user_data: "#!/bin/sh"
limits: { settle_seconds: 0.5 }
expect: { phase: registered }
"##;

/// Environment variables that the command under test inherits.
const PASSED: [&str; 14] = [
    "PATH",
    "HOME",
    "XDG_CACHE_HOME",
    "DOCKER_HOST",
    "DOCKER_CONFIG",
    "SSL_CERT_FILE",
    "KUBEBUILDER_ASSETS",
    "NODEJOIN_ASSETS",
    "NODEJOIN_BASE",
    "NODEJOIN_CACHE",
    "NODEJOIN_DEBIAN_MIRROR",
    "NODEJOIN_KUBERNETES",
    "NODEJOIN_RELEASE_URL",
    "NODEJOIN_TIME_FACTOR",
];

/// Timeout of the end of a run after its signal.
pub const END: Duration = Duration::from_secs(120);
/// Timeout of the next event of a run. Much longer than a join, because images may be built first.
const EVENT_TIMEOUT: Duration = Duration::from_secs(600);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A folder with scenario files, each given as its name and text.
pub fn folder(scenarios: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in scenarios {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// The command in a closed environment: of this process' variables it has only those that locate programs, the
/// container engine, caches, and sources of images.
pub fn closed_command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nodejoin"));
    command.env_clear();
    let is_passed = |name: &str| {
        let name = name.to_ascii_uppercase();
        PASSED.contains(&name.as_str()) || name.ends_with("_PROXY")
    };
    command.envs(std::env::vars().filter(|(name, _)| is_passed(name)));
    command
}

/// The command in a folder, with evidence below it.
pub fn nodejoin(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = closed_command();
    command
        .current_dir(folder)
        .args(arguments)
        .env("NODEJOIN_ARTIFACTS", folder.join("evidence"))
        .env("NODEJOIN_JOBS", jobs_of_test(arguments));
    command
}

/// Tests run beside each other. Those of runs read what comes first and what follows.
fn jobs_of_test(arguments: &[&str]) -> &'static str {
    match arguments.first() {
        Some(&("diff" | "explore" | "mutate")) => "2",
        _ => "1",
    }
}

/// A folder whose commands run in a keeper of their own, so that they share one control plane. Dropping it stops the
/// keeper.
pub struct KeptFolder {
    folder: TempDir,
    runtime: TempDir,
}

impl KeptFolder {
    pub fn new(folder: TempDir) -> Self {
        Self {
            folder,
            runtime: TempDir::new().unwrap(),
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The command in this folder. It uses a keeper if its arguments or its variables choose one.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = nodejoin(self.path(), arguments);
        command.env("XDG_RUNTIME_DIR", self.runtime.path());
        command
    }

    /// The command in this folder and in its keeper.
    pub fn kept(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        command.env("NODEJOIN_KEEPER", "true");
        command
    }
}

impl Drop for KeptFolder {
    fn drop(&mut self) {
        let _ = self.command(&["keeper", "stop"]).output();
    }
}

/// Runs `nodejoin sweep` and returns its output. A sweep covers the whole engine: a test that sweeps, or has objects
/// that a sweep would remove, holds [`exclusive_sweep`].
pub fn sweep(arguments: &[&str]) -> String {
    let output = nodejoin(Path::new("."), &[&["sweep"], arguments].concat())
        .output()
        .unwrap();
    let text = both(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    text
}

/// Both streams of a command.
pub fn both(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

/// Blocks the sweeps of other tests, also in other processes.
pub fn exclusive_sweep() -> File {
    let file = File::create(concat!(env!("CARGO_TARGET_TMPDIR"), "/sweep.lock")).unwrap();
    file.lock().unwrap();
    file
}

/// Containers, networks and volumes of the engine with this label.
pub fn objects(label: &str) -> Vec<String> {
    on_engine(async |engine| {
        let filter = HashMap::from([("label", vec![label.to_owned()])]);
        let docker = engine.docker();
        let options = ListContainersOptionsBuilder::new()
            .all(true)
            .filters(&filter)
            .build();
        let containers = docker.list_containers(Some(options)).await.unwrap();
        let options = ListNetworksOptionsBuilder::new().filters(&filter).build();
        let networks = docker.list_networks(Some(options)).await.unwrap();
        let options = ListVolumesOptionsBuilder::new().filters(&filter).build();
        let volumes = docker.list_volumes(Some(options)).await.unwrap().volumes;
        let mut all: Vec<_> = containers
            .into_iter()
            .map(|it| format!("container {}", it.names.unwrap_or_default().concat()))
            .collect();
        all.extend(
            networks
                .into_iter()
                .map(|it| format!("network {}", it.name.unwrap_or_default())),
        );
        all.extend(
            volumes
                .unwrap_or_default()
                .into_iter()
                .map(|it| format!("volume {}", it.name)),
        );
        // An engine lists volumes in random order.
        all.sort();
        all
    })
}

/// Objects of a run on the engine.
pub fn of_run(run: &str) -> Vec<String> {
    objects(&format!("nodejoin.run={run}"))
}

/// Counts the containers among objects.
pub fn containers(objects: &[String]) -> usize {
    objects
        .iter()
        .filter(|object| object.starts_with("container"))
        .count()
}

/// Runs `query` on the engine. Panics without one: a test that passes without an engine proves nothing.
pub fn on_engine<T>(query: impl AsyncFnOnce(&Engine) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        match Engine::connect().await {
            Ok(engine) => query(&engine).await,
            Err(error) => panic!("{error}; {}", error.hint().unwrap_or_default()),
        }
    })
}

/// Polls until a condition holds; panics after the timeout.
pub fn wait_for(what: &str, timeout: Duration, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + timeout;
    while !holds() {
        assert!(Instant::now() < end, "timeout of {timeout:?}: {what}");
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Sends a signal, such as `INT`.
pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill")
        .args(["-s", name, &pid.to_string()])
        .status()
        .unwrap();
    assert!(sent.success(), "SIG{name} could not be sent to {pid}");
}

/// Waits for the end of a process.
pub fn exit(child: &mut Child, timeout: Duration) -> ExitStatus {
    let mut status = None;
    wait_for("the end of the process", timeout, || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

/// A running `nodejoin run --format json`.
pub struct RunningCommand {
    child: Child,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
    /// The events so far.
    pub events: Vec<RunEvent>,
    /// The run's id.
    pub id: String,
}

/// A finished run.
pub struct FinishedCommand {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    pub events: Vec<RunEvent>,
    /// Its standard error.
    pub stderr: String,
}

/// Builds the images, once and without a timeout: on a new host that takes longer than the timeout of an event.
pub fn build_images_once() {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| build_images("local"));
}

/// Builds the images for a control plane.
pub fn build_images(control_plane: &str) {
    let arguments = ["images", "build", "--control-plane", control_plane];
    let built = nodejoin(Path::new("."), &arguments).output().unwrap();
    let stderr = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "could not build the images: {stderr}");
}

impl RunningCommand {
    /// Starts a run of the scenarios in a folder.
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        build_images_once();
        Self::follow(nodejoin(
            folder,
            &[&["run", ".", "--format", "json"], arguments].concat(),
        ))
    }

    /// Starts a run that reaches the engine through a relay.
    pub fn start_on(engine: &StallingEngine, folder: &Path) -> Self {
        build_images_once();
        let mut command = nodejoin(folder, &["run", ".", "--format", "json"]);
        command.env("DOCKER_HOST", engine.host());
        Self::follow(command)
    }

    pub fn follow(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = lines(child.stdout.take().unwrap());
        let stderr = Some(collected(child.stderr.take().unwrap()));
        let mut run = Self {
            child,
            lines,
            stderr,
            events: Vec::new(),
            id: String::new(),
        };
        run.until("run-started", |event| {
            matches!(event, RunEvent::RunStarted { .. })
        });
        if let Some(RunEvent::RunStarted { run: id, .. }) = run.events.last() {
            run.id = id.to_string();
        }
        run
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Reads events until one matches.
    pub fn until(&mut self, what: &str, matches: impl Fn(&RunEvent) -> bool) {
        while let Some(event) = self.next() {
            if matches(&event) {
                return;
            }
        }
        let last: Vec<_> = self.events.iter().rev().take(2).collect();
        let stderr = self.stderr.take().map(|reader| reader.join().unwrap());
        panic!("the run ended before `{what}`, after {last:#?}; standard error: {stderr:?}");
    }

    /// Reads events until the node has reached a phase.
    pub fn until_phase(&mut self, expected: Phase) {
        self.until(
            expected.word(),
            |event| matches!(event, RunEvent::PhaseReached { phase, .. } if *phase == expected),
        );
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    /// Reads events until the run ends.
    pub fn finish(mut self) -> FinishedCommand {
        while self.next().is_some() {}
        self.end(END)
    }

    /// Waits until the run ends; panics after the timeout.
    pub fn end(mut self, timeout: Duration) -> FinishedCommand {
        let code = exit(&mut self.child, timeout).code();
        while self.next().is_some() {}
        let stderr = self.stderr.take().map(|reader| reader.join().unwrap());
        FinishedCommand {
            code,
            events: std::mem::take(&mut self.events),
            stderr: stderr.unwrap_or_default(),
        }
    }

    /// Sends a signal again and again until the run ends.
    pub fn end_by(self, name: &str, timeout: Duration) -> FinishedCommand {
        let pid = self.pid();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let name = name.to_owned();
        let sender = std::thread::spawn(move || {
            while ended.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                // Fails once the process has ended.
                let _ = Command::new("kill")
                    .args(["-s", &name, &pid.to_string()])
                    .output();
            }
        });
        let finished = self.end(timeout);
        drop(end);
        sender.join().unwrap();
        finished
    }

    /// The next event. Every line of standard output is one.
    fn next(&mut self) -> Option<RunEvent> {
        let line = match self.lines.recv_timeout(EVENT_TIMEOUT) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("no event for {EVENT_TIMEOUT:?} after {:?}", self.events.last())
            }
        };
        let event: RunEvent =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in the line `{line}`"));
        self.events.push(event.clone());
        Some(event)
    }
}

impl Drop for RunningCommand {
    /// Stops the run of a failed test.
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        signal(self.pid(), "TERM");
        let until = Instant::now() + END;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(POLL_INTERVAL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl FinishedCommand {
    /// The summary of the last event.
    pub fn summary(&self) -> &Summary {
        match self.events.last() {
            Some(RunEvent::RunFinished(summary)) => summary,
            other => panic!("the last event is {other:?}; standard error: {}", self.stderr),
        }
    }

    /// The verdicts as text, and standard error.
    pub fn verdicts(&self) -> String {
        let verdicts = self.events.iter().filter_map(|event| match event {
            RunEvent::ScenarioFinished {
                name,
                verdict,
                seconds,
                ..
            } => Some(text::scenario(name, verdict, *seconds, None)),
            _ => None,
        });
        verdicts
            .chain([self.stderr.clone()])
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The evidence folder of its only scenario.
    pub fn evidence(&self) -> PathBuf {
        let folder = self.events.iter().find_map(|event| match event {
            RunEvent::ScenarioFinished { evidence, .. } => evidence.clone(),
            _ => None,
        });
        folder
            .unwrap_or_else(|| panic!("no evidence: {:?}", self.events))
            .into()
    }

    /// The commands that lead into kept objects.
    pub fn kept(&self) -> Vec<String> {
        let kept = self.events.iter().find_map(|event| match event {
            RunEvent::ScenarioFinished { kept, .. } => Some(kept.clone()),
            _ => None,
        });
        kept.unwrap_or_default()
    }
}

/// The lines of a stream as they come.
fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        // A closed receiver must not let the pipe fill up and block the process.
        lines.for_each(|line| drop(sender.send(line)));
    });
    receiver
}

fn collected(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
