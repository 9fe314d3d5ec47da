//! No two modules of a crate use each other: cycles at the level of a crate's top-level modules.

use std::collections::{BTreeMap, BTreeSet};

use nodejoin_checks::{Rust, files};

use crate::graph::{Graph, reaches};
use crate::ratchet::assert_at_most;

/// Modules that take part in a cycle, by crate.
const MAXIMUM: &[(&str, usize)] = &[];

/// The uses between the top-level modules of each crate.
fn graphs() -> BTreeMap<String, Graph> {
    let mut sources = BTreeMap::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        let Some((package, below)) = file.path.split_once("/src/") else {
            continue;
        };
        let module = below.split('/').next().unwrap_or(below).trim_end_matches(".rs");
        if !["lib", "main"].contains(&module) {
            let modules: &mut Vec<_> = sources.entry(package.to_owned()).or_default();
            modules.push((
                module.to_owned(),
                below.to_owned(),
                Rust::of(&file.path, &file.text),
            ));
        }
    }
    sources
        .into_iter()
        .map(|(package, modules)| (package, graph(&modules)))
        .collect()
}

fn graph(modules: &[(String, String, Rust)]) -> Graph {
    let names: BTreeSet<&str> = modules.iter().map(|(name, _, _)| name.as_str()).collect();
    let mut graph = Graph::new();
    for (module, path, rust) in modules {
        let code: String = rust.product().map(|(_, line)| format!("{line}\n")).collect();
        let mut uses = referenced(&code, "crate::");
        // In a file of the crate's root, and in a folder's `mod.rs`, the parent is the root.
        if !path.contains('/') || (path.ends_with("/mod.rs") && path.matches('/').count() == 1) {
            uses.extend(referenced(&code, "super::"));
        }
        uses.retain(|name| names.contains(name.as_str()) && name != module);
        graph.entry(module.clone()).or_default().extend(uses);
    }
    graph
}

/// The first names of paths behind a prefix, of groups (`crate::{a, b::c}`) too.
fn referenced(code: &str, prefix: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (index, _) in code.match_indices(prefix) {
        let after = &code[index + prefix.len()..];
        match after.strip_prefix('{') {
            Some(group) => names.extend(first_names(group)),
            None => names.push(word(after)),
        }
    }
    names
}

fn first_names(group: &str) -> Vec<String> {
    let (mut depth, mut names, mut is_start) = (0, Vec::new(), true);
    for (index, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => is_start = true,
            _ if is_start && !c.is_whitespace() => {
                names.push(word(&group[index..]));
                is_start = false;
            }
            _ => {}
        }
    }
    names
}

fn word(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

#[test]
fn no_two_modules_of_a_crate_use_each_other() {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (package, graph) in graphs() {
        for (module, uses) in &graph {
            let back: Vec<&str> = uses
                .iter()
                .map(String::as_str)
                .filter(|next| reaches(&graph, next, module))
                .collect();
            if !back.is_empty() {
                let cycle = format!("{module} uses {}, which lead back to it", back.join(", "));
                found.entry(package.clone()).or_default().push(cycle);
            }
        }
    }
    assert_at_most("modules in a cycle", &found, MAXIMUM);
}
