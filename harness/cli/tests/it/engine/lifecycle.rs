//! The end of runs: by signals at several moments, by a kill, next to another run, and with kept objects. Kept objects
//! remain, and everything else is removed.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::engine_objects::{containers, objects, of_run, on_engine};
use crate::support::running_command::{FinishedCommand, RunningCommand};
use crate::support::{
    END, REGISTERS, StallingEngine, both, exclusive_sweep, exit, folder, nodejoin, signal, sweep, wait_for,
};
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::run::event::RunEvent;

/// Timeout of the engine for requests of a process that exited at once.
const ENGINE: Duration = Duration::from_secs(20);

#[test]
fn an_interrupt_before_the_first_object_leaves_nothing() {
    let folder = folder(&[("joins.yaml", REGISTERS)]);
    let run = RunningCommand::start(folder.path(), &[]);
    ends_clean(run, "INT");
}

#[test]
fn an_interrupt_while_the_network_is_created_leaves_nothing() {
    let folder = folder(&[("joins.yaml", REGISTERS)]);
    let mut run = RunningCommand::start(folder.path(), &[]);
    until_control_plane_starts(&mut run);
    ends_clean(run, "INT");
}

#[test]
fn an_interrupt_while_the_control_plane_starts_leaves_nothing() {
    let folder = folder(&[("joins.yaml", REGISTERS)]);
    let mut run = RunningCommand::start(folder.path(), &[]);
    until_control_plane_starts(&mut run);
    wait_for("the control plane's container", END, || {
        containers(&of_run(&run.id)) > 0
    });
    ends_clean(run, "INT");
}

#[test]
fn a_termination_as_the_node_starts_leaves_nothing() {
    let folder = folder(&[("joins.yaml", REGISTERS)]);
    let mut run = RunningCommand::start(folder.path(), &[]);
    run.until("scenario-started", |event| {
        matches!(event, RunEvent::ScenarioStarted { .. })
    });
    ends_clean(run, "TERM");
}

#[test]
fn a_termination_while_the_node_boots_leaves_nothing() {
    let folder = folder(&[("joins.yaml", REGISTERS)]);
    let mut run = RunningCommand::start(folder.path(), &[]);
    run.until_phase(Phase::Booted);
    ends_clean(run, "TERM");
}

#[test]
fn an_interrupt_after_the_kubelet_started_leaves_nothing() {
    let folder = folder(&[("joins.yaml", REGISTERS)]);
    let mut run = RunningCommand::start(folder.path(), &[]);
    run.until_phase(Phase::KubeletStarted);
    assert!(containers(&of_run(&run.id)) >= 2, "{:?}", of_run(&run.id));
    ends_clean(run, "INT");
}

fn until_control_plane_starts(run: &mut RunningCommand) {
    run.until("control-plane-starting", |event| {
        matches!(event, RunEvent::ControlPlaneStarting { .. })
    });
}

fn ends_clean(run: RunningCommand, name: &str) {
    let id = run.id.clone();
    run.signal(name);
    let ended = run.end(END);
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    let summary = ended.summary();
    assert_eq!((summary.cancelled, summary.passed), (1, 0), "{summary:?}");
    assert_eq!(summary.left_behind, Vec::<String>::new());
    assert!(ended.events.contains(&RunEvent::Cancelling), "{:?}", ended.events);
    assert_eq!(of_run(&id), Vec::<String>::new());
}

#[test]
fn an_interrupt_is_reported_with_the_result_of_the_run() {
    let folder = folder(&[("joins.yaml", REGISTERS)]);
    crate::support::build_images_once();
    let mut child = nodejoin(folder.path(), &["run", "."])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let label = format!("nodejoin.pid={}", child.id());
    wait_for("the node's container", Duration::from_secs(600), || {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "ended before its signal: {ended:?}");
        containers(&objects(&label)) >= 2
    });
    signal(child.id(), "INT");
    assert_eq!(exit(&mut child, END).code(), Some(130));
    let (mut printed, mut text) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(
        text.contains("cancelling: removing everything that the run created"),
        "{text}"
    );
    let last = printed.lines().last().unwrap_or_default();
    assert!(last.starts_with("1 scenario: 0 passed"), "{printed}");
    assert!(last.contains("1 cancelled"), "{printed}");
    assert_eq!(objects(&label), Vec::<String>::new());
}

#[test]
fn a_second_interrupt_exits_at_once_and_a_sweep_removes_the_rest() {
    let folder = folder(&[("joins.yaml", REGISTERS)]);
    let engine = StallingEngine::start();
    let mut run = RunningCommand::start_on(&engine, folder.path());
    run.until_phase(Phase::Booted);
    let id = run.id.clone();
    let _alone = exclusive_sweep();
    engine.stall();
    run.signal("INT");
    run.until("cancelling", |event| *event == RunEvent::Cancelling);
    // A second signal counts after a second.
    let ended = run.end_by("INT", END);
    let finished = |event: &RunEvent| matches!(event, RunEvent::RunFinished(_));
    assert!(!ended.events.iter().any(finished), "it waited for its end");
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .lines()
            .last()
            .unwrap_or_default()
            .contains("`nodejoin sweep`"),
        "{}",
        ended.stderr
    );
    // The engine may still be handling the last requests of the process.
    wait_for("a sweep that leaves nothing", ENGINE, || {
        sweep(&[]);
        of_run(&id).is_empty()
    });
}

