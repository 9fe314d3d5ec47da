//! Reports, all of them written from the one event stream.
//!
//! | file | reader |
//! | --- | --- |
//! | `console.rs`, `text.rs`, `paint.rs`, `status_line.rs` | a person at a terminal |
//! | `history.rs` | a person who runs a scenario again: what changed |
//! | `junit.rs` | tools that read JUnit |
//! | `github.rs` | GitHub Actions: annotations in the log, at lines of scripts and scenarios |
//! | `summary.rs` | GitHub Actions: the summary page of a job, in Markdown |
//! | `outputs.rs` | GitHub Actions: the counts, for later steps |

pub mod console;
pub mod github;
pub mod history;
pub mod junit;
pub mod outputs;
mod paint;
mod status_line;
pub mod summary;
pub mod text;

#[cfg(test)]
mod tests;
