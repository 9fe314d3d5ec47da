//! Crates depend only downwards, by the line of ARCHITECTURE.md that says so.

use std::collections::BTreeMap;
use std::process::Command;

use nodejoin_checks::root;
use serde_json::Value;

use crate::ratchet::assert_at_most;

/// How the line of ARCHITECTURE.md begins.
const LINE: &str = "Dependencies point one way:";
/// Crates that only read the others, so that nothing may depend on them.
const READERS: &[&str] = &["checks", "book", "bench-aws"];
/// Test binaries of the whole workspace: one a package, and a program of scenario tests that starts itself.
const TEST_BINARIES: usize = 10;

/// The layers of ARCHITECTURE.md's line, from the top.
fn layers() -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(LINE))
        .unwrap_or_else(|| panic!("ARCHITECTURE.md has no line that begins with `{LINE}`"));
    let names = |layer: &str| layer.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    line.split("->").map(names).collect()
}

pub fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The packages of the workspace, each with those of them that its product code depends on.
fn packages() -> BTreeMap<String, Vec<String>> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let short = |name: &Value| match name.as_str().unwrap() {
        "nodejoin" => "cli".to_owned(),
        name => name.strip_prefix("nodejoin-").unwrap_or(name).to_owned(),
    };
    let all: Vec<String> = packages.iter().map(|package| short(&package["name"])).collect();
    let depends = |package: &Value| {
        let dependencies = package["dependencies"].as_array().unwrap();
        let product = dependencies.iter().filter(|one| one["kind"] != "dev");
        let mut names: Vec<String> = product.map(|one| short(&one["name"])).collect();
        names.retain(|name| all.contains(name));
        names
    };
    packages
        .iter()
        .map(|package| (short(&package["name"]), depends(package)))
        .collect()
}

#[test]
fn every_crate_depends_only_on_layers_below_it() {
    let layers = layers();
    let layer_of = |name: &String| layers.iter().position(|layer| layer.contains(name));
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, dependencies) in packages() {
        let layer = layer_of(&name);
        assert!(
            layer.is_some() || READERS.contains(&name.as_str()),
            "ARCHITECTURE.md's line does not name `{name}`"
        );
        for dependency in dependencies {
            let below = layer_of(&dependency);
            let is_downwards = below.is_some() && (layer.is_none() || layer < below);
            let is_reader = READERS.contains(&dependency.as_str());
            if !is_downwards || is_reader {
                found
                    .entry("workspace".to_owned())
                    .or_default()
                    .push(format!("{name} -> {dependency}"));
            }
        }
    }
    assert_at_most("dependencies that point upwards", &found, &[]);
}

#[test]
fn the_line_names_crates_that_exist() {
    let packages = packages();
    for name in layers().into_iter().flatten() {
        assert!(packages.contains_key(&name), "ARCHITECTURE.md names `{name}`");
    }
}

#[test]
fn test_binaries_stay_few() {
    let metadata = metadata();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        for target in package["targets"].as_array().unwrap() {
            if target["kind"][0] == "test" {
                let binary = format!(
                    "{} {}",
                    package["name"].as_str().unwrap(),
                    target["name"].as_str().unwrap()
                );
                found.entry("workspace".to_owned()).or_default().push(binary);
            }
        }
    }
    assert_at_most("test binaries", &found, &[("workspace", TEST_BINARIES)]);
}
