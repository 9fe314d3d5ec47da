//! Reports: what is made of the one event stream.
//!
//! | file | for whom |
//! | --- | --- |
//! | `console.rs`, `text.rs` | a person at a terminal |
//! | `junit.rs` | whatever reads JUnit |
//! | `github.rs` | GitHub Actions: annotations in the log, at lines of the user's files |
//! | `summary.rs` | GitHub Actions: the page of a job, in Markdown |
//! | `outputs.rs` | GitHub Actions: the counts, for later steps |

pub mod console;
pub mod github;
pub mod junit;
pub mod outputs;
pub mod summary;
pub mod text;

#[cfg(test)]
mod tests;
