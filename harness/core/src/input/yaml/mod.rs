//! YAML with the position of every value, and its check against a JSON schema.

mod check;
#[cfg(test)]
mod tests;
mod tree;

pub use check::check;
pub use tree::{Entry, Step, Tree, Value, YamlError, parse};
