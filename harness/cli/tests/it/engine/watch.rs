//! A watch that runs scenarios: a saved script has a second verdict, a save restarts what it affects, and an interrupt
//! leaves nothing.

use std::path::Path;
use std::process::Command;

use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::run::event::RunEvent;
use tempfile::TempDir;

use crate::support::engine_objects::objects;
use crate::support::running_command::RunningCommand;
use crate::support::{END, build_images_once, folder, nodejoin, wait_for};

const SCENARIO: &str = "name: a node registers
user_data: { file: join.sh }
expect: { phase: registered }
";
const JOINS: &str = "#!/bin/bash
set -o errexit
/etc/eks/bootstrap.sh {{ cluster.name }} --container-runtime containerd
";

/// Saves a file as Vim does: moves the old one away and writes a new one.
fn save(path: &Path, text: &str) {
    let backup = path.with_extension("sh~");
    std::fs::rename(path, &backup).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::remove_file(backup).unwrap();
}

fn outcome(watch: &mut RunningCommand) -> Outcome {
    watch.until("scenario-finished", |event| {
        matches!(event, RunEvent::ScenarioFinished { .. })
    });
    match watch.events.last() {
        Some(RunEvent::ScenarioFinished { verdict, .. }) => verdict.outcome.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_saved_script_has_a_second_verdict_and_nothing_remains() {
    build_images_once();
    let runtime = TempDir::new().unwrap();
    let folder = folder(&[("joins.yaml", SCENARIO), ("join.sh", "#!/bin/sh\n")]);
    let script = folder.path().join("join.sh");
    let command = |arguments: &[&str]| -> Command {
        let mut command = nodejoin(folder.path(), arguments);
        command.env("XDG_RUNTIME_DIR", runtime.path());
        command
    };
    let mut watch = RunningCommand::follow(command(&["watch", ".", "--format", "json"]));
    assert_eq!(outcome(&mut watch), Outcome::Failed);
    let status = command(&["keeper", "status"]).output().unwrap();
    let status = String::from_utf8(status.stdout).unwrap();
    let keeper = status.split(' ').nth(1).unwrap_or_default().to_owned();
    assert!(keeper.parse::<u32>().is_ok(), "{status}");

    save(&script, JOINS);
    // A save while the node boots: the run starts again, with the script that fails.
    watch.until_phase(Phase::Booted);
    save(&script, "#!/bin/sh\n# does nothing\n");
    assert_eq!(outcome(&mut watch), Outcome::Cancelled);
    assert_eq!(outcome(&mut watch), Outcome::Failed);
    save(&script, JOINS);
    assert_eq!(outcome(&mut watch), Outcome::Passed);

    let pid = watch.pid();
    watch.signal("INT");
    let ended = watch.end(END);
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    let starts =
        |event: &&RunEvent| matches!(event, RunEvent::ControlPlaneReady { parts, .. } if parts.len() > 1);
    assert_eq!(
        ended.events.iter().filter(starts).count(),
        1,
        "{:?}",
        ended.events
    );
    wait_for("nothing of the watch and of its keeper", END, || {
        [pid.to_string(), keeper.clone()]
            .iter()
            .all(|pid| objects(&format!("nodejoin.pid={pid}")).is_empty())
    });
    assert!(
        !Path::new(&format!("/proc/{keeper}/exe")).exists(),
        "its keeper runs"
    );
}
