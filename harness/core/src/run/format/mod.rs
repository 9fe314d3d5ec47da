//! The JSON formats that nodejoin writes, with their schemas.
//!
//! Each schema has a version. Within a version, a key that is always there stays, its type stays, and its words keep
//! their meaning; keys and words are added. `docs/src/schemas/vN` has the schemas of each version, and a test compares
//! them with the types.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::event::RunEvent;
use super::evidence_index::{EvidenceIndex, RunRecord, SCHEMA};
use crate::judge::verdict::Verdict;
use crate::plan::Plan;

#[cfg(test)]
mod promise;

/// The version of the schemas, which the index of the evidence states.
pub const VERSION: u32 = SCHEMA;

/// A JSON format that nodejoin writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonFormat {
    /// A line of `run --format json`.
    Event,
    /// `verdict.json` of the evidence, and `verdict` in an event.
    Verdict,
    /// `plan.json` of the evidence, and the output of `plan`.
    Plan,
    /// `index.json` of the evidence.
    EvidenceIndex,
    /// `run.json` of a run's folder.
    RunRecord,
}

impl JsonFormat {
    /// All formats.
    pub const ALL: [Self; 5] = [
        Self::Event,
        Self::Verdict,
        Self::Plan,
        Self::EvidenceIndex,
        Self::RunRecord,
    ];

    /// Its name, such as `evidence-index`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Verdict => "verdict",
            Self::Plan => "plan",
            Self::EvidenceIndex => "evidence-index",
            Self::RunRecord => "run-record",
        }
    }

    /// Where it is written.
    #[must_use]
    pub fn what(self) -> &'static str {
        match self {
            Self::Event => "A line of `run --format json`",
            Self::Verdict => "`verdict.json` of the evidence, and the key `verdict` of an event",
            Self::Plan => "`plan.json` of the evidence, and the output of `nodejoin plan`",
            Self::EvidenceIndex => "`index.json` of the evidence",
            Self::RunRecord => "`run.json` in the folder of a run",
        }
    }

    /// Its JSON schema.
    #[must_use]
    pub fn schema(self) -> Value {
        let mut schema = match self {
            Self::Event => written::<RunEvent>(),
            Self::Verdict => written::<Verdict>(),
            Self::Plan => written::<Plan>(),
            Self::EvidenceIndex => written::<EvidenceIndex>(),
            Self::RunRecord => written::<RunRecord>(),
        };
        if let Some(object) = schema.as_object_mut() {
            let title = format!("nodejoin {}, version {VERSION}", self.name());
            object.insert("title".to_owned(), title.into());
        }
        schema
    }
}

/// The schema of what is written.
fn written<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}
