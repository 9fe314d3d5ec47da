//! Reads files that users write: YAML with the position of every value, and problems that point at it.
//!
//! | file | content |
//! | --- | --- |
//! | `formats.rs` | the values of `format` in JSON schemas |
//! | `files.rs` | access to files through a trait, so that tests need none |
//! | `recording.rs` | files that record what is read |
//! | `moved.rs` | files that are read from another version of a folder |
//! | `yaml` | a YAML tree that knows line and column of each value |
//! | `schema.rs` | the JSON schema of a type |
//! | `document.rs` | reads a file into a type |
//! | `mode.rs` | permission bits |
//! | `problem.rs`, `problems.rs` | one problem with its position; the collector |

pub(crate) mod document;
pub mod files;
pub(crate) mod formats;
pub(crate) mod mode;
pub mod moved;
pub mod problem;
pub(crate) mod problems;
pub mod recording;
pub mod schema;
pub mod yaml;
