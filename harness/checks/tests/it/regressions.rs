//! The table of historic fixes that `ci/figures regressions` undoes: a run on demand must not be the first to find an
//! edit of a line that is gone.

use std::collections::BTreeSet;

use nodejoin_checks::root;
use serde_json::Value;

fn listed() -> Vec<Value> {
    let text = std::fs::read_to_string(root().join("ci/regressions.toml")).unwrap();
    let table: Value = toml::from_str(&text).unwrap();
    table["regression"].as_array().unwrap().clone()
}

#[test]
fn each_edit_changes_its_file() {
    for one in listed() {
        let path = one["file"].as_str().unwrap();
        let mut text = std::fs::read_to_string(root().join(path)).unwrap();
        for edit in one["edits"].as_array().unwrap() {
            let (old, new) = (edit[0].as_str().unwrap(), edit[1].as_str().unwrap());
            assert_eq!(text.matches(old).count(), 1, "{}: {old:?} in {path}", one["name"]);
            assert_ne!(old, new, "{}", one["name"]);
            text = text.replace(old, new);
        }
        let is_of_a_scenario = path.starts_with("scenarios/");
        assert_eq!(one.get("to").is_none(), is_of_a_scenario, "{}", one["name"]);
    }
}

#[test]
fn each_names_a_scenario_and_what_fails_in_it() {
    let mut names = BTreeSet::new();
    for one in listed() {
        let scenario = one["scenario"].as_str().unwrap();
        // What follows a period is a variant of the file.
        let file = scenario.split('.').next().unwrap();
        let file = root().join(format!("scenarios/{file}.yaml"));
        assert!(file.is_file(), "{}: no {}", one["name"], file.display());
        for key in ["fixed_by", "wrong", "caught_by"] {
            assert!(!one[key].as_str().unwrap().is_empty(), "{}: {key}", one["name"]);
        }
        assert!(
            names.insert(one["name"].to_string()),
            "{} is there twice",
            one["name"]
        );
    }
}
