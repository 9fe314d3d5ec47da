//! Joins the records and JUnit reports of several runs, such as the shards of a CI matrix.
//!
//! ```text
//! folders, run.json, junit.xml --read--> MergedRuns --> text, one JUnit report, one page
//! ```
//!
//! A run may be given twice, by its record and by its report: a scenario of a run counts once.

mod error;
mod page;
mod read;
mod runs;
#[cfg(test)]
mod tests;
mod times;

pub use error::MergeError;
pub use runs::{MergedRuns, MergedScenario};
pub use times::{TimesError, shard_selection};
