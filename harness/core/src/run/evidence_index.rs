//! The index of the evidence of a scenario, `index.json`, and the record of a run, `run.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::verdict::Outcome;
use crate::plan::sources::SourceLine;
use crate::vocabulary::ids::{RunId, ScenarioId};

/// The version of both formats. A new key does not change it; a key that disappears or changes its meaning does.
pub const SCHEMA: u32 = 1;
/// Name of the index.
pub const INDEX: &str = "index.json";
/// Name of the record of a run.
pub const RUN: &str = "run.json";

/// Files of the evidence by their name or first folder, with their content.
pub const FILES: &[(&str, &str)] = &[
    (
        "explain.txt",
        "outcome, phases, diagnosis and failed checks as text",
    ),
    ("verdict.json", "outcome, phases, diagnosis and every check"),
    ("plan.json", "the scenario with all defaults"),
    ("timeline.ndjson", "every event in order"),
    ("timeline-then-", "every event of a step after the join"),
    ("aws.ndjson", "AWS calls and DNS queries"),
    ("authentication.ndjson", "token reviews"),
    (
        "audit.ndjson",
        "requests of the node in the API server's audit log",
    ),
    ("node.json", "the Node object"),
    ("certificates.json", "certificate signing requests"),
    ("deviations.json", "differences between the node and the AMI"),
    ("collected.json", "what the node reported at the end"),
    ("control-plane.log", "logs of the control plane"),
    (
        "user-data/user-data.txt",
        "the user data as the instance received it, decompressed",
    ),
    ("user-data/parts/", "a part of the user data"),
    ("node/scripts/", "a script of the user data as it ran"),
    ("node/logs/", "a log that was written in the node"),
    ("node/files/", "a file of the node"),
    ("node/pods/", "the log of a container"),
    ("node/versions.txt", "versions of programs in the node"),
    ("node/journal.log", "the journal"),
    ("node/", "state of the node at the end"),
];

/// The content of the folder of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceIndex {
    /// [`SCHEMA`].
    pub schema: u32,
    pub run: RunId,
    pub scenario: ScenarioId,
    /// The sentence that describes the scenario.
    pub name: String,
    /// Path of the scenario file.
    pub file: String,
    /// The position that the verdict refers to.
    #[serde(default)]
    pub source: SourceLine,
    #[serde(flatten)]
    pub outcome: Outcome,
    /// When the scenario started, in RFC 3339.
    pub started: String,
    pub seconds: f64,
    /// The command that runs the scenario again.
    pub command: String,
    /// Versions by program: nodejoin, kubernetes, kubelet, containerd, systemd, cloud-init, engine and others.
    pub versions: BTreeMap<String, String>,
    /// In the order of their paths.
    pub files: Vec<IndexedFile>,
}

/// A file of the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IndexedFile {
    /// Path below the folder of the scenario.
    pub path: String,
    pub bytes: u64,
    /// What the file contains.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
}

/// The record of a run: it marks a folder as that of a run, and lists its scenarios.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// [`SCHEMA`].
    pub schema: u32,
    pub run: RunId,
    /// When the run started, in RFC 3339.
    pub started: String,
    /// Version of nodejoin.
    pub nodejoin: String,
    /// In the order in which they finished.
    pub scenarios: Vec<RecordedScenario>,
}

/// A scenario that has finished.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedScenario {
    pub scenario: ScenarioId,
    pub name: String,
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The diagnosis in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    pub seconds: f64,
    /// Name of the folder with its evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// What a file of the evidence contains, by its path; empty for an unknown file. The evidence of one node among several
/// has the node's name before the path.
#[must_use]
pub fn describe(path: &str) -> &'static str {
    let of = |path: &str| {
        let matches = |name: &str| path == name || (name.ends_with(['/', '-']) && path.starts_with(name));
        let found = FILES.iter().find(|(name, _)| matches(name));
        found.map(|(_, what)| *what)
    };
    let below_a_node = || path.split_once('/').and_then(|(_, rest)| of(rest));
    of(path).or_else(below_a_node).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_described_by_its_name_its_folder_and_below_a_node() {
        assert_eq!(describe("node.json"), "the Node object");
        assert_eq!(
            describe("timeline-then-0.ndjson"),
            "every event of a step after the join"
        );
        assert_eq!(
            describe("node/scripts/part-001"),
            "a script of the user data as it ran"
        );
        assert_eq!(describe("ip-10-0-0-1/node/journal.log"), "the journal");
        assert_eq!(describe("notes.txt"), "");
    }

    #[test]
    fn the_guide_lists_every_file_of_the_index() {
        let guide = include_str!("../../../../docs/src/guide/evidence.md");
        for (name, _) in FILES {
            let shown = name.trim_end_matches('-');
            // A folder can stand for its files.
            let is_listed = guide.contains(&format!("`{shown}"))
                || guide.contains("`node/`") && name.starts_with("node/");
            assert!(is_listed, "{name} is missing in docs/src/guide/evidence.md");
        }
        assert!(guide.contains(&format!("`{INDEX}`")) && guide.contains(&format!("`{RUN}`")));
    }

    #[test]
    fn an_index_has_its_outcome_and_reason_beside_the_other_keys() {
        let record = RecordedScenario {
            scenario: "al2/x".parse().unwrap(),
            name: "x".to_owned(),
            outcome: Outcome::Errored("no engine".to_owned()),
            because: None,
            seconds: 1.5,
            folder: Some("al2.x".to_owned()),
        };
        let json = serde_json::to_value(&record).unwrap();
        assert_eq!(json["outcome"], "errored");
        assert_eq!(json["reason"], "no engine");
        assert_eq!(serde_json::from_value::<RecordedScenario>(json).unwrap(), record);
    }
}
