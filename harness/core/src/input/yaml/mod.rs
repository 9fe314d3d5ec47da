//! YAML of which every value knows its place, and the check of such a tree against a JSON schema.

mod check;
#[cfg(test)]
mod tests;
mod tree;

pub use check::check;
pub use tree::{Entry, Step, Tree, Value, YamlError, parse};
