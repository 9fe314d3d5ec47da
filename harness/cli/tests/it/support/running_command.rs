//! A run of the real command: followed event by event, and stopped when a test fails.

use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nodejoin_core::observation::phase::Phase;
use nodejoin_core::run::event::{RunEvent, Summary};
use nodejoin_engine::report::text;

use super::{END, POLL_INTERVAL, StallingEngine, build_images_once, exit, nodejoin, signal};

/// Timeout of the next event of a run. Much longer than a join, because images may be built first.
const EVENT_TIMEOUT: Duration = Duration::from_secs(600);

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
