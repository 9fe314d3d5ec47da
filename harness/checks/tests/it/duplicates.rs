//! Product code repeats no passage of six lines.

use std::collections::BTreeMap;

use nodejoin_checks::{Rust, files};

use crate::ratchet::assert_at_most;

const LENGTH: usize = 6;
/// Passages of the whole workspace.
const MAXIMUM: &[(&str, usize)] = &[("workspace", 9)];

/// The lines of a file that count: product code without imports and without lines of brackets alone.
fn lines(path: &str, text: &str) -> Vec<(usize, String)> {
    let rust = Rust::of(path, text);
    let source: Vec<&str> = text.lines().collect();
    let mut is_import = false;
    let mut kept = Vec::new();
    for (number, code) in rust.product() {
        let code = code.trim();
        is_import |= ["use ", "pub use ", "pub(crate) use "]
            .iter()
            .any(|start| code.starts_with(start));
        if !is_import && code.chars().any(char::is_alphanumeric) {
            // The source has the strings that the code has not; a comment alone was blanked above.
            kept.push((number, source[number - 1].trim().to_owned()));
        }
        is_import &= !code.ends_with(';');
    }
    kept
}

#[test]
fn passages_are_not_repeated() {
    let mut windows: BTreeMap<Vec<String>, Vec<(usize, usize, usize)>> = BTreeMap::new();
    let sources: Vec<_> = files()
        .into_iter()
        .filter(|file| file.is_rust() && file.path.contains("/src/"))
        .map(|file| (lines(&file.path, &file.text), file.path))
        .collect();
    for (file, (lines, _)) in sources.iter().enumerate() {
        for (start, window) in lines.windows(LENGTH).enumerate() {
            let text = window.iter().map(|(_, line)| line.clone()).collect();
            windows.entry(text).or_default().push((file, start, window[0].0));
        }
    }
    let mut passages = Vec::new();
    let repeated = |file: usize, start: usize| {
        let lines = &sources[file].0;
        let window = lines.get(start..start + LENGTH)?;
        let text: Vec<String> = window.iter().map(|(_, line)| line.clone()).collect();
        windows.get(&text).filter(|places| places.len() > 1)
    };
    for places in windows.values().filter(|places| places.len() > 1) {
        let (file, start, _) = places[0];
        // A longer passage counts once, at its first window.
        let is_first = start == 0 || repeated(file, start - 1).is_none();
        if is_first {
            let shown: Vec<String> = places
                .iter()
                .map(|(file, _, line)| format!("{}:{line}", sources[*file].1))
                .collect();
            passages.push(shown.join(" and "));
        }
    }
    let mut found = BTreeMap::new();
    found.insert("workspace".to_owned(), passages);
    assert_at_most("repeated passages of six lines", &found, MAXIMUM);
}
