//! Reads the repository as data: its files, its packages, and the parts of its Rust sources.
//!
//! The tests of this crate (`tests/it`) hold what no compiler checks. They need the Rust toolchain only: no Docker, no
//! network.

mod rust;
mod tree;

pub use rust::{Rust, Text};
pub use tree::{File, area, files, root};
