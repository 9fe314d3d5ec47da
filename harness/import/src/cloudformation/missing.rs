//! Values that the template needs and does not state, all of which one message names.

use super::template::{Template, UnstatedValue, invalid, text};
use crate::error::ImportError;
use crate::tree::Tree;
use crate::words::set_option;

impl Template<'_> {
    /// Evaluates a value only to find what it lacks. Errors do not end the search.
    pub(super) fn find_missing(&self, tree: &Tree) {
        self.is_collecting.set(true);
        // The evaluation that counts reports its error.
        let _ = self.evaluate(tree);
        self.is_collecting.set(false);
    }

    /// The error for a value that the template lacks; if it lacks several, for all of them.
    pub(super) fn lacking(
        &self,
        origin: &Tree,
        (kind, name): (&'static str, &str),
        problem: String,
        hint: String,
    ) -> Result<Tree, ImportError> {
        let mut missing = self.missing.borrow_mut();
        if self.is_collecting.get() {
            let line = origin.line();
            let value = missing
                .entry(name.to_owned())
                .or_insert(UnstatedValue { kind, line });
            value.line = value.line.min(line);
            return Ok(text(origin, ""));
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
            true => Ok(result.unwrap_or_else(|_| text(origin, ""))),
            false => result,
        }
    }
}
