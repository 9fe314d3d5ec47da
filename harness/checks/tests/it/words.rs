//! Plain words: phrases that no help, error, hint, report, schema description, page or comment contains.

use std::collections::BTreeMap;

use nodejoin_checks::{File, Rust, area, files};

use crate::ratchet::assert_at_most;

/// Phrases of the project's former dialect. A `|` stands for the edge of a word.
const PHRASES: &[&str] = &[
    "where absent",
    "|by what |",
    "|so many|",
    "|of yours|",
    "|of ours|",
    "|of the user's|",
    "|whoever|",
    "|somebody|",
    "|nobody|",
    "|everybody|",
    "has it not",
    "can be had",
    "cannot be had",
    "what is told",
    "|is told|",
    "|are told|",
    "|was told|",
    "|told of|",
    "|is said|",
    "|is asked|",
    "|are asked|",
    "|was asked|",
    "|is heard|",
    "counts for nothing",
    "as it comes",
    "|for ever|",
    "|goes before|",
    "come around",
    "|patience|",
    "the same, |",
];

/// What else begins with `is no` or `are no` in plain English.
const AFTER_NO: &[&str] = &["longer", "more", "such"];

/// This crate lists the phrases. The recipe of Kubernetes is the name of images that take half an hour to compile.
fn is_exempt(file: &File) -> bool {
    ["harness/checks/", "fixtures/images/kubernetes/"]
        .iter()
        .any(|folder| file.path.starts_with(folder))
}

/// The phrases that a text contains outside of code spans.
fn phrases(text: &str) -> Vec<String> {
    let text: Vec<&str> = text.split('`').step_by(2).collect();
    let text = text.join("`");
    let text = format!(
        " {} ",
        text.to_lowercase()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    );
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut found = Vec::new();
    for phrase in PHRASES {
        let words = phrase.trim_matches('|');
        for (at, _) in text.match_indices(words) {
            let before = text[..at].chars().next_back();
            let after = text[at + words.len()..].chars().next();
            let is_start = !phrase.starts_with('|') || !is_word(before);
            let is_end = !phrase.ends_with('|') || words.ends_with(' ') || !is_word(after);
            if is_start && is_end {
                found.push(words.trim().to_owned());
            }
        }
    }
    for denial in [" is no ", " are no "] {
        for (at, _) in text.match_indices(denial) {
            let before = text[..at].rsplit(' ').next().unwrap_or("");
            let after = text[at + denial.len()..]
                .split([' ', '.', ','])
                .next()
                .unwrap_or("");
            if before != "there" && !AFTER_NO.contains(&after) {
                found.push(denial.trim().to_owned());
            }
        }
    }
    found
}

/// Pages, and snapshots of what the command prints: `--help` of every subcommand, errors, hints, reports.
fn is_page(file: &File) -> bool {
    [".md", ".snap"].iter().any(|end| file.path.ends_with(end))
}

/// Comments of scripts, of YAML, of TOML and of Dockerfiles, in blocks.
fn hash_comments(text: &str) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    let mut last = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let Some(comment) = line.strip_prefix('#').filter(|rest| !rest.starts_with('!')) else {
            continue;
        };
        match blocks.last_mut() {
            Some((_, block)) if last + 1 == number => {
                block.push(' ');
                block.push_str(comment.trim());
            }
            _ => blocks.push((number, comment.trim().to_owned())),
        }
        last = number;
    }
    blocks
}

fn collect(look: impl Fn(&File) -> Vec<(usize, String)>) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files().iter().filter(|file| !is_exempt(file)) {
        for (line, text) in look(file) {
            for phrase in phrases(&text) {
                let finding = format!("{}:{line}: {phrase}", file.path);
                found.entry(area(&file.path)).or_default().push(finding);
            }
        }
    }
    found
}

/// Pages, the schema and scenarios line by line, so that a finding has its line.
fn lines(text: &str) -> Vec<(usize, String)> {
    // A user of Linux has this name.
    let without_user = |line: &str| line.replace("--owner nobody --group nobody", "");
    (1..)
        .zip(text.lines())
        .map(|(number, line)| (number, without_user(line)))
        .collect()
}

#[test]
fn what_users_read_is_in_plain_words() {
    let found = collect(|file| {
        let is_scenario = file.path.starts_with("scenarios/") && file.path.ends_with(".yaml");
        if is_page(file) || is_scenario {
            return lines(&file.text);
        }
        if file.path.ends_with(".schema.json") {
            let mut lines = lines(&file.text);
            lines.retain(|(_, line)| line.contains("\"description\": "));
            return lines;
        }
        if !file.is_rust() || !file.path.contains("/src/") {
            return Vec::new();
        }
        let rust = Rust::of(&file.path, &file.text);
        let product = rust.strings.iter().filter(|string| !rust.is_test(string.line));
        product.map(|string| (string.line, string.text.clone())).collect()
    });
    assert_at_most("phrases in what users read", &found, &[]);
}

#[test]
fn comments_are_in_plain_words() {
    let found = collect(|file| {
        if file.is_rust() {
            let comments = Rust::of(&file.path, &file.text).comments;
            return comments.into_iter().map(|one| (one.line, one.text)).collect();
        }
        if is_page(file) || file.path.ends_with(".json") || file.path.ends_with(".lock") {
            return Vec::new();
        }
        hash_comments(&file.text)
    });
    assert_at_most("phrases in comments", &found, &[]);
}

#[test]
fn phrases_are_found_as_words() {
    for (text, expected) in [
        ("default: x where absent", &["where absent"][..]),
        ("the signals of oursonics", &[]),
        ("It is no\n number.", &["is no"]),
        ("there is no file `x`, and it is no longer needed", &[]),
        ("a thing of ours", &["of ours"]),
        ("for every instance, `nobody` is a value", &[]),
    ] {
        assert_eq!(phrases(text), expected, "{text}");
    }
}
