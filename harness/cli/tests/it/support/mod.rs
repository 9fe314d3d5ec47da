//! Runs of the real command on the real engine: started, followed event by event, signalled, and never left alone.

pub mod account;
pub mod github;

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

/// How long the end of a run may take once it was asked for.
pub const END: Duration = Duration::from_secs(45);
/// How long a run may say nothing. Far too long for a join: images may have to be made first.
const SILENCE: Duration = Duration::from_secs(600);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A folder with scenarios, each a file name and its text.
pub fn folder(scenarios: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in scenarios {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// The command in a folder, with evidence below it.
pub fn nodejoin(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nodejoin"));
    command
        .current_dir(folder)
        .args(arguments)
        .env("NODEJOIN_ARTIFACTS", folder.join("evidence"))
        .env_remove("NODEJOIN_KEEP")
        .env_remove("NODEJOIN_JOBS")
        .env_remove("NODEJOIN_SHARD")
        .env_remove("GITHUB_ACTIONS")
        .env_remove("GITHUB_STEP_SUMMARY");
    command
}

/// Sweeps, and gives what was said. A sweep is of the whole engine: whoever sweeps, or has something that a sweep would take,
/// holds [`alone`].
pub fn sweep(arguments: &[&str]) -> String {
    let output = nodejoin(Path::new("."), &[&["sweep"], arguments].concat())
        .output()
        .unwrap();
    let said = both(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    said
}

/// Both streams of a command.
pub fn both(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

/// Keeps the sweeps of other tests waiting, those of other processes too.
pub fn alone() -> File {
    let file = File::create(concat!(env!("CARGO_TARGET_TMPDIR"), "/sweep.lock")).unwrap();
    file.lock().unwrap();
    file
}

/// What the engine has with a label: containers, networks and volumes.
pub fn objects(label: &str) -> Vec<String> {
    on_engine(async |engine| {
        let filter = HashMap::from([("label", vec![label.to_owned()])]);
        let docker = engine.docker();
        let asked = ListContainersOptionsBuilder::new()
            .all(true)
            .filters(&filter)
            .build();
        let containers = docker.list_containers(Some(asked)).await.unwrap();
        let asked = ListNetworksOptionsBuilder::new().filters(&filter).build();
        let networks = docker.list_networks(Some(asked)).await.unwrap();
        let asked = ListVolumesOptionsBuilder::new().filters(&filter).build();
        let volumes = docker.list_volumes(Some(asked)).await.unwrap().volumes;
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
        // An engine lists volumes in no order.
        all.sort();
        all
    })
}

/// What the engine has of a run.
pub fn of_run(run: &str) -> Vec<String> {
    objects(&format!("nodejoin.run={run}"))
}

/// How many of some objects are containers.
pub fn containers(objects: &[String]) -> usize {
    objects
        .iter()
        .filter(|object| object.starts_with("container"))
        .count()
}

/// Asks the engine something. A test that passes without an engine proves nothing.
pub fn on_engine<T>(ask: impl AsyncFnOnce(&Engine) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        match Engine::connect().await {
            Ok(engine) => ask(&engine).await,
            Err(error) => panic!("{error}; {}", error.hint().unwrap_or_default()),
        }
    })
}

/// Looks until something is so.
pub fn wait_for(what: &str, limit: Duration, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + limit;
    while !is_so() {
        assert!(Instant::now() < until, "not within {limit:?}: {what}");
        std::thread::sleep(LOOK_AGAIN);
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
pub fn exit(child: &mut Child, limit: Duration) -> ExitStatus {
    let mut status = None;
    wait_for("the end of the process", limit, || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

/// A run that is under way, told by `--format json`.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    said: Option<JoinHandle<String>>,
    /// Everything that it has told.
    pub events: Vec<RunEvent>,
    /// Its id.
    pub id: String,
}

/// A run that is over.
pub struct Ended {
    /// Its exit code; none where a signal ended it.
    pub code: Option<i32>,
    /// Everything that it told.
    pub events: Vec<RunEvent>,
    /// Its standard error.
    pub said: String,
}

/// Makes the images, once and without a limit: on a fresh machine that takes longer than any run may be silent.
pub fn images_are_there() {
    static MADE: OnceLock<()> = OnceLock::new();
    MADE.get_or_init(|| make_images("local"));
}

/// The same, for a control plane that is another.
pub fn make_images(control_plane: &str) {
    let arguments = ["images", "build", "--control-plane", control_plane];
    let made = nodejoin(Path::new("."), &arguments).output().unwrap();
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "the images could not be made: {said}");
}

impl Running {
    /// Starts a run of the scenarios in a folder.
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        images_are_there();
        let mut command = nodejoin(folder, &[&["run", ".", "--format", "json"], arguments].concat());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = lines(child.stdout.take().unwrap());
        let said = Some(collected(child.stderr.take().unwrap()));
        let mut run = Self {
            child,
            lines,
            said,
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

    /// Number of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Follows the events to one.
    pub fn until(&mut self, what: &str, wanted: impl Fn(&RunEvent) -> bool) {
        while let Some(event) = self.next() {
            if wanted(&event) {
                return;
            }
        }
        let told: Vec<_> = self.events.iter().rev().take(2).collect();
        let said = self.said.take().map(|said| said.join().unwrap());
        panic!("the run ended before `{what}`, after {told:#?}; it said: {said:?}");
    }

    /// Follows the events until the node has reached a phase.
    pub fn until_phase(&mut self, wanted: Phase) {
        self.until(
            wanted.word(),
            |event| matches!(event, RunEvent::PhaseReached { phase, .. } if *phase == wanted),
        );
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    /// Follows it to its end, however long it takes.
    pub fn finish(mut self) -> Ended {
        while self.next().is_some() {}
        self.end(END)
    }

    /// Follows it to its end, which must come within a limit.
    pub fn end(mut self, limit: Duration) -> Ended {
        let code = exit(&mut self.child, limit).code();
        while self.next().is_some() {}
        let said = self.said.take().map(|said| said.join().unwrap());
        Ended {
            code,
            events: std::mem::take(&mut self.events),
            said: said.unwrap_or_default(),
        }
    }

    /// Every line of standard output is an event, and nothing else is.
    fn next(&mut self) -> Option<RunEvent> {
        let line = match self.lines.recv_timeout(SILENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("nothing for {SILENCE:?} after {:?}", self.events.last())
            }
        };
        let event: RunEvent =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in the line `{line}`"));
        self.events.push(event.clone());
        Some(event)
    }
}

impl Drop for Running {
    /// A test that fails leaves no run behind.
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        signal(self.pid(), "TERM");
        let until = Instant::now() + END;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(LOOK_AGAIN);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// The last line, which sums the run up.
    pub fn summary(&self) -> &Summary {
        match self.events.last() {
            Some(RunEvent::RunFinished(summary)) => summary,
            other => panic!("the last event is {other:?}; it said: {}", self.said),
        }
    }

    /// What it said of its scenarios, as a person would read it.
    pub fn verdicts(&self) -> String {
        let told = self.events.iter().filter_map(|event| match event {
            RunEvent::ScenarioFinished {
                name,
                verdict,
                seconds,
                ..
            } => Some(text::scenario(name, verdict, *seconds, None)),
            _ => None,
        });
        told.chain([self.said.clone()]).collect::<Vec<_>>().join("\n")
    }

    /// Where the evidence of its one scenario is.
    pub fn evidence(&self) -> PathBuf {
        let folder = self.events.iter().find_map(|event| match event {
            RunEvent::ScenarioFinished { evidence, .. } => evidence.clone(),
            _ => None,
        });
        folder
            .unwrap_or_else(|| panic!("no evidence was kept: {:?}", self.events))
            .into()
    }

    /// How to get into what was kept.
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
        // Whoever listened may be gone; the process must not wait for a full pipe all the same.
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
