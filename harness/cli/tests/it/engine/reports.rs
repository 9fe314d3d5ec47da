//! Reports of a run: exit codes, JSON lines, JUnit; and the selection of scenarios.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::support::engine_objects::of_run;
use crate::support::running_command::RunningCommand;
use crate::support::{FAILS, both, folder, nodejoin};
use nodejoin_core::diagnosis::Cause;
use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::run::event::RunEvent;

const FAILS_AS_WANTED: &str = r##"name: a node that does nothing has no kubelet
user_data: "#!/bin/sh"
limits: { settle_seconds: 0.5 }
expect: { phase: metadata, diagnosis: kubelet-never-started }
"##;

#[test]
fn a_filter_without_matches_is_a_usage_error() {
    let folder = folder(&[("fails.yaml", FAILS)]);
    let output = nodejoin(folder.path(), &["run", ".", "--filter", "no such scenario"])
        .env("DOCKER_HOST", "unix:///nonexistent/docker.sock")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", both(&output));
    for part in ["no scenario matches", "run `nodejoin list .` to see all"] {
        assert!(both(&output).contains(part), "{}", both(&output));
    }
}

#[test]
fn a_failure_ends_a_fast_run_and_the_rest_runs_again() {
    let folder = folder(&[
        ("a.yaml", FAILS_AS_WANTED),
        ("b.yaml", FAILS),
        ("c.yaml", FAILS_AS_WANTED),
    ]);
    let ended = RunningCommand::start(folder.path(), &["--fail-fast"]).finish();
    let summary = ended.summary();
    assert_eq!((summary.passed, summary.failed, summary.not_run), (1, 1, 1));
    assert_eq!(ended.code, Some(1), "{}", ended.verdicts());
    let again = RunningCommand::start(folder.path(), &["--rerun-failed", "--shuffle", "1"]).finish();
    let summary = again.summary();
    assert_eq!((summary.passed, summary.failed, summary.not_run), (1, 1, 0));
    let repeated = RunningCommand::start(
        folder.path(),
        &["--filter", "id(a)", "--repeat", "2", "--jobs", "2"],
    )
    .finish();
    assert_eq!(repeated.code, Some(0), "{}", repeated.verdicts());
    assert_eq!(repeated.summary().passed, 2);
}

#[test]
fn events_and_junit_have_every_selected_scenario() {
    let folder = folder(&[
        ("fails.yaml", FAILS),
        ("as-wanted.yaml", FAILS_AS_WANTED),
        ("left-out.yaml", "name: another one\nuser_data: '#!/bin/sh'\n"),
    ]);
    let arguments = [
        "--junit",
        "reports/junit.xml",
        "--filter",
        "does nothing",
        "--jobs",
        "2",
    ];
    let ended = RunningCommand::start(folder.path(), &arguments).finish();
    assert_eq!(ended.code, Some(1), "{}", ended.verdicts());
    let summary = ended.summary();
    assert_eq!((summary.passed, summary.failed), (1, 1), "{summary:?}");

    let mut verdicts: Vec<_> = ended.events.iter().filter_map(verdict).collect();
    verdicts.sort_by_key(|(id, ..)| *id);
    let stopped = Some(Cause::KubeletNeverStarted);
    assert_eq!(
        verdicts,
        [
            ("as-wanted", &Outcome::Passed, stopped),
            ("fails", &Outcome::Failed, stopped)
        ]
    );

    let xml = std::fs::read_to_string(folder.path().join("reports/junit.xml")).unwrap();
    for part in [
        r#"tests="2""#,
        r#"failures="1""#,
        r#"name="as-wanted""#,
        r#"name="fails""#,
        r#"type="kubelet-never-started""#,
        r#"name="phase.metadata""#,
    ] {
        assert!(xml.contains(part), "`{part}` is missing in:\n{xml}");
    }
    let evidence = ended.evidence();
    assert_eq!(evidence.file_name().unwrap(), "fails");
    assert!(
        !evidence.with_file_name("as-wanted").exists(),
        "evidence of a scenario that passed"
    );
}

#[test]
fn a_closed_pipe_changes_neither_the_end_nor_the_exit_code() {
    let folder = folder(&[("fails.yaml", FAILS)]);
    let arguments = ["run", ".", "--format", "json", "--junit", "report.xml"];
    crate::support::build_images_once();
    let mut child = nodejoin(folder.path(), &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", both(&output));
    assert!(!both(&output).contains("panicked"), "{}", both(&output));
    assert!(folder.path().join("report.xml").exists());
    let Ok(RunEvent::RunStarted { run, .. }) = serde_json::from_str(&first) else {
        panic!("the first line is `{first}`");
    };
    assert_eq!(of_run(run.as_str()), Vec::<String>::new());
}

fn verdict(event: &RunEvent) -> Option<(&str, &Outcome, Option<Cause>)> {
    match event {
        RunEvent::ScenarioFinished {
            scenario, verdict, ..
        } => {
            let cause = verdict.diagnosis.as_ref().map(|diagnosis| diagnosis.cause);
            Some((scenario.as_str(), &verdict.outcome, cause))
        }
        _ => None,
    }
}
