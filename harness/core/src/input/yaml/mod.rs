//! YAML with the position of every value, and its check against a JSON schema.

mod check;
#[cfg(test)]
mod tests;
mod tree;

pub use check::check;
pub use tree::{PathStep, ReplacedKey, YamlEntry, YamlError, YamlTree, YamlValue, parse, parse_last_wins};
