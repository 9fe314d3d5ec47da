//! Shards joined into one text, report and page; files that are refused.

use std::fs;

use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::plan::sources::SourceLine;
use nodejoin_core::run::event::RunEvent;
use nodejoin_core::run::evidence_index::{RecordedScenario, RunRecord};
use nodejoin_core::run::recorded_times::RecordedTimes;

use super::{MergeError, MergedRuns};
use crate::report::junit::Junit;
use crate::verdict::verdict_without_observation;

fn finished(id: &str, outcome: Outcome, seconds: f64) -> RunEvent {
    RunEvent::ScenarioFinished {
        scenario: id.parse().unwrap(),
        name: format!("the name of {id}"),
        file: format!("{id}.yaml"),
        source: SourceLine::default(),
        verdict: Box::new(Verdict {
            ..verdict_without_observation(outcome)
        }),
        seconds,
        evidence: None,
        kept: Vec::new(),
    }
}

/// The JUnit report of a shard.
fn report(run: &str, shard: Option<&str>, scenarios: &[(&str, Outcome, f64)]) -> String {
    let mut junit = Junit::new();
    junit.take(&RunEvent::RunStarted {
        run: run.parse().unwrap(),
        scenarios: scenarios.len(),
        shard: shard.map(|shard| shard.parse().unwrap()),
    });
    for (id, outcome, seconds) in scenarios {
        junit.take(&finished(id, outcome.clone(), *seconds));
    }
    junit.to_xml().unwrap()
}

/// The record of a run whose last scenario left evidence.
fn record(run: &str, scenarios: &[(&str, Outcome, f64)]) -> String {
    let recorded = |(id, outcome, seconds): &(&str, Outcome, f64)| RecordedScenario {
        scenario: id.parse().unwrap(),
        name: format!("the name of {id}"),
        outcome: outcome.clone(),
        because: Some("the role is not mapped".to_owned()),
        seconds: *seconds,
        folder: Some(id.replace('/', ".")),
    };
    let record = RunRecord {
        schema: 1,
        run: run.parse().unwrap(),
        started: "2026-01-01T00:00:00Z".to_owned(),
        nodejoin: "0.1.0".to_owned(),
        scenarios: scenarios.iter().map(recorded).collect(),
    };
    serde_json::to_string(&record).unwrap()
}

/// A folder with these files, read.
fn merged(files: &[(&str, String)]) -> (tempfile::TempDir, Result<MergedRuns, MergeError>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let merged = MergedRuns::read(&[folder.path().to_owned()]);
    (folder, merged)
}

#[test]
fn shards_are_one_report_with_failed_flaky_and_slowest_scenarios() {
    let one = [
        ("al2/joins", Outcome::Passed, 20.0),
        ("al2/flaky@run-1", Outcome::Passed, 5.0),
        ("al2/stopped", Outcome::Cancelled, 1.0),
    ];
    let other = [
        ("al2/flaky@run-2", Outcome::Failed, 7.0),
        ("al2/broken", Outcome::Errored("no engine".to_owned()), 2.0),
        ("al2/skipped", Outcome::Skipped("needs kind".to_owned()), 0.0),
    ];
    let (_folder, runs) = merged(&[
        ("one/junit.xml", report("aaaaaaaaaa", Some("1/3"), &one)),
        ("two/junit.xml", report("bbbbbbbbbb", Some("2/3"), &other)),
    ]);
    let runs = runs.unwrap();
    assert_eq!(
        runs.to_text(2),
        "  ERROR    2.0 s  al2/broken\n        because   no engine\n  FAIL     7.0 s  al2/flaky@run-2\n        because   failed
flaky:\n  al2/flaky: 1 passed, 1 failed, 0 errored, 0 skipped
slowest:\n  ok      20.0 s  al2/joins\n  FAIL     7.0 s  al2/flaky@run-2
warning: no report of shard 3/3
6 scenarios of 2 runs: 2 passed, 1 failed, 1 errored, 1 skipped, 1 cancelled; 35.0 s in all"
    );
    // The joined report can be joined again.
    let (_folder, again) = merged(&[("all.xml", runs.to_junit().unwrap())]);
    let again = again.unwrap();
    assert_eq!(again.summary(), runs.summary());
    assert_eq!(again.runs().collect::<Vec<_>>(), ["aaaaaaaaaa", "bbbbbbbbbb"]);
}

