//! Runs in a keeper: the same verdicts, in a control plane that stays; and what remains when a client or the keeper is
//! killed.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::engine_objects::{containers, objects, of_run};
use crate::support::running_command::{FinishedCommand, RunningCommand};
use crate::support::{
    END, FAILS, KeptFolder, REGISTERS, both, build_images_once, exclusive_sweep, folder, signal, sweep,
    wait_for,
};
use nodejoin_core::explore::Exploration;
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::run::event::RunEvent;

/// A folder with a keeper of its own, which is stopped at the end of a test.
struct Kept(KeptFolder);

impl Kept {
    fn new(scenarios: &[(&str, &str)]) -> Self {
        build_images_once();
        Self(KeptFolder::new(folder(scenarios)))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        self.0.command(arguments)
    }

    fn start(&self) -> RunningCommand {
        RunningCommand::follow(self.command(&["run", ".", "--keeper", "--format", "json"]))
    }

    fn keeper(&self, arguments: &[&str]) -> String {
        let output = self.command(&[&["keeper"], arguments].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", both(&output));
        both(&output)
    }

    /// What the keeper wrote.
    fn log(&self) -> String {
        let command = self.command(&[]);
        let mut variables = command.get_envs();
        let (_, runtime) = variables.find(|(name, _)| *name == "XDG_RUNTIME_DIR").unwrap();
        let files = std::fs::read_dir(Path::new(runtime.unwrap()).join("nodejoin")).unwrap();
        let paths = files.map(|file| file.unwrap().path());
        let logs = paths.filter(|path| path.extension().is_some_and(|end| end == "log"));
        logs.map(|path| std::fs::read_to_string(path).unwrap()).collect()
    }

    /// The process id of the keeper.
    fn pid(&self) -> u32 {
        let status = self.keeper(&["status"]);
        let pid = status
            .strip_prefix("keeper ")
            .and_then(|rest| rest.split(' ').next());
        pid.and_then(|pid| pid.parse().ok())
            .unwrap_or_else(|| panic!("{status}"))
    }

    /// The run of the environment that waits for a run.
    fn waiting(&self) -> String {
        let mut status = String::new();
        wait_for("an environment that waits", END, || {
            status = self.keeper(&["status"]);
            assert!(!status.contains("last removed"), "{status}");
            status.contains("of run ")
        });
        status
            .rsplit("of run ")
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    }
}

fn outcomes(ended: &FinishedCommand) -> Vec<(String, String)> {
    let outcome = |event: &RunEvent| match event {
        RunEvent::ScenarioFinished {
            scenario, verdict, ..
        } => {
            let cause = verdict.diagnosis.as_ref().map(|found| found.cause);
            Some((scenario.to_string(), format!("{:?} {cause:?}", verdict.outcome)))
        }
        _ => None,
    };
    let mut all: Vec<_> = ended.events.iter().filter_map(outcome).collect();
    all.sort();
    all
}

fn is_gone(pid: u32) -> bool {
    !Path::new(&format!("/proc/{pid}/exe")).exists()
}

#[test]
fn runs_in_a_keeper_have_the_same_verdicts_and_share_one_control_plane() {
    let kept = Kept::new(&[("joins.yaml", REGISTERS), ("fails.yaml", FAILS)]);
    let without =
        RunningCommand::follow(kept.command(&["run", ".", "--no-keeper", "--format", "json"])).finish();
    let first = kept.start().finish();
    let environment = kept.waiting();
    let second = kept.start().finish();
    assert_eq!(kept.waiting(), environment, "the second run used the same one");
    for ended in [&first, &second] {
        assert_eq!(ended.code, without.code, "{}", ended.verdicts());
        assert_eq!(outcomes(ended), outcomes(&without), "{}", ended.verdicts());
        assert!(ended.evidence().join("plan.json").exists());
    }
    assert_eq!(containers(&of_run(&environment)), 1, "the control plane alone");
    assert!(
        !sweep(&["--dry-run"]).contains(&environment),
        "its keeper is alive"
    );
    let pid = kept.pid();
    assert_eq!(kept.keeper(&["stop"]), "stopped 1 keeper\n");
    assert_eq!(of_run(&environment), Vec::<String>::new());
    assert_eq!(objects(&format!("nodejoin.pid={pid}")), Vec::<String>::new());
}

#[test]
fn a_keeper_that_stops_while_it_restores_does_not_try_until_a_timeout() {
    // A control plane with a node that is ready has more to restore.
    let ready = REGISTERS.replace("phase: registered", "phase: ready");
    assert!(ready.contains("phase: ready"), "{ready}");
    let kept = Kept::new(&[("joins.yaml", &ready)]);
    let run = kept
        .command(&["run", ".", "--keeper", "--quiet"])
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", both(&run));
    // The run has ended, and its control plane is being restored.
    assert_eq!(kept.keeper(&["stop"]), "stopped 1 keeper\n");
    let log = kept.log();
    assert!(log.contains("keeping control planes"), "{log}");
    assert!(!log.contains("could not be restored"), "{log}");
}

/// Writes a file on Spot Instances alone.
const SPOT: &str = r#"name: a node joins
user_data: |
  #!/bin/bash
  token=$(curl -sf -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' http://169.254.169.254/latest/api/token)
  url=http://169.254.169.254/latest/meta-data/instance-life-cycle
  [[ $(curl -sf -H "X-aws-ec2-metadata-token: $token" $url) != spot ]] || touch /etc/spot
  /etc/eks/bootstrap.sh {{ cluster.name }} --container-runtime containerd
expect: { phase: registered }
"#;

#[test]
fn probes_in_a_keeper_find_the_same_and_use_its_control_plane() {
    let kept = Kept::new(&[("spot.yaml", SPOT)]);
    let explore = |keeper: &str| {
        let words = [
            "explore",
            "spot.yaml",
            "--change",
            "spot",
            "--format",
            "json",
            keeper,
        ];
        let output = kept.command(&words).output().unwrap();
        let report: Exploration =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", both(&output)));
        assert_eq!(output.status.code(), Some(0), "{}", both(&output));
        report
    };
    let without = explore("--no-keeper");
    let first = explore("--keeper");
    let environment = kept.waiting();
    let second = explore("--keeper");
    assert_eq!(kept.waiting(), environment, "the second run used the same one");
    assert_eq!(without.worlds.len(), 2, "{without:#?}");
    let result = |report: &Exploration| {
        let worlds = report.worlds.iter();
        let facts = worlds.map(|world| (world.scenario.clone(), world.join.clone(), world.new_commands));
        facts.collect::<Vec<_>>()
    };
    for report in [&first, &second] {
        assert_eq!(result(report), result(&without), "{report:#?}");
    }
    assert!(
        result(&without)
            .iter()
            .all(|(_, join, _)| join.as_deref() == Some("passed"))
    );
    assert_eq!(containers(&of_run(&environment)), 1, "the control plane alone");

    let words = ["explore", "spot.yaml", "--change", "spot", "--keeper"];
    let mut killed = kept
        .command(&words)
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid = kept.pid();
    wait_for("a node of the client", END, || {
        containers(&objects(&format!("nodejoin.pid={pid}"))) > 1
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    wait_for("the end of the killed client's nodes", END, || {
        containers(&objects(&format!("nodejoin.pid={pid}"))) == 1
    });
    assert_eq!(kept.waiting(), environment, "the control plane stays");
}

#[test]
fn a_killed_client_leaves_nothing_and_a_cancelled_one_ends_as_without_a_keeper() {
    let kept = Kept::new(&[("joins.yaml", REGISTERS)]);
    let mut killed = kept.start();
    killed.until_phase(Phase::Booted);
    let id = killed.id.clone();
    assert_eq!(containers(&of_run(&id)), 1, "the node");
    killed.signal("KILL");
    assert_eq!(killed.end(END).code, None);
    wait_for("the end of the killed client's run", END, || {
        of_run(&id).is_empty()
    });

    let mut cancelled = kept.start();
    cancelled.until_phase(Phase::Booted);
    let id = cancelled.id.clone();
    cancelled.signal("INT");
    let ended = cancelled.end(END);
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(ended.summary().cancelled, 1);
    assert_eq!(of_run(&id), Vec::<String>::new());

    let ended = kept.start().finish();
    assert_eq!(ended.code, Some(0), "{}", ended.verdicts());
}

#[test]
fn a_killed_keeper_is_replaced_and_its_objects_are_swept() {
    let kept = Kept::new(&[("fails.yaml", FAILS)]);
    kept.start().finish();
    let (dead, pid) = (kept.waiting(), kept.pid());
    let alone = exclusive_sweep();
    signal(pid, "KILL");
    wait_for("the end of the keeper", END, || is_gone(pid));
    let ended = kept.start().finish();
    assert_eq!(ended.code, Some(1), "{}", ended.verdicts());
    let alive = kept.waiting();
    assert_ne!(alive, dead);
    let swept = sweep(&[]);
    assert!(swept.contains(&dead) && !swept.contains(&alive), "{swept}");
    assert_eq!(of_run(&dead), Vec::<String>::new());
    assert_eq!(containers(&of_run(&alive)), 1);
    drop(alone);
    let pid = kept.pid();
    signal(pid, "TERM");
    wait_for("a keeper that removed everything", END, || {
        of_run(&alive).is_empty() && is_gone(pid)
    });
}

#[test]
fn an_idle_keeper_stops_and_removes_everything() {
    let kept = Kept::new(&[("fails.yaml", FAILS)]);
    let mut keeper = kept
        .command(&["keeper", "--idle", "1"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let label = format!("nodejoin.pid={}", keeper.id());
    // It may have stopped before the run: the run starts another one then, with its own time.
    let mut command = kept.command(&["run", ".", "--keeper", "--format", "json"]);
    command.env("NODEJOIN_KEEPER_IDLE", "1");
    let ended = RunningCommand::follow(command).finish();
    assert_eq!(ended.code, Some(1), "{}", ended.verdicts());
    wait_for("the end of the idle keeper", END, || {
        keeper.try_wait().unwrap().is_some() && kept.keeper(&["status"]) == "no keeper runs\n"
    });
    assert_eq!(objects(&label), Vec::<String>::new());
}
