//! Reads records of runs, their evidence indexes and JUnit reports, and refuses what it cannot understand.

use std::fs;
use std::path::{Path, PathBuf};

use nodejoin_core::run::evidence_index::{EvidenceIndex, INDEX, RUN, RunRecord, SCHEMA};
use nodejoin_core::run::shard::Shard;
use quick_junit::Report;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::MergeError;
use super::runs::{MergedRuns, MergedScenario};
use crate::page::PAGE;
use crate::report::junit::{self, JunitCase};
use crate::report::text;

const GIVE: &str =
    "give folders with evidence of runs, `run.json` files, or reports of `nodejoin run --junit`";

impl MergedRuns {
    /// Reads files, and all records and reports below folders.
    ///
    /// # Errors
    /// When a file is missing, broken, of another program or of a newer version, or a folder has nothing to join.
    pub fn read(paths: &[PathBuf]) -> Result<Self, MergeError> {
        let mut merged = Self::default();
        for path in paths {
            add(&mut merged, path)?;
        }
        Ok(merged)
    }
}

/// Adds a file, or everything below a folder.
fn add(merged: &mut MergedRuns, path: &Path) -> Result<(), MergeError> {
    if !path.is_dir() {
        return add_file(merged, path);
    }
    let mut files = Vec::new();
    find(path, &mut files)?;
    if files.is_empty() {
        return Err(refused(path, "no record and no report of a run", GIVE));
    }
    files.iter().try_for_each(|file| add_file(merged, file))
}

/// Records and JUnit reports of nodejoin below a folder. Links are not followed: `latest` leads to a run that is found
/// anyway.
fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), MergeError> {
    let unreadable =
        |error: std::io::Error| refused(folder, format!("cannot read the folder: {error}"), GIVE);
    let mut entries = fs::read_dir(folder)
        .map_err(unreadable)?
        .collect::<Result<Vec<_>, _>>()
        .map_err(unreadable)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type().map_err(unreadable)?);
        if kind.is_dir() {
            // The evidence of a scenario, whose files are those of its node.
            if !path.join(INDEX).exists() {
                find(&path, files)?;
            }
        } else if kind.is_file() && (entry.file_name() == RUN || is_report(&path)) {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether an XML file is a report of nodejoin, also a broken one.
fn is_report(path: &Path) -> bool {
    let is_xml = path.extension().is_some_and(|extension| extension == "xml");
    let mark = format!("<testsuites name=\"{}\"", junit::NAME);
    is_xml && fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(&mark))
}

fn add_file(merged: &mut MergedRuns, path: &Path) -> Result<(), MergeError> {
    let text = read(path)?;
    match text.trim_start().starts_with('<') {
        true => add_junit(merged, path, &text),
        false => add_record(merged, path, &text),
    }
}

fn add_record(merged: &mut MergedRuns, path: &Path, text: &str) -> Result<(), MergeError> {
    let record: RunRecord = json(path, text, "a record of a run")?;
    let folder = path.parent().unwrap_or(Path::new(""));
    merged.runs.insert(record.run.to_string());
    for one in record.scenarios {
        let evidence = one.folder.as_ref().map(|name| folder.join(name));
        let mut command = None;
        let index = evidence.as_ref().map(|evidence| evidence.join(INDEX));
        // A CI system may keep only the record.
        if let Some(index) = index.filter(|index| index.exists()) {
            let found: EvidenceIndex = json(&index, &read(&index)?, "an index of evidence")?;
            command = Some(found.command);
        }
        let reason = text::reason(&one.outcome).map(str::to_owned);
        let found = MergedScenario {
            name: one.name,
            because: one.because.or(reason),
            outcome: one.outcome,
            seconds: one.seconds,
            page: evidence
                .map(|folder| folder.join(PAGE))
                .filter(|page| page.exists()),
            command,
            case: None,
        };
        merged.add(record.run.as_str(), one.scenario, found);
    }
    Ok(())
}

fn add_junit(merged: &mut MergedRuns, path: &Path, text: &str) -> Result<(), MergeError> {
    let report = Report::deserialize_from_str(text).map_err(|error| {
        refused(
            path,
            format!("invalid JUnit report: {error}"),
            "write it again, or leave it out",
        )
    })?;
    if report.name.as_str() != junit::NAME {
        let what = format!("a JUnit report of `{}`, not of nodejoin", report.name.as_str());
        return Err(refused(path, what, GIVE));
    }
    for suite in report.test_suites {
        let property = |name: &str| junit::property(&suite.properties, name);
        if let Some(schema) = property(junit::SCHEMA).and_then(|text| text.parse().ok()) {
            check_schema(path, schema)?;
        }
        // Reports of versions that did not write it.
        let run = property(junit::RUN).map_or_else(|| path.display().to_string(), str::to_owned);
        merged
            .shards
            .extend(property(junit::SHARD).and_then(|shard| shard.parse::<Shard>().ok()));
        merged.runs.insert(run.clone());
        for case in suite.test_cases {
            let one = JunitCase::of(&case)
                .map_err(|what| refused(path, what, "write it again, or leave it out"))?;
            let found = MergedScenario {
                name: one.name,
                outcome: one.outcome,
                because: one.because,
                seconds: one.seconds,
                page: None,
                command: None,
                case: Some(case),
            };
            merged.add(&run, one.scenario, found);
        }
    }
    Ok(())
}

/// What every version of a format has.
#[derive(Deserialize)]
struct SchemaNumber {
    schema: u32,
}

fn json<T: DeserializeOwned>(path: &Path, text: &str, what: &str) -> Result<T, MergeError> {
    let invalid = |error: serde_json::Error| {
        refused(
            path,
            format!("not {what}: {error}"),
            "leave it out, or run its scenarios again",
        )
    };
    // First: a newer format may lack keys of this one.
    let found: SchemaNumber = serde_json::from_str(text).map_err(invalid)?;
    check_schema(path, found.schema)?;
    serde_json::from_str(text).map_err(invalid)
}

fn check_schema(path: &Path, schema: u32) -> Result<(), MergeError> {
    if schema <= SCHEMA {
        return Ok(());
    }
    let what = format!("the format has version {schema}, this program reads up to {SCHEMA}");
    Err(refused(path, what, "use the version of nodejoin that wrote it"))
}

fn read(path: &Path) -> Result<String, MergeError> {
    fs::read_to_string(path).map_err(|error| refused(path, format!("cannot read the file: {error}"), GIVE))
}

fn refused(path: &Path, what: impl Into<String>, hint: &str) -> MergeError {
    MergeError {
        path: path.to_owned(),
        what: what.into(),
        hint: hint.to_owned(),
    }
}
