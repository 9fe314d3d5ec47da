//! The pages of the evidence, `index.html`: one of a scenario, and one of a run. Each is one file without network.
//!
//! User data is hostile text. The templates escape it, the data for the script cannot close its element, and the page
//! forbids every script except its own by its content security policy.

pub(crate) mod comparison;
mod events;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::Path;

use askama::Template;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nodejoin_core::diagnosis::Diagnosis;
use nodejoin_core::judge::verdict::{Check, Outcome, Verdict};
use nodejoin_core::observation::Deviation;
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::run::event::Summary;
use nodejoin_core::run::evidence_index::{EvidenceIndex, INDEX, IndexedFile, RunRecord};
use sha2::{Digest as _, Sha256};

use crate::report::text::{self, outcome_word, reason};

/// Name of both pages.
pub(crate) const PAGE: &str = "index.html";

pub(crate) const STYLE: &str = include_str!("../../templates/page.css");
const SCRIPT: &str = include_str!("../../templates/page.js");

#[derive(Template)]
#[template(path = "scenario.html")]
struct ScenarioPage<'a> {
    policy: String,
    style: &'static str,
    script: &'static str,
    word: &'static str,
    name: &'a str,
    run: &'a str,
    scenario: &'a str,
    started: &'a str,
    seconds: String,
    place: String,
    reason: Option<&'a str>,
    diagnoses: Vec<ShownDiagnosis<'a>>,
    command: &'a str,
    phases: Vec<(&'static str, String)>,
    notes: Vec<&'a str>,
    is_failed: bool,
    checks: Vec<&'a Check>,
    failed_checks: usize,
    versions: Vec<(&'a str, &'a str)>,
    deviations: &'a [Deviation],
    files: Vec<FileLink<'a>>,
    nodejoin: &'a str,
    data: String,
}

struct ShownDiagnosis<'a> {
    /// Name of the step; empty for the join.
    name: &'a str,
    phase: &'static str,
    cause: &'static str,
    because: &'a str,
    seen: &'a str,
    remedy: &'a str,
}

struct FileLink<'a> {
    path: &'a str,
    link: String,
    bytes: u64,
    what: &'a str,
}

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage<'a> {
    policy: String,
    style: &'static str,
    run: &'a str,
    started: &'a str,
    counts: String,
    scenarios: Vec<RunPageRow<'a>>,
    nodejoin: &'a str,
}

pub(crate) struct RunPageRow<'a> {
    pub(crate) word: &'static str,
    pub(crate) scenario: &'a str,
    pub(crate) name: &'a str,
    pub(crate) seconds: String,
    pub(crate) because: &'a str,
    pub(crate) link: Option<String>,
}

/// Writes the page of a scenario from the files of its folder, from which credentials are removed.
pub(crate) fn write_scenario(folder: &Path) -> io::Result<()> {
    let index: EvidenceIndex = serde_json::from_str(&fs::read_to_string(folder.join(INDEX))?)?;
    let verdict: Verdict = serde_json::from_str(&fs::read_to_string(folder.join("verdict.json"))?)?;
    let data = serde_json::to_string(&events::series(folder, &verdict))?;
    let page = scenario_page(&index, &verdict, &data);
    fs::write(folder.join(PAGE), page.render().map_err(io::Error::other)?)
}

/// Writes the page of a run, which links those of its scenarios.
pub(crate) fn write_run(folder: &Path, record: &RunRecord) -> io::Result<()> {
    let html = run_page(record).render().map_err(io::Error::other)?;
    fs::write(folder.join(PAGE), html)
}

fn scenario_page<'a>(index: &'a EvidenceIndex, verdict: &'a Verdict, data: &str) -> ScenarioPage<'a> {
    let mut phases: Vec<_> = verdict.phases.iter().collect();
    phases.sort_by_key(|(_, at)| **at);
    // Failed checks come first.
    let mut checks: Vec<&Check> = verdict.checks.iter().collect();
    checks.sort_by_key(|check| check.held);
    let parts = verdict
        .parts
        .iter()
        .map(|part| (part.name.as_str(), &part.diagnosis));
    let diagnoses = [("", &verdict.diagnosis)].into_iter().chain(parts);
    ScenarioPage {
        policy: policy(),
        style: STYLE,
        script: SCRIPT,
        word: outcome_word(&verdict.outcome),
        name: &index.name,
        run: index.run.as_str(),
        scenario: index.scenario.as_str(),
        started: &index.started,
        seconds: format!("{:.1}", index.seconds),
        place: place(index),
        reason: reason(&verdict.outcome),
        diagnoses: diagnoses
            .filter_map(|(name, diagnosis)| Some(shown_diagnosis(name, diagnosis.as_ref()?)))
            .collect(),
        command: &index.command,
        phases: phases
            .into_iter()
            .map(|(phase, at)| (phase.word(), format!("{:.1}", *at as f64 / 1000.0)))
            .collect(),
        notes: verdict.notes.iter().map(|note| note.what.as_str()).collect(),
        is_failed: verdict.outcome == Outcome::Failed,
        failed_checks: checks.iter().filter(|check| !check.held).count(),
        checks,
        versions: index
            .versions
            .iter()
            .map(|(name, version)| (name.as_str(), version.as_str()))
            .collect(),
        deviations: &verdict.deviations,
        files: index.files.iter().map(file_link).collect(),
        nodejoin: index.versions.get("nodejoin").map_or("", String::as_str),
        data: for_script(data),
    }
}

fn run_page(record: &RunRecord) -> RunPage<'_> {
    let mut summary = Summary::default();
    let mut scenarios = Vec::new();
    for one in &record.scenarios {
        summary.count(&one.outcome);
        scenarios.push(RunPageRow {
            word: outcome_word(&one.outcome),
            scenario: one.scenario.as_str(),
            name: &one.name,
            seconds: format!("{:.1}", one.seconds),
            because: one
                .because
                .as_deref()
                .or(reason(&one.outcome))
                .unwrap_or_default(),
            link: one
                .folder
                .as_deref()
                .map(|folder| format!("{}/{PAGE}", url_path(folder))),
        });
    }
    scenarios.sort_by_key(|row| row.word == "passed");
    RunPage {
        policy: policy(),
        style: STYLE,
        run: record.run.as_str(),
        started: &record.started,
        counts: text::counts(&summary),
        scenarios,
        nodejoin: &record.nodejoin,
    }
}

fn shown_diagnosis<'a>(name: &'a str, diagnosis: &'a Diagnosis) -> ShownDiagnosis<'a> {
    ShownDiagnosis {
        name,
        phase: diagnosis.phase.map_or("none", Phase::word),
        cause: diagnosis.cause.word(),
        because: &diagnosis.because,
        seen: &diagnosis.seen,
        remedy: &diagnosis.remedy,
    }
}

fn file_link(file: &IndexedFile) -> FileLink<'_> {
    FileLink {
        path: &file.path,
        link: url_path(&file.path),
        bytes: file.bytes,
        what: &file.what,
    }
}

/// A relative path as a link. A name of a file can contain any character.
pub(crate) fn url_path(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./~".contains(&byte);
    let encoded = path.bytes().map(|byte| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    encoded.collect()
}

fn place(index: &EvidenceIndex) -> String {
    let file = if index.source.file.is_empty() {
        &index.file
    } else {
        &index.source.file
    };
    match index.source.line {
        Some(line) => format!("{file}:{line}"),
        None => file.clone(),
    }
}

/// JSON that cannot end the element that contains it.
fn for_script(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

/// Allows the style and the script of the page, and nothing else.
pub(crate) fn policy() -> String {
    let hash = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}
