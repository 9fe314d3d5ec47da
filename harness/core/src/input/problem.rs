//! What is wrong with a file that a user wrote, and where.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A place in a file; line and column count from 1, and 0 stands for the file as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// Line.
    pub line: u64,
    /// Column, in characters.
    pub column: u64,
}

/// One thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The file, as the user gave it.
    pub file: String,
    /// Where in it.
    pub place: Position,
    /// Key path such as `instance.private_ip` or `faults[0].effect`; empty for the file as a whole.
    pub key: String,
    /// What is wrong.
    pub what: String,
    /// Why it is wrong; empty where `what` says it all.
    pub why: String,
    /// The way out.
    pub hint: Option<String>,
}

impl Problem {
    /// The way out, where one is known.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.place.line > 0 {
            write!(f, ":{}:{}", self.place.line, self.place.column)?;
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

/// Everything that is wrong with the scenarios of one load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// At least one, in the order of their files and places.
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
    /// The way out of the first problem that has one.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.problems.iter().find_map(Problem::hint)
    }

    /// All problems, each with its hint on a line of its own.
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

/// The candidate that a mistyped word most likely meant.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness >= 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_the_word_that_was_meant_or_none() {
        let keys = ["instance", "image", "cluster", "control_plane"];
        for (word, meant) in [
            ("intsance", Some("instance")),
            ("Cluster", Some("cluster")),
            ("controlPlane", Some("control_plane")),
            ("zzz", None),
        ] {
            assert_eq!(nearest(word, keys), meant, "{word}");
        }
    }

    #[test]
    fn a_problem_reads_as_one_line() {
        let problem = Problem {
            file: "a.yaml".into(),
            place: Position { line: 3, column: 7 },
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
