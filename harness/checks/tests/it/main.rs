//! Tests of the repository itself. None of them needs Docker.

mod dependencies;
mod duplicates;
mod fixtures;
mod modules;
mod names;
mod ratchet;
mod sources;
mod words;
