//! The folder of evidence of one scenario. Everything in it went through redaction.

use std::path::{Path, PathBuf};

use nodejoin_core::judge::verdict::Verdict;
use nodejoin_core::observation::{Observation, ObservedEvent};
use nodejoin_core::plan::Plan;
use nodejoin_core::run::redact::redact;
use nodejoin_node::Node;
use serde::Serialize;

use crate::error::EngineError;
use crate::ground::Ground;
use crate::report::text;

/// The folder of one scenario.
#[derive(Debug)]
pub(crate) struct Evidence {
    pub(crate) folder: PathBuf,
}

impl Evidence {
    /// Where the evidence of a plan goes, below the run's folder.
    pub(crate) fn folder_of(run: &Path, plan: &Plan) -> PathBuf {
        run.join(plan.id.as_str().replace('/', "."))
    }

    /// Makes the folder below the run's.
    pub(crate) fn begin(run: &Path, plan: &Plan) -> Result<Self, EngineError> {
        let folder = Self::folder_of(run, plan);
        std::fs::create_dir_all(&folder).map_err(|source| EngineError::Write {
            path: folder.clone(),
            source,
        })?;
        Ok(Self { folder })
    }

    /// The folder of one node among many, below the scenario's.
    pub(crate) fn of_node(&self, name: &str) -> Result<Self, EngineError> {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder).map_err(|source| EngineError::Write {
            path: folder.clone(),
            source,
        })?;
        Ok(Self { folder })
    }

    /// Where the timeline is written while the join goes on; that of a step has its place in its name, from 0.
    pub(crate) fn timeline(&self, step: Option<usize>) -> PathBuf {
        match step {
            None => self.folder.join("timeline.ndjson"),
            Some(step) => self.folder.join(format!("timeline-then-{step}.ndjson")),
        }
    }

    /// Writes what a person needs to find out why: verdict, plan, objects, transcripts, logs.
    pub(crate) async fn write(
        &self,
        ground: &Ground,
        plan: &Plan,
        node: &Node,
        verdict: &Verdict,
        observation: &Observation,
    ) -> Result<(), EngineError> {
        self.text("explain.txt", &text::scenario(&plan.name, verdict, 0.0, None))?;
        self.json("verdict.json", verdict)?;
        self.json("plan.json", plan)?;
        self.json("node.json", &observation.node)?;
        self.json("certificates.json", &observation.certificates)?;
        self.json("deviations.json", &observation.deviations)?;
        self.json("collected.json", &observation.collected)?;
        self.lines("aws.ndjson", observation, |what| {
            matches!(what, ObservedEvent::Aws(_) | ObservedEvent::Dns(_))
        })?;
        self.lines("authentication.ndjson", observation, |what| {
            matches!(what, ObservedEvent::Authentication(_))
        })?;
        self.lines("audit.ndjson", observation, |what| {
            matches!(what, ObservedEvent::Audit(_))
        })?;
        // Best effort, part by part: a node that is half gone still has something to tell.
        if let Err(error) = node.evidence(&self.folder.join("node"), &redact).await {
            self.text("node-evidence-error.txt", &error.to_string())?;
        }
        self.text("control-plane.log", &ground.control_plane.logs().await)
    }

    /// Removes the folder of a scenario that passed.
    pub(crate) fn drop_folder(&self) {
        // Left-over evidence of a passed scenario is no reason to fail it.
        let _ = std::fs::remove_dir_all(&self.folder);
    }

    fn lines(
        &self,
        name: &str,
        seen: &Observation,
        wanted: fn(&ObservedEvent) -> bool,
    ) -> Result<(), EngineError> {
        let lines = seen.timeline.iter().filter(|seen| wanted(&seen.what));
        let text: Vec<String> = lines
            .filter_map(|seen| serde_json::to_string(seen).ok())
            .collect();
        self.text(name, &text.join("\n"))
    }

    fn json<T: Serialize>(&self, name: &str, value: &T) -> Result<(), EngineError> {
        let text = serde_json::to_string_pretty(value).unwrap_or_else(|error| error.to_string());
        self.text(name, &text)
    }

    fn text(&self, name: &str, text: &str) -> Result<(), EngineError> {
        let path = self.folder.join(name);
        let write = || {
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::write(&path, redact(text))
        };
        write().map_err(|source| EngineError::Write {
            path: path.clone(),
            source,
        })
    }
}
