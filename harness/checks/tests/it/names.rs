//! A type name means one thing in the product code of the workspace.

use std::collections::BTreeMap;

use nodejoin_checks::{Rust, files};

use crate::ratchet::assert_at_most;

/// Names that every crate may have: their module says which one is meant.
const SHARED: &[&str] = &["Error"];

#[test]
fn a_type_name_means_one_thing() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files()
        .iter()
        .filter(|file| file.is_rust() && file.path.contains("/src/"))
    {
        let rust = Rust::of(&file.path, &file.text);
        for (number, line) in rust.product() {
            if let Some(name) = defined(line) {
                places
                    .entry(name)
                    .or_default()
                    .push(format!("{}:{number}", file.path));
            }
        }
    }
    let doubles = places
        .into_iter()
        .filter(|(name, places)| places.len() > 1 && !SHARED.contains(&name.as_str()))
        .map(|(name, places)| format!("{name}: {}", places.join(", ")));
    let mut found = BTreeMap::new();
    found.insert("workspace".to_owned(), doubles.collect());
    assert_at_most("type names with two meanings", &found, &[]);
}

/// The name of the type that a line defines at the level of its module.
fn defined(line: &str) -> Option<String> {
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let after = ["struct ", "enum ", "trait ", "union "]
        .iter()
        .find_map(|keyword| line.strip_prefix(keyword))?;
    Some(after.chars().take_while(|c| c.is_alphanumeric()).collect())
}
