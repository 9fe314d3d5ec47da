//! Tests of the repository itself. None of them needs Docker.

#![expect(
    clippy::unwrap_used,
    reason = "a failed precondition ends the test with a panic"
)]

mod circles;
mod dependencies;
mod duplicates;
mod fixtures;
mod graph;
mod modules;
mod names;
mod packages;
mod ratchet;
mod regressions;
mod sources;
mod words;
