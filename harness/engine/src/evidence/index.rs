//! Writes `index.json` from what the folder of a scenario contains.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use nodejoin_core::judge::blame;
use nodejoin_core::judge::verdict::Verdict;
use nodejoin_core::plan::Plan;
use nodejoin_core::run::evidence_index::{EvidenceIndex, INDEX, IndexedFile, SCHEMA, describe};
use nodejoin_core::vocabulary::ids::RunId;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::page::PAGE;

/// Where a node writes the versions of its programs, a line each: `containerd: 1.6.20`.
const NODE_VERSIONS: &str = "node/versions.txt";

/// A scenario whose evidence is complete.
pub(crate) struct FinishedScenario<'a> {
    pub(crate) run: &'a RunId,
    pub(crate) plan: &'a Plan,
    pub(crate) verdict: &'a Verdict,
    pub(crate) started: SystemTime,
    pub(crate) seconds: f64,
    pub(crate) command: String,
    /// Versions of nodejoin and of the container engine.
    pub(crate) versions: BTreeMap<String, String>,
}

/// Writes the index of a folder and returns it.
pub(crate) fn write_index(folder: &Path, finished: &FinishedScenario<'_>) -> io::Result<EvidenceIndex> {
    let mut files = Vec::new();
    list(folder, "", &mut files)?;
    files.sort_by(|left, right| left.path.cmp(&right.path));
    let mut versions = finished.versions.clone();
    if let Some(ran) = &finished.verdict.versions {
        versions.insert("kubernetes".to_owned(), ran.kubernetes.clone());
        versions.insert("kubelet".to_owned(), ran.kubelet.clone());
    }
    versions.extend(node_versions(folder, &files));
    let index = EvidenceIndex {
        schema: SCHEMA,
        run: finished.run.clone(),
        scenario: finished.plan.id.clone(),
        name: finished.plan.name.clone(),
        file: finished.plan.file.clone(),
        source: blame::locate(finished.plan, finished.verdict),
        outcome: finished.verdict.outcome.clone(),
        started: rfc3339(finished.started),
        seconds: finished.seconds,
        command: finished.command.clone(),
        versions,
        files,
    };
    let text = serde_json::to_string_pretty(&index)?;
    fs::write(folder.join(INDEX), nodejoin_core::redact::redact(&text))?;
    Ok(index)
}

/// A time of this run, in seconds.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time);
    let time = time.replace_nanosecond(0).unwrap_or(time);
    time.format(&Rfc3339).unwrap_or_default()
}

/// Adds all regular files below a folder. Links are not followed.
fn list(folder: &Path, prefix: &str, files: &mut Vec<IndexedFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            list(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() && path != INDEX && path != PAGE {
            files.push(IndexedFile {
                bytes: entry.metadata()?.len(),
                what: describe(&path).to_owned(),
                path,
            });
        }
    }
    Ok(())
}

/// The versions that the first node wrote.
fn node_versions(folder: &Path, files: &[IndexedFile]) -> BTreeMap<String, String> {
    let file = files.iter().find(|file| file.path.ends_with(NODE_VERSIONS));
    let text = file.and_then(|file| fs::read_to_string(folder.join(&file.path)).ok());
    let text = text.unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(": "));
    lines
        .filter(|(_, version)| !version.trim().is_empty())
        .map(|(name, version)| (name.to_owned(), version.trim().to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use nodejoin_core::judge::verdict::Outcome;

    use super::*;
    use crate::testing::plan;
    use crate::verdict::verdict_without_observation;

    #[test]
    fn the_index_lists_every_file_with_size_and_content_and_the_versions_of_the_node() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("node")).unwrap();
        fs::write(folder.path().join("verdict.json"), "{}").unwrap();
        let versions = "containerd: 1.6.20\nsystemd: 252\ncloud-init: \n";
        fs::write(folder.path().join(NODE_VERSIONS), versions).unwrap();
        let plan = plan("name: a node joins\n");
        let run = "qmshuanwot".parse().unwrap();
        let finished = FinishedScenario {
            run: &run,
            plan: &plan,
            verdict: &verdict_without_observation(Outcome::Errored("no engine".to_owned())),
            started: SystemTime::UNIX_EPOCH,
            seconds: 2.0,
            command: "nodejoin run x.yaml".to_owned(),
            versions: BTreeMap::from([("nodejoin".to_owned(), "0.1.0".to_owned())]),
        };
        let index = write_index(folder.path(), &finished).unwrap();
        let names: Vec<_> = index.versions.keys().map(String::as_str).collect();
        assert_eq!(names, ["containerd", "nodejoin", "systemd"]);
        let files: Vec<_> = index
            .files
            .iter()
            .map(|file| (file.path.as_str(), file.bytes, file.what.as_str()))
            .collect();
        assert_eq!(
            files,
            [
                ("node/versions.txt", 45, "versions of programs in the node"),
                ("verdict.json", 2, "outcome, phases, diagnosis and every check"),
            ]
        );
        let text = fs::read_to_string(folder.path().join(INDEX)).unwrap();
        let read: EvidenceIndex = serde_json::from_str(&text).unwrap();
        assert_eq!(read, index);
        assert_eq!((read.schema, read.started.as_str()), (1, "1970-01-01T00:00:00Z"));
    }
}
