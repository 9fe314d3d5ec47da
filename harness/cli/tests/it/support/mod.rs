//! The real command in a closed environment, and what its tests wait for.
//!
//! | file | content |
//! | --- | --- |
//! | `running_command.rs` | a run that is followed event by event, and stopped when a test fails |
//! | `engine_objects.rs` | containers, networks and volumes on the container engine |
//! | `stalling_engine.rs` | the container engine behind a socket that can stop answering |
//! | `account.rs` | an account that the command serves |
//! | `github.rs` | the shell steps of workflows and of the action |

pub mod account;
pub mod engine_objects;
pub mod github;
pub mod running_command;
mod stalling_engine;

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

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
