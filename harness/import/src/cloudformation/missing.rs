//! Values that the template needs and does not state, all of which one message names.

use super::template::{Template, UnstatedValue, invalid, text};
use crate::error::ImportError;
use crate::tree::Tree;
use crate::words::set_option;

/// In place of a missing value while values are searched for. No text of a template has it.
const UNKNOWN: &str = "\0";

impl Template<'_> {
    /// Evaluates a value only to find what it lacks. Errors do not end the search.
    pub(super) fn find_missing(&self, tree: &Tree) {
        self.is_collecting.set(true);
        // The evaluation that counts reports its error.
        let _ = self.evaluate(tree);
        self.is_collecting.set(false);
    }

    /// The text of an AMI that only CloudFormation knows, as far as the template tells: with its dynamic references,
    /// and with nothing in place of missing values. `None`: a missing value decides which AMI it is.
    pub(super) fn image_name(&self, image: &Tree) -> Option<String> {
        self.is_naming.set(true);
        let name = self.text_of(image);
        self.is_naming.set(false);
        name.ok()
    }

    /// Runs an evaluation whose result decides between other values: a missing value is an error of it.
    pub(super) fn deciding<T>(&self, evaluate: impl FnOnce() -> T) -> T {
        let is_naming = self.is_naming.replace(false);
        let result = evaluate();
        self.is_naming.set(is_naming);
        result
    }

    /// The error for a value that the template lacks; if it lacks several, for all of them.
    pub(super) fn lacking(
        &self,
        origin: &Tree,
        (kind, name): (&'static str, &str),
        problem: String,
        hint: String,
    ) -> Result<Tree, ImportError> {
        if self.is_naming.get() {
            return Ok(text(origin, ""));
        }
        // A name that needs a value itself is known when it has it.
        if self.is_collecting.get() && name.contains(UNKNOWN) {
            return Ok(text(origin, UNKNOWN));
        }
        let mut missing = self.missing.borrow_mut();
        if self.is_collecting.get() {
            let line = origin.line();
            let value = missing
                .entry(name.to_owned())
                .or_insert(UnstatedValue { kind, line });
            value.line = value.line.min(line);
            return Ok(text(origin, UNKNOWN));
        }
        if missing.len() < 2 || !missing.contains_key(name) {
            return Err(invalid(origin, problem, hint));
        }
        let listed: Vec<String> = missing
            .iter()
            .map(|(name, value)| {
                let line = value.line.map(|line| format!(" (line {line})"));
                format!("{}`{name}`{}", value.kind, line.unwrap_or_default())
            })
            .collect();
        let options: Vec<String> = missing.keys().map(|name| set_option(name)).collect();
        Err(invalid(
            origin,
            format!(
                "the template needs values that it does not state: {}",
                listed.join(", ")
            ),
            format!("give them: `{}`", options.join(" ")),
        ))
    }

    /// A result, or nothing in place of an error while values are searched for.
    pub(super) fn or_nothing(
        &self,
        origin: &Tree,
        result: Result<Tree, ImportError>,
    ) -> Result<Tree, ImportError> {
        match self.is_collecting.get() {
            true => Ok(result.unwrap_or_else(|_| text(origin, UNKNOWN))),
            false => result,
        }
    }
}
