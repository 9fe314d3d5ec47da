//! Reports, all of them written from the one event stream.
//!
//! | file | reader |
//! | --- | --- |
//! | `console.rs`, `bars.rs`, `run_progress.rs`, `paint.rs`, `wrap.rs` | a person at a terminal |
//! | `text.rs`, `failed_checks.rs`, `rows.rs` | a person, as plain text |
//! | `history.rs` | a person who runs a scenario again: what changed |
//! | `junit.rs` | tools that read JUnit |
//! | `github.rs` | GitHub Actions: annotations in the log, at lines of scripts and scenarios |
//! | `summary.rs` | GitHub Actions: the summary page of a job, in Markdown |
//! | `outputs.rs` | GitHub Actions: the counts, for later steps |
//! | `comparison.rs`, `comparison/sentences.rs` | a person who changed a script: what two versions do differently |
//! | `mutation.rs` | a person who maintains scenarios: which changes of a script none of them notices |
//! | `exploration.rs` | a person who maintains a script: what goes wrong in other worlds |

mod bars;
pub mod comparison;
pub mod console;
pub mod exploration;
mod failed_checks;
pub mod github;
pub mod history;
pub mod junit;
pub mod mutation;
pub mod outputs;
mod paint;
mod rows;
mod run_progress;
pub mod summary;
pub mod text;
mod wrap;

#[cfg(test)]
mod tests;
