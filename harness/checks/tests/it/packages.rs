//! Crates that can be published compile from their own files, and say what they are. `ci/package` builds them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use nodejoin_checks::{Rust, files, root};

use crate::dependencies::metadata;
use crate::ratchet::assert_at_most;

/// Crates that only this repository uses.
const PRIVATE: [&str; 4] = [
    "nodejoin-bench-aws",
    "nodejoin-book",
    "nodejoin-checks",
    "nodejoin-scenarios",
];
/// Macros and build instructions that take a file of the sources.
const TAKES_A_FILE: [&str; 4] = [
    "include_str!(",
    "include_bytes!(",
    "include_dir!(",
    "rerun-if-changed=",
];

/// The folders of the crates that can be published, relative to the repository.
fn published() -> Vec<PathBuf> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let packages = packages.filter(|package| package["publish"].is_null());
    packages
        .map(|package| {
            let manifest = Path::new(package["manifest_path"].as_str().unwrap());
            let folder = manifest
                .parent()
                .unwrap()
                .strip_prefix(root().canonicalize().unwrap());
            folder.unwrap().to_owned()
        })
        .collect()
}

#[test]
fn only_the_crates_of_this_repository_are_not_published() {
    let metadata = metadata();
    let mut private = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        if package["publish"].is_null() {
            for key in ["description", "license", "rust_version"] {
                assert!(package[key].is_string(), "`{name}` has no {key}");
            }
            for dependency in package["dependencies"].as_array().unwrap() {
                let is_ours = dependency["path"].is_string() && dependency["kind"] != "dev";
                assert!(
                    !is_ours || dependency["req"] != "*",
                    "`{name}` depends on {} without a version",
                    dependency["name"]
                );
            }
        } else {
            private.push(name);
        }
    }
    private.sort_unstable();
    assert_eq!(private, PRIVATE);
}

#[test]
fn published_crates_contain_every_file_that_they_compile() {
    let folders = published();
    assert!(folders.len() >= 10, "{folders:?}");
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        let path = Path::new(&file.path);
        let Some(folder) = folders.iter().find(|folder| path.starts_with(folder)) else {
            continue;
        };
        if path.starts_with(folder.join("tests")) {
            continue;
        }
        let rust = Rust::of(&file.path, &file.text);
        let product = (1..)
            .zip(file.text.lines())
            .filter(|(number, _)| !rust.is_test(*number));
        for (number, line) in product {
            for named in named_files(line) {
                let from_manifest = named.strip_prefix("$CARGO_MANIFEST_DIR/");
                let is_of_build = line.contains("rerun-if-changed=");
                let base = match from_manifest.is_some() || is_of_build {
                    true => folder.as_path(),
                    false => path.parent().unwrap(),
                };
                if !normal(&base.join(from_manifest.unwrap_or(named))).starts_with(folder) {
                    let place = format!("{}:{number}: {named}", file.path);
                    found.entry("workspace".to_owned()).or_default().push(place);
                }
            }
        }
    }
    assert_at_most("files that a package would lack", &found, &[]);
}

/// The paths that a line of code takes files from.
fn named_files(line: &str) -> impl Iterator<Item = &str> {
    TAKES_A_FILE.iter().filter_map(|start| {
        let rest = line.split_once(start)?.1;
        rest.trim_start_matches('"').split(['"', ')']).next()
    })
}

fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}
