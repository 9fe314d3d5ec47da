//! The form of the sources: heads, widths of comments, reasons of silenced lints, no path of a machine.

use std::collections::BTreeMap;

use nodejoin_checks::{File, Rust, area, files};

use crate::ratchet::assert_at_most;

const WIDTH: usize = 120;

type Found = BTreeMap<String, Vec<String>>;

fn collect(look: impl Fn(&File) -> Vec<String>) -> Found {
    let mut found = Found::new();
    for file in files() {
        let findings = look(&file);
        if !findings.is_empty() {
            found.entry(area(&file.path)).or_default().extend(findings);
        }
    }
    found
}

#[test]
fn every_source_says_in_its_head_what_it_is_for() {
    let found = collect(|file| {
        let has_head = file.text.lines().any(|line| line.starts_with("//! "));
        let is_missing = file.is_rust() && !has_head;
        is_missing.then(|| file.path.clone()).into_iter().collect()
    });
    assert_at_most("sources without a `//!` head", &found, &[]);
}

#[test]
fn lints_are_silenced_with_a_reason_only() {
    let found = collect(|file| {
        if !file.is_rust() {
            return Vec::new();
        }
        let code = Rust::of(&file.path, &file.text).code;
        let places = code
            .match_indices("allow(")
            .filter(|(at, _)| code[..*at].trim_end().ends_with('['))
            .filter(|(at, _)| !code[*at..].split(']').next().unwrap_or("").contains("reason ="));
        places
            .map(|(at, _)| format!("{}:{}", file.path, code[..at].matches('\n').count() + 1))
            .collect()
    });
    assert_at_most("`allow` without a reason", &found, &[]);
}

#[test]
fn comments_are_not_wider_than_the_page() {
    let found = collect(|file| {
        let is_comment = |line: &str| {
            let line = line.trim_start();
            if file.is_rust() {
                line.starts_with("//")
            } else {
                line.starts_with("# ")
                    && ![".md", ".snap"].iter().any(|end| file.path.ends_with(end))
                    && !file.path.contains("images/kubernetes/")
            }
        };
        let wide = (1..)
            .zip(file.text.lines())
            .filter(|(_, line)| is_comment(line) && line.chars().count() > WIDTH);
        wide.map(|(number, _)| format!("{}:{number}", file.path))
            .collect()
    });
    assert_at_most("comment lines over 120 columns", &found, &[]);
}

#[test]
fn no_file_names_a_machine_it_was_written_on() {
    let traces = ["/root/.cargo", "/root/.rustup", "/home/user/"];
    let found = collect(|file| {
        if file.path.starts_with("harness/checks/") {
            return Vec::new();
        }
        let lines = (1..).zip(file.text.lines());
        lines
            .filter(|(_, line)| traces.iter().any(|trace| line.contains(trace)))
            .map(|(number, line)| format!("{}:{number}: {}", file.path, line.trim()))
            .collect()
    });
    assert_at_most("paths of a machine", &found, &[]);
}
