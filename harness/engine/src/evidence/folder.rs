//! The folder of a scenario, and the files about its verdict and its observation.
//!
//! A file that cannot be written is a line of the report, never a reason to change the verdict.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use nodejoin_core::judge::verdict::Verdict;
use nodejoin_core::observation::{Observation, ObservedEvent};
use nodejoin_core::plan::Plan;
use nodejoin_core::redact::redact_lines;
use serde::Serialize;

use crate::error::EngineError;
use crate::report::text;

/// A file of the evidence: its name and its text.
pub(crate) type EvidenceFile = (&'static str, String);

/// A folder for evidence, of a scenario or of one of its nodes.
#[derive(Debug, Clone)]
pub(crate) struct EvidenceFolder {
    pub(crate) path: PathBuf,
    created: Instant,
}

impl EvidenceFolder {
    /// The path for the evidence of a plan, below the run's folder.
    pub(crate) fn path_for(run: &Path, plan: &Plan) -> PathBuf {
        run.join(plan.id.as_str().replace('/', "."))
    }

    /// Creates the folder of a scenario below the run's.
    pub(crate) fn create(run: &Path, plan: &Plan) -> Result<Self, EngineError> {
        Self::create_at(Self::path_for(run, plan))
    }

    /// Creates the folder of one node among several, below the scenario's.
    pub(crate) fn create_for_node(&self, name: &str) -> Result<Self, EngineError> {
        Self::create_at(self.path.join(name))
    }

    fn create_at(path: PathBuf) -> Result<Self, EngineError> {
        std::fs::create_dir_all(&path).map_err(|source| EngineError::Write {
            path: path.clone(),
            source,
        })?;
        Ok(Self::new(path))
    }

    /// The folder of a scenario that starts now.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            created: Instant::now(),
        }
    }

    /// Seconds since the folder was created, which is when its scenario started.
    pub(crate) fn age(&self) -> f64 {
        self.created.elapsed().as_secs_f64()
    }

    /// The file that the timeline of the join, or of a step by its index, is appended to.
    pub(crate) fn timeline(&self, step: Option<usize>) -> PathBuf {
        match step {
            None => self.path.join("timeline.ndjson"),
            Some(step) => self.path.join(format!("timeline-then-{step}.ndjson")),
        }
    }

    /// Writes every file. Returns a line for each one that could not be written.
    pub(crate) fn write(&self, files: impl IntoIterator<Item = (impl AsRef<str>, String)>) -> Vec<String> {
        let failed = files.into_iter().filter_map(|(name, text)| {
            let error = self.write_one(name.as_ref(), &text).err()?;
            Some((name, error))
        });
        failed
            .map(|(name, error)| {
                let path = self.path.join(name.as_ref());
                format!("could not write the evidence `{}`: {error}", path.display())
            })
            .collect()
    }

    fn write_one(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.path.join(name);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(path, redact_lines(text))
    }

    /// Removes the folder of a scenario that passed.
    pub(crate) fn remove(&self) {
        // Evidence that remains must not fail a passed scenario.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// What the harness decided, and from which plan.
pub(crate) fn of_verdict(plan: &Plan, verdict: &Verdict, seconds: f64) -> Vec<EvidenceFile> {
    vec![
        (
            "explain.txt",
            text::scenario(&plan.name, verdict, seconds, None) + "\n",
        ),
        ("verdict.json", json(verdict)),
        ("plan.json", json(plan)),
    ]
}

/// What the harness observed of a node.
pub(crate) fn of_observation(observation: &Observation) -> Vec<EvidenceFile> {
    vec![
        ("node.json", json(&observation.node)),
        ("certificates.json", json(&observation.certificates)),
        ("deviations.json", json(&observation.deviations)),
        ("collected.json", json(&observation.collected)),
        (
            "aws.ndjson",
            lines(observation, |what| {
                matches!(what, ObservedEvent::Aws(_) | ObservedEvent::Dns(_))
            }),
        ),
        (
            "authentication.ndjson",
            lines(observation, |what| {
                matches!(what, ObservedEvent::Authentication(_))
            }),
        ),
        (
            "audit.ndjson",
            lines(observation, |what| matches!(what, ObservedEvent::Audit(_))),
        ),
    ]
}

fn lines(observation: &Observation, is_included: fn(&ObservedEvent) -> bool) -> String {
    let events = observation.timeline.iter().filter(|seen| is_included(&seen.what));
    let lines: Vec<String> = events
        .filter_map(|seen| serde_json::to_string(seen).ok())
        .collect();
    lines.join("\n")
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    #[test]
    fn a_file_that_cannot_be_written_is_a_line_and_the_others_are_written() {
        let run = tempfile::tempdir().unwrap();
        let folder = EvidenceFolder::create(run.path(), &plan("name: x\n")).unwrap();
        // A folder in the file's place cannot be overwritten, not even by root.
        std::fs::create_dir(folder.path.join("aws.ndjson")).unwrap();
        let problems = folder.write(of_observation(&Observation::default()));
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(
            problems[0].starts_with("could not write the evidence `")
                && problems[0].contains("aws.ndjson`: "),
            "{problems:?}"
        );
        for name in ["node.json", "audit.ndjson", "collected.json"] {
            assert!(folder.path.join(name).is_file(), "{name}");
        }
    }

    #[test]
    fn written_texts_are_redacted() {
        let run = tempfile::tempdir().unwrap();
        let folder = EvidenceFolder::create(run.path(), &plan("name: x\n")).unwrap();
        let token = format!("k8s-aws-v1.{}", "a".repeat(80));
        assert_eq!(folder.write([("x.txt", token.clone())]), Vec::<String>::new());
        let text = std::fs::read_to_string(folder.path.join("x.txt")).unwrap();
        assert!(text.contains("<redacted>") && !text.contains(&token), "{text}");
    }

    #[test]
    fn the_explanation_has_the_time_of_the_scenario() {
        let verdict =
            crate::verdict::verdict_without_observation(nodejoin_core::judge::verdict::Outcome::Failed);
        let files = of_verdict(&plan("name: x\n"), &verdict, 12.34);
        assert!(files[0].1.starts_with("  FAIL    12.3 s  x\n"), "{}", files[0].1);
    }

    #[test]
    fn a_folder_is_named_after_its_scenario() {
        let mut plan = plan("name: x\n");
        plan.id = "al2/joins".parse().unwrap();
        assert_eq!(
            EvidenceFolder::path_for(Path::new("/run"), &plan),
            Path::new("/run/al2.joins")
        );
        let folder = EvidenceFolder::new("/x".into());
        assert_eq!(folder.timeline(None), Path::new("/x/timeline.ndjson"));
        assert_eq!(folder.timeline(Some(1)), Path::new("/x/timeline-then-1.ndjson"));
    }
}