#[test]
fn a_run_with_record_and_report_counts_once_and_has_what_each_knows() {
    let scenarios = [("al2/x", Outcome::Failed, 3.0)];
    let passed = [("al2/x", Outcome::Failed, 3.0), ("al2/y", Outcome::Passed, 4.0)];
    let (folder, runs) = merged(&[
        ("aaaaaaaaaa/run.json", record("aaaaaaaaaa", &scenarios)),
        ("aaaaaaaaaa/al2.x/index.html", String::new()),
        ("junit.xml", report("aaaaaaaaaa", None, &passed)),
        ("other.xml", "<project/>".to_owned()),
    ]);
    let runs = runs.unwrap();
    assert_eq!((runs.summary().failed, runs.summary().passed), (1, 1));
    let text = runs.to_text(0);
    assert!(text.contains("because   the role is not mapped"), "{text}");
    assert!(text.contains("al2.x/index.html"), "{text}");
    let page = runs.to_page(folder.path()).unwrap();
    assert!(page.contains("href=\"aaaaaaaaaa/al2.x/index.html\""), "{page}");
    assert!(page.contains("the name of al2/y"), "{page}");
    let xml = runs.to_junit().unwrap();
    assert!(
        xml.contains("classname=\"al2/x.yaml\""),
        "the case of the report: {xml}"
    );
}

#[test]
fn a_record_alone_has_cases_too() {
    let scenarios = [("al2/x", Outcome::Failed, 3.0), ("al2/y", Outcome::Passed, 1.0)];
    let (_folder, runs) = merged(&[("run.json", record("aaaaaaaaaa", &scenarios))]);
    let xml = runs.unwrap().to_junit().unwrap();
    assert!(
        xml.contains("failure message=\"the role is not mapped\""),
        "{xml}"
    );
    assert!(xml.contains("tests=\"2\""), "{xml}");
}

#[test]
fn files_that_cannot_be_joined_are_named() {
    let scenarios = [("al2/x", Outcome::Failed, 3.0)];
    let newer = record("aaaaaaaaaa", &scenarios).replace("\"schema\":1", "\"schema\":2");
    let report = report("aaaaaaaaaa", None, &scenarios);
    let rows = [
        ("run.json", "{".to_owned(), "not a record of a run"),
        ("run.json", "{\"schema\":1}".to_owned(), "missing field `run`"),
        (
            "run.json",
            newer,
            "the format has version 2, this program reads up to 1",
        ),
        (
            "junit.xml",
            report.replace("name=\"schema\" value=\"1\"", "name=\"schema\" value=\"2\""),
            "the format has version 2",
        ),
        (
            "junit.xml",
            report[..report.len() / 2].to_owned(),
            "invalid JUnit report",
        ),
        (
            "junit.xml",
            report.replace("name=\"al2/x\"", "name=\"A X\""),
            "invalid",
        ),
        ("notes.txt", String::new(), "no record and no report of a run"),
    ];
    for (name, text, what) in rows {
        let (folder, runs) = merged(&[(name, text)]);
        let error = runs.unwrap_err();
        assert!(error.to_string().contains(what), "{name}: {error}");
        assert!(error.path.starts_with(folder.path()), "{error}");
        assert!(name == "notes.txt" || error.path.ends_with(name), "{error}");
        assert!(!error.hint.is_empty());
    }
    let foreign =
        "<?xml version=\"1.0\"?><testsuites name=\"jest\" tests=\"0\" failures=\"0\" errors=\"0\"/>";
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.xml"), foreign).unwrap();
    let error = MergedRuns::read(&[folder.path().join("x.xml")]).unwrap_err();
    assert!(
        error.to_string().contains("of `jest`, not of nodejoin"),
        "{error}"
    );
    let error = MergedRuns::read(&[folder.path().join("missing")]).unwrap_err();
    assert!(
        error.to_string().contains("missing: cannot read the file"),
        "{error}"
    );
}

#[test]
fn recorded_times_come_from_reports_and_records() {
    let one = [
        ("al2/joins", Outcome::Passed, 20.0),
        ("al2/often@run-1", Outcome::Passed, 5.0),
        ("al2/often@run-2", Outcome::Failed, 7.0),
        ("al2/skipped", Outcome::Skipped("needs kind".to_owned()), 0.0),
        ("al2/stopped", Outcome::Cancelled, 1.0),
    ];
    let other = [
        ("al2/joins", Outcome::Passed, 30.0),
        ("al2/broken", Outcome::Errored("no engine".to_owned()), 2.0),
    ];
    let (_folder, runs) = merged(&[
        ("junit.xml", report("aaaaaaaaaa", Some("1/2"), &one)),
        ("run.json", record("bbbbbbbbbb", &other)),
    ]);
    let runs = runs.unwrap();
    let recorded = [("al2/joins", 25.0), ("al2/often", 6.0), ("al2/skipped", 0.0)];
    let expected = RecordedTimes::new(recorded.map(|(id, seconds)| (id.to_owned(), seconds)));
    assert_eq!(runs.times(), expected);
    // What `nodejoin merge --junit` writes has the same times.
    let (_folder, again) = merged(&[("all.xml", runs.to_junit().unwrap())]);
    assert_eq!(again.unwrap().times(), expected);
}
