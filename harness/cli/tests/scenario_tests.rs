//! A program whose tests are the scenarios of a folder, and the tests of this program: it starts itself with a folder.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use tempfile::TempDir;

/// The folder with the scenarios; without it, the program is the test of itself.
const FOLDER: &str = "NODEJOIN_TEST_FOLDER";
/// Environment variables that the program inherits.
const PASSED: [&str; 9] = [
    "PATH",
    "HOME",
    "XDG_CACHE_HOME",
    "DOCKER_HOST",
    "NODEJOIN_ASSETS",
    "NODEJOIN_CACHE",
    "NODEJOIN_DEBIAN_MIRROR",
    "NODEJOIN_KUBERNETES",
    "NODEJOIN_TIME_FACTOR",
];
const SCENARIO: &str = r#"name: user data runs
user_data: |
  #!/bin/bash
  echo ran > /root/ran
expect: { phase: booted, files: { /root/ran: { contains: [ran] } } }
"#;
/// Until a keeper has restored a control plane.
const RESTORED: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return nodejoin::scenario_tests(PathBuf::from(folder));
    }
    let test = Trial::test(
        "engine::processes_of_tests_share_the_control_plane_of_a_keeper",
        processes_share_a_control_plane,
    );
    libtest_mimic::run(&Arguments::from_args(), vec![test]).exit_code()
}

/// A keeper of its own, which is stopped at the end.
struct KeeperFolder {
    scenarios: TempDir,
    runtime: TempDir,
}

impl KeeperFolder {
    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        let inherited = PASSED
            .into_iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?)));
        command
            .env_clear()
            .envs(inherited)
            .env("XDG_RUNTIME_DIR", self.runtime.path())
            .current_dir(self.scenarios.path())
            .args(arguments);
        command
    }

    /// Runs one test in a process of its own, as nextest does.
    fn test(&self, name: &str) -> Output {
        let program = std::env::current_exe().expect("the path of this program");
        let mut command = self.command(&program, &["--exact", name]);
        command
            .env(FOLDER, self.scenarios.path())
            .env("NODEJOIN_KEEPER", "true");
        command.output().expect("this program starts")
    }

    fn keeper(&self, arguments: &[&str]) -> String {
        let program = Path::new(env!("CARGO_BIN_EXE_nodejoin"));
        let output = self.command(program, &[&["keeper"], arguments].concat()).output();
        String::from_utf8_lossy(&output.expect("the command starts").stdout).into_owned()
    }

    /// The id of the run whose control plane waits in the keeper.
    fn waiting(&self) -> Result<String, Failed> {
        let until = Instant::now() + RESTORED;
        loop {
            let status = self.keeper(&["status"]);
            if let Some((_, run)) = status.rsplit_once("of run ") {
                return Ok(run.trim().to_owned());
            }
            if Instant::now() > until {
                return Err(format!("no control plane waits: {status}").into());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for KeeperFolder {
    fn drop(&mut self) {
        self.keeper(&["stop", "--all"]);
    }
}

fn processes_share_a_control_plane() -> Result<(), Failed> {
    let folder = KeeperFolder {
        scenarios: TempDir::new()?,
        runtime: TempDir::new()?,
    };
    for name in ["one.yaml", "other.yaml"] {
        std::fs::write(folder.scenarios.path().join(name), SCENARIO)?;
    }
    let mut runs = Vec::new();
    for name in ["one", "other"] {
        let output = folder.test(name);
        let text = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        if !output.status.success() || !text.contains("1 passed") || text.contains("uses no keeper") {
            return Err(text.into());
        }
        runs.push(folder.waiting()?);
    }
    if runs[0] != runs[1] {
        return Err(format!("each process had its own control plane: {runs:?}").into());
    }
    Ok(())
}