#[test]
fn two_signals_at_once_are_one_and_leave_nothing() {
    let folder = folder(&[("joins.yaml", REGISTERS)]);
    let mut run = RunningCommand::start(folder.path(), &[]);
    run.until_phase(Phase::Booted);
    let id = run.id.clone();
    run.signal("TERM");
    run.signal("HUP");
    let ended = run.end(END);
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(of_run(&id), Vec::<String>::new());
}

#[test]
fn a_killed_run_is_swept_and_another_run_is_not_disturbed() {
    let folder = folder(&[("joins.yaml", REGISTERS)]);
    let mut killed = RunningCommand::start(folder.path(), &[]);
    // The same scenario file, so the same instance, address, role and names.
    let mut alive = RunningCommand::start(folder.path(), &[]);
    killed.until_phase(Phase::Booted);
    alive.until_phase(Phase::Booted);

    let held = exclusive_sweep();
    killed.signal("KILL");
    let dead = killed.id.clone();
    assert_eq!(killed.end(END).code, None);
    let left = of_run(&dead);
    assert!(containers(&left) >= 2, "{left:?}");
    let would = sweep(&["--dry-run"]);
    for object in &left {
        let name = object.replace(" /", " ");
        assert!(
            would.contains(&format!("would remove {name} of run {dead}")),
            "{name} is missing in:\n{would}"
        );
    }
    assert!(!would.contains(&alive.id), "{would}");
    assert_eq!(of_run(&dead), left, "a dry run removes nothing");
    let swept = sweep(&[]);
    assert!(swept.contains(&dead) && !swept.contains(&alive.id), "{swept}");
    assert_eq!(of_run(&dead), Vec::<String>::new());
    drop(held);

    let id = alive.id.clone();
    let ended = alive.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.verdicts());
    assert_eq!(of_run(&id), Vec::<String>::new());
    let evidence = folder.path().join("evidence").join(&id);
    assert!(!evidence.exists(), "a run that passed leaves no folder");
}

#[test]
fn kept_objects_can_be_entered_and_are_removed_on_request() {
    let lacks = "expect: { phase: registered, node: { labels: { not: there } } }";
    let misses = REGISTERS.replace("expect: { phase: registered }", lacks);
    let misses = format!("{misses}limits: {{ settle_seconds: 0.5 }}\n");
    let folder = folder(&[("misses.yaml", &misses)]);
    let _alone = exclusive_sweep();
    let run = RunningCommand::start(folder.path(), &["--keep=on-failure"]);
    let id = run.id.clone();
    let ended = run.finish();
    let kept = ended.kept();
    // Removed first, so that a failure below leaves nothing.
    let found = Kept::read(&ended, &id);
    sweep(&["--kept"]);
    assert_eq!(of_run(&id), Vec::<String>::new());

    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert_eq!(containers(&found.objects), 2, "{kept:?}: {:?}", found.objects);
    assert_eq!(found.host_name.trim(), found.node_name, "{kept:?}");
    assert!(found.nodes.contains(&found.node_name), "{}", found.nodes);
    for object in &found.objects {
        let line = format!("kept (remove it with `--kept`): {}", object.replace(" /", " "));
        assert!(
            found.swept.contains(&line),
            "`{line}` is missing in:\n{}",
            found.swept
        );
    }
    assert_eq!(
        found.after_sweep, found.objects,
        "a plain sweep removes nothing that is kept"
    );
    assert!(
        kept.iter().any(|line| line.contains("nodejoin sweep --kept")),
        "{kept:?}"
    );
}

/// State of a kept run.
struct Kept {
    objects: Vec<String>,
    node_name: String,
    host_name: String,
    nodes: String,
    swept: String,
    after_sweep: Vec<String>,
}

impl Kept {
    fn read(ended: &FinishedCommand, run: &str) -> Self {
        let kept = ended.kept();
        Self {
            objects: of_run(run),
            node_name: node_name(ended),
            host_name: first_way_in(&kept),
            nodes: second_way_in(&kept, run),
            swept: sweep(&[]),
            after_sweep: of_run(run),
        }
    }
}

fn node_name(ended: &FinishedCommand) -> String {
    let plan = std::fs::read_to_string(ended.evidence().join("plan.json")).unwrap();
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    plan["instance"]["private_dns_name"].as_str().unwrap().to_owned()
}

/// `docker exec -it NODE bash`, without a terminal and with a command.
fn first_way_in(kept: &[String]) -> String {
    let line = kept.iter().find(|line| line.starts_with("docker exec"));
    let words: Vec<_> = line
        .unwrap()
        .split_whitespace()
        .filter(|word| *word != "-it")
        .collect();
    let output = Command::new(words[0])
        .args(&words[1..])
        .args(["-c", "hostname"])
        .output()
        .expect("the way in that is printed needs the `docker` command");
    both(&output)
}

/// `KUBECONFIG=FILE kubectl get nodes`, with the `kubectl` of the control plane's container: the host may have none.
fn second_way_in(kept: &[String], run: &str) -> String {
    let line = kept.iter().find_map(|line| line.strip_prefix("KUBECONFIG="));
    let file = line.unwrap().split_whitespace().next().unwrap();
    let config = std::fs::read_to_string(file).unwrap();
    let plane = of_run(run)
        .into_iter()
        .find(|object| object.contains("control-plane"))
        .unwrap();
    let name = plane.trim_start_matches("container /").to_owned();
    let script = format!(
        "cat > /tmp/config <<'EOF'\n{config}\nEOF\n/kubernetes/kubectl --kubeconfig=/tmp/config get nodes"
    );
    let output = on_engine(async |engine| engine.exec(&name, &["sh", "-c", &script]).await.unwrap());
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}
