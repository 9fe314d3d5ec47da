//! Problems of files that users write, with their positions.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A position in a file. Line and column count from 1; 0 stands for the whole file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Position {
    pub line: u64,
    /// In characters.
    pub column: u64,
}

/// A problem of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Path of the file, as the user gave it.
    pub file: String,
    pub position: Position,
    /// Key path such as `instance.private_ip` or `faults[0].effect`; empty for the whole file.
    pub key: String,
    /// The problem in one sentence.
    pub what: String,
    /// Details or the cause; may be empty.
    pub why: String,
    /// How to solve it.
    pub hint: Option<String>,
}

impl Problem {
    /// How to solve it, if known.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.position.line > 0 {
            write!(f, ":{}:{}", self.position.line, self.position.column)?;
        }
        f.write_str(": ")?;
        if !self.key.is_empty() {
            write!(f, "`{}`: ", self.key)?;
        }
        f.write_str(&self.what)?;
        if !self.why.is_empty() {
            write!(f, ": {}", self.why)?;
        }
        Ok(())
    }
}

/// All problems of the loaded files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// At least one problem, in the order of files and positions.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl ScenarioError {
    /// The first hint.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.problems.iter().find_map(Problem::hint)
    }

    /// All problems, each followed by a line with its hint.
    #[must_use]
    pub fn with_hints(&self) -> String {
        let mut text = String::new();
        for problem in &self.problems {
            text.push_str(&format!("{problem}\n"));
            if let Some(hint) = problem.hint() {
                text.push_str(&format!("  hint: {hint}\n"));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_one_line() {
        let problem = Problem {
            file: "a.yaml".into(),
            position: Position { line: 3, column: 7 },
            key: "cni".into(),
            what: "unknown value `brige`".into(),
            why: String::new(),
            hint: Some("did you mean `bridge`?".into()),
        };
        assert_eq!(problem.to_string(), "a.yaml:3:7: `cni`: unknown value `brige`");
        let error = ScenarioError {
            problems: vec![problem],
        };
        assert_eq!(
            error.with_hints(),
            "a.yaml:3:7: `cni`: unknown value `brige`\n  hint: did you mean `bridge`?\n"
        );
    }
}
