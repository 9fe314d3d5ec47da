//! The pages as a browser reads them: structure, escaping, and no request to any network.

use std::collections::BTreeMap;

use nodejoin_core::judge::verdict::{Note, NoteKind};
use nodejoin_core::run::evidence_index::{RecordedScenario, SCHEMA};

use super::*;
use crate::verdict::verdict_without_observation;

/// A text that ends every context of a page, if one is not escaped.
const HOSTILE: &str = "</script></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'&--> ";

fn index() -> EvidenceIndex {
    EvidenceIndex {
        schema: SCHEMA,
        run: "qmshuanwot".parse().unwrap(),
        scenario: "al2/joins".parse().unwrap(),
        name: format!("a node joins {HOSTILE}"),
        file: "al2/joins.yaml".to_owned(),
        source: Default::default(),
        outcome: Outcome::Failed,
        started: "2026-11-23T01:00:00Z".to_owned(),
        seconds: 12.34,
        command: format!("nodejoin run {HOSTILE}"),
        versions: BTreeMap::from([("nodejoin".to_owned(), "0.1.0".to_owned())]),
        files: vec![IndexedFile {
            path: format!("node/logs/tmp/{HOSTILE}.log"),
            bytes: 3,
            what: "a log".to_owned(),
        }],
    }
}

fn verdict() -> Verdict {
    let mut verdict = verdict_without_observation(Outcome::Failed);
    let check = |key: &str, held| Check {
        key: key.to_owned(),
        held,
        expected: HOSTILE.to_owned(),
        seen: HOSTILE.to_owned(),
    };
    verdict.checks = vec![check("node.name", true), check("phase", false)];
    verdict.phases = BTreeMap::from([(Phase::Booted, 1100), (Phase::Ready, 9000)]);
    verdict.notes = vec![Note {
        kind: NoteKind::CommandFailed,
        what: HOSTILE.to_owned(),
    }];
    verdict
}

/// The page of a scenario whose journal is hostile.
fn page() -> String {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    write(INDEX, serde_json::to_string(&index()).unwrap());
    write("verdict.json", serde_json::to_string(&verdict()).unwrap());
    let message = serde_json::to_string(HOSTILE).unwrap();
    write(
        "timeline.ndjson",
        format!(
            "{{\"at\":20,\"kind\":\"journal\",\"unit\":\"cloud-final.service\",\"command\":\"cloud-init\",\"by_systemd\":false,\"message\":{message}}}\n\
             {{\"at\":10,\"kind\":\"dns\",\"name\":\"sts.amazonaws.com\",\"record\":\"A\",\"answered\":false}}\nhalf a li"
        ),
    );
    write_scenario(folder.path()).unwrap();
    fs::read_to_string(folder.path().join(PAGE)).unwrap()
}

/// The text between the first occurrence of `start` and the next of `end`.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("no {start}"));
    rest.split_once(end).unwrap_or_else(|| panic!("no {end}")).0
}

#[test]
fn hostile_text_adds_no_element_to_the_page() {
    let html = page();
    assert_eq!(html.matches("<script").count(), 2, "its data and its script");
    assert_eq!(html.matches("</script>").count(), 2);
    assert_eq!(html.matches("<style").count(), 1);
    assert!(!html.contains("<img"), "{html}");
    assert!(
        html.contains("&lt;img") || html.contains("&#60;img"),
        "the text is shown"
    );
}

#[test]
fn the_data_of_the_time_axis_survives_escaping_and_is_in_order() {
    let html = page();
    let data = between(
        &html,
        "<script type=\"application/json\" id=\"data\">",
        "</script>",
    );
    let series: serde_json::Value = serde_json::from_str(data).unwrap();
    let events = series[0]["events"].as_array().unwrap();
    assert_eq!(events.len(), 2, "half a line of a killed run is left out");
    assert_eq!(events[0]["m"], "A sts.amazonaws.com: unknown name");
    assert_eq!((&events[0]["l"], &events[0]["e"]), (&1.into(), &true.into()));
    assert_eq!(events[1]["m"], HOSTILE);
    assert_eq!(events[1]["l"], 4, "a line of the user data");
    assert_eq!(series[0]["phases"][1], serde_json::json!(["ready", 9000]));
}

#[test]
fn the_policy_allows_exactly_the_script_and_the_style_of_the_page() {
    let html = page();
    let policy = between(&html, "Content-Security-Policy\" content=\"", "\">");
    let policy = policy
        .replace("&#39;", "'")
        .replace("&#x27;", "'")
        .replace("&#43;", "+");
    for (name, text) in [
        ("script-src", between(&html, "</script>\n<script>", "</script>")),
        ("style-src", between(&html, "<style>", "</style>")),
    ] {
        let hash = BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()));
        assert!(policy.contains(&format!("{name} 'sha256-{hash}'")), "{policy}");
    }
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    for remote in ["src=\"", "@import", "url(", "fetch(", "http://", "style=\""] {
        let found = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!found.contains(remote), "{remote}");
    }
}

#[test]
fn failed_checks_come_first_and_links_are_encoded() {
    let html = page();
    let failed = html.find("FAIL</span> phase").unwrap();
    let held = html.find("ok</span> node.name").unwrap();
    assert!(failed < held);
    assert!(html.contains("Checks: 1 of 2 failed"));
    let link = between(&html, "<a href=\"node/logs/", "\"");
    assert!(link.starts_with("tmp/%3C/script%3E"), "{link}");
    assert!(html.contains("<li>booted <span>1.1 s</span></li>"));
}

#[test]
fn every_element_that_the_script_uses_exists() {
    let html = page();
    let ids: Vec<&str> = SCRIPT
        .split("$(\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert!(ids.len() > 10, "{ids:?}");
    for id in ids {
        assert!(html.contains(&format!("id=\"{id}\"")), "{id}");
    }
}

#[test]
fn the_page_of_a_run_links_scenarios_with_evidence_and_lists_failures_first() {
    let row = |scenario: &str, outcome: Outcome, folder: Option<&str>| RecordedScenario {
        scenario: scenario.parse().unwrap(),
        name: format!("{scenario} {HOSTILE}"),
        outcome,
        because: None,
        seconds: 1.0,
        folder: folder.map(str::to_owned),
    };
    let record = RunRecord {
        schema: SCHEMA,
        run: "qmshuanwot".parse().unwrap(),
        started: "2026-11-23T01:00:00Z".to_owned(),
        nodejoin: "0.1.0".to_owned(),
        scenarios: vec![
            row("passes", Outcome::Passed, None),
            row("fails@1.36", Outcome::Failed, Some("fails@1.36")),
            row("errs", Outcome::Errored("no engine".to_owned()), Some("errs")),
        ],
    };
    let folder = tempfile::tempdir().unwrap();
    write_run(folder.path(), &record).unwrap();
    let html = fs::read_to_string(folder.path().join(PAGE)).unwrap();
    assert!(!html.contains("<script") && !html.contains("<img"), "{html}");
    assert!(
        html.contains("1 passed, 1 failed, 1 errored, 0 skipped"),
        "{html}"
    );
    assert!(html.contains("href=\"fails%401.36/index.html\""), "{html}");
    assert_eq!(html.matches("<a href").count(), 2);
    assert!(html.find("fails@1.36").unwrap() < html.find("passes").unwrap());
    assert!(html.contains("no engine"));
}
