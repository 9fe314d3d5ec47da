//! Snapshots of every report, made from the same sample of events.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nodejoin_core::diagnosis::{Cause, Diagnosis};
use nodejoin_core::judge::verdict::{Check, Outcome, VerdictPart, Versions};
use nodejoin_core::observation::Deviation;
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_core::run::event::{RunEvent, Summary};

use super::console::{Console, Verbosity};
use super::github::tests::{checkout, failed, finished};
use super::junit::Junit;
use super::summary::{LIMIT, SummaryPage};
use super::{github, outputs};

/// A stream whose bytes a test reads afterwards.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Captured {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

fn check(key: &str, expected: &str, seen: &str) -> Check {
    Check {
        key: key.to_owned(),
        held: false,
        expected: expected.to_owned(),
        seen: seen.to_owned(),
    }
}

fn diagnosis() -> Diagnosis {
    Diagnosis {
        phase: Some(Phase::Configured),
        cause: Cause::RoleNotMapped,
        because: "the role `node` is in no row of aws-auth".to_owned(),
        seen: "authenticator, 7.9 s: ARN is not mapped".to_owned(),
        remedy: "add the role to `cluster.aws_auth`".to_owned(),
        script: None,
    }
}

/// A scenario that failed in its second step, with checks of every form.
fn failed_step() -> RunEvent {
    let mut event = finished("steps", Outcome::Failed);
    if let RunEvent::ScenarioFinished { verdict, .. } = &mut event {
        let part = |name: &str, diagnosis| VerdictPart {
            name: name.to_owned(),
            phases: BTreeMap::from([(Phase::Booted, 900)]),
            diagnosis,
        };
        verdict.parts = vec![
            part("then reboot", None),
            part("then delete-node", Some(diagnosis())),
        ];
        verdict.checks = vec![
            check("node.labels.team", "ironman", "absent"),
            check("kubelet.config", "a: 1\nb: 2", "a: 2"),
        ];
        let together =
            ["a", "b", "c", "d"].map(|name| check(&format!("node.taints.{name}"), "x", "missing Node"));
        verdict.checks.extend(together);
        verdict.deviations = vec![Deviation {
            name: "pod-cidr".to_owned(),
            what: "what".to_owned(),
            why: "why".to_owned(),
            details: vec!["kubelet v1.31.2 has no `x`".to_owned()],
        }];
        verdict.versions = Some(Versions {
            kubernetes: "v1.32.1".to_owned(),
            kubelet: "v1.31.2".to_owned(),
            image: Some("my-ami:1".to_owned()),
        });
    }
    event
}

/// A scenario that expects its diagnosis, and whose node is kept.
fn passed_as_expected() -> RunEvent {
    let mut event = finished("refused", Outcome::Passed);
    if let RunEvent::ScenarioFinished { verdict, kept, .. } = &mut event {
        verdict.diagnosis = Some(Diagnosis {
            phase: None,
            ..diagnosis()
        });
        *kept = vec!["docker exec -it nodejoin-x-node-3 bash".to_owned()];
    }
    event
}

fn events() -> Vec<RunEvent> {
    let mut none = finished("nothing", Outcome::Failed);
    if let RunEvent::ScenarioFinished { verdict, .. } = &mut none {
        verdict.phases.clear();
    }
    vec![
        RunEvent::RunStarted {
            run: "abcdefghij".parse().unwrap(),
            scenarios: 8,
            shard: Some("1/4".parse().unwrap()),
        },
        RunEvent::ImageStarted {
            image: "nodejoin/node:1".to_owned(),
            log: "/cache/build.log".to_owned(),
        },
        RunEvent::ImageStep {
            image: "nodejoin/node:1".to_owned(),
            text: "Step 1/9".to_owned(),
        },
        RunEvent::ImageDownload {
            image: "nodejoin/node:1".to_owned(),
            file: "kubelet".to_owned(),
            bytes: 1,
            total: Some(2),
        },
        RunEvent::ImageReady {
            image: "nodejoin/node:1".to_owned(),
            seconds: 61.2,
        },
        RunEvent::ControlPlaneStarting {
            provider: "local".to_owned(),
        },
        RunEvent::ControlPlaneReady {
            provider: "local".to_owned(),
            kubernetes: "v1.32.1".to_owned(),
            seconds: 4.1,
            parts: BTreeMap::new(),
        },
        RunEvent::Warning {
            text: "the control plane has no audit log".to_owned(),
        },
        RunEvent::ScenarioStarted {
            scenario: "al2/joins".parse().unwrap(),
            name: "the node joins".to_owned(),
        },
        RunEvent::PhaseReached {
            scenario: "al2/joins".parse().unwrap(),
            phase: Phase::Booted,
            at: 1500,
        },
        finished("al2/joins", Outcome::Passed),
        passed_as_expected(),
        failed("script"),
        failed_step(),
        none,
        finished(
            "errored",
            Outcome::Errored("the container engine could not be used: refused\nstart it".to_owned()),
        ),
        finished("skipped", Outcome::Skipped("not for Kubernetes 1.20".to_owned())),
        RunEvent::Cancelling,
        finished("cancelled", Outcome::Cancelled),
        RunEvent::SnapshotWritten {
            path: "golden/node.txt".to_owned(),
        },
        RunEvent::RunFinished(Summary {
            passed: 2,
            failed: 3,
            errored: 1,
            skipped: 1,
            cancelled: 1,
            not_run: 0,
            seconds: 61.3,
            left_behind: vec!["network nodejoin-abcdefghij-isolated".to_owned()],
        }),
    ]
}

