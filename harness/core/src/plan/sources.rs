//! Maps the contents of a plan to lines of the files that they come from.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::input::problem::Position;

/// A line of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceLine {
    /// Path of the file.
    pub file: String,
    /// Line number from 1; `None`: the whole file.
    pub line: Option<u64>,
}

/// Positions of the contents of a plan in the user's files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sources {
    /// Lines of the scenario file by key path below `expect`, such as `node.labels.team`; the empty path is `expect`
    /// itself.
    pub expect: BTreeMap<String, u64>,
    /// Scripts of the user data.
    pub scripts: Vec<ScriptSource>,
    /// Positions of registry images, by key path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub images: BTreeMap<String, Position>,
}

impl Sources {
    /// Whether there are no positions, as in a plan without a file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.expect.is_empty() && self.scripts.is_empty() && self.images.is_empty()
    }

    /// The line of the deepest key of `expect` that contains the key of a check.
    pub(crate) fn of_check(&self, key: &str) -> Option<u64> {
        let leads = |path: &str| {
            key.strip_prefix(path)
                .is_some_and(|rest| path.is_empty() || rest.is_empty() || rest.starts_with(['.', '[', '=']))
        };
        let deepest = self.expect.iter().filter(|(path, _)| leads(path));
        deepest.max_by_key(|(path, _)| path.len()).map(|(_, line)| *line)
    }
}

/// Maps the lines of a patched text to the lines of the original file and of the patch file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct LineMap(Vec<LineRun>);

/// Consecutive lines of a patched text that are consecutive lines of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
struct LineRun {
    /// The first line in the patched text, from 1. The run ends where the next one begins.
    first: u64,
    file: String,
    /// The line of `file` that is the first of the run.
    line: u64,
}

impl LineMap {
    /// Appends a line: line `number` of the text is line `line` of `file`.
    pub(crate) fn push(&mut self, number: u64, file: String, line: u64) {
        let continues = self
            .0
            .last()
            .is_some_and(|run| run.file == file && run.line + (number - run.first) == line);
        if !continues {
            self.0.push(LineRun {
                first: number,
                file,
                line,
            });
        }
    }

    /// The file and line that a line of the patched text comes from.
    #[must_use]
    pub fn source(&self, number: u64) -> Option<SourceLine> {
        let run = self.0.iter().rev().find(|run| run.first <= number)?;
        Some(SourceLine {
            file: run.file.clone(),
            line: Some(run.line + (number - run.first)),
        })
    }
}

/// Position of a script of the user data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptSource {
    /// Name of the part, as cloud-init assigns it.
    pub name: String,
    /// File that contains the script: the scenario file, or a file that it names.
    pub file: String,
    /// Line number of the first line of the script; in the patched text if there is a patch.
    pub line: u64,
    /// Maps lines of the patched text to the file and its patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patched: Option<LineMap>,
}