fn console(out: &Captured, err: &Captured, verbosity: Verbosity) -> Console {
    let rerun = std::sync::Arc::new(|id: &ScenarioId, file: &str| format!("nodejoin run {file} # {id}"));
    Console::on(out.clone(), err.clone(), verbosity, rerun)
}

#[test]
fn a_quiet_console_prints_failures_and_the_last_line() {
    let (out, err) = (Captured::default(), Captured::default());
    let mut console = console(&out, &err, Verbosity::Quiet);
    events().iter().for_each(|event| console.show(event));
    console.tick(Instant::now() + Duration::from_secs(60));
    let text = out.text();
    assert!(!text.contains("  ok ") && !text.contains("  skip "), "{text}");
    assert!(
        text.contains("  FAIL ") && text.contains("8 scenarios: "),
        "{text}"
    );
    assert!(!text.contains("differs   from the AMI by"), "{text}");
    assert_eq!(
        err.text(),
        "could not remove network nodejoin-abcdefghij-isolated; run `nodejoin sweep` after this process has ended\n"
    );
}

#[test]
fn a_line_shows_current_work_after_silence() {
    let (out, err) = (Captured::default(), Captured::default());
    let mut console = console(&out, &err, Verbosity::Normal);
    console.show(&RunEvent::RunStarted {
        run: "abcdefghij".parse().unwrap(),
        scenarios: 2,
        shard: None,
    });
    let start = Instant::now();
    let after = |seconds| start + Duration::from_secs(seconds);
    console.tick(after(60));
    assert_eq!(err.text(), "", "nothing runs");
    console.show(&RunEvent::ScenarioStarted {
        scenario: "al2/joins".parse().unwrap(),
        name: "a node joins".to_owned(),
    });
    for seconds in [14, 75, 76, 89, 91] {
        console.tick(after(seconds));
    }
    let lines: Vec<_> = err.text().lines().map(str::to_owned).collect();
    assert_eq!(
        lines,
        [
            "1:15  0/2 done  al2/joins: booting",
            "1:31  0/2 done  al2/joins: booting"
        ]
    );
}

#[test]
fn the_line_after_silence_has_the_bytes_of_a_download() {
    let (out, err) = (Captured::default(), Captured::default());
    let mut console = console(&out, &err, Verbosity::Normal);
    for total in [None, Some(120_000_000)] {
        console.show(&RunEvent::ImageDownload {
            image: "nodejoin/kubernetes:1".to_owned(),
            file: "kubelet".to_owned(),
            bytes: 30_000_000,
            total,
        });
        console.tick(Instant::now() + Duration::from_secs(if total.is_some() { 95 } else { 65 }));
    }
    assert_eq!(
        err.text(),
        "1:05  nodejoin/kubernetes:1: kubelet 30.0 MB\n1:35  nodejoin/kubernetes:1: kubelet 30.0 of 120.0 MB\n"
    );
}

#[test]
fn the_console_matches_its_snapshot() {
    let (out, err) = (Captured::default(), Captured::default());
    let mut console = console(&out, &err, Verbosity::Verbose);
    events().iter().for_each(|event| console.show(event));
    insta::assert_snapshot!(
        "console",
        format!(
            "standard output:\n{}\nstandard error:\n{}",
            out.text(),
            err.text()
        )
    );
}

#[test]
fn workflow_commands_match_their_snapshot() {
    let lines: Vec<String> = events()
        .iter()
        .filter_map(|event| github::event(event, &checkout()))
        .collect();
    insta::assert_snapshot!("github", lines.join("\n"));
}

#[test]
fn the_junit_report_matches_its_snapshot() {
    let mut junit = Junit::new();
    events().iter().for_each(|event| junit.take(event));
    insta::assert_snapshot!("junit", junit.to_xml().unwrap());
}

#[test]
fn the_page_of_a_job_matches_its_snapshot() {
    let mut page = SummaryPage::new(Some("https://github.com/a/b/actions/runs/7".to_owned()));
    events().iter().for_each(|event| page.take(event));
    insta::assert_snapshot!("summary", page.to_markdown(LIMIT));
}

#[test]
fn the_outputs_of_a_step_match_their_snapshot() {
    let lines: Vec<String> = events().iter().filter_map(outputs::event).collect();
    insta::assert_snapshot!("outputs", lines.join(""));
}
