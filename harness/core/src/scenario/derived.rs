//! Writes a scenario that is like another one and expects something else, or runs in another world.

use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};

use super::stated_keys::without_defaults;
use super::{variants, world_keys};
use crate::input::document;
use crate::input::files::Files;
use crate::input::problem::ScenarioError;
use crate::plan::Plan;
use crate::plan::expect::Expect;
use crate::scenario::scenario_schema;

/// Keys whose texts are paths relative to the file of the scenario.
const PATHS: [&str; 5] = ["file", "from", "patch", "overlay", "rootfs"];
/// Keys of the other scenario that its copy does not have: what it expects, and what follows the join.
const DROPPED: [&str; 5] = ["name", "about", "expect", "golden", "then"];

/// A scenario like another one.
#[derive(Debug)]
pub struct Derived<'a> {
    pub name: &'a str,
    pub about: &'a str,
    pub expect: &'a Expect,
    /// The plan in another world, as `explore` changes it.
    pub world: Option<&'a Plan>,
    /// The folder that its file will be in.
    pub folder: &'a Path,
}

/// The text of a scenario file with the keys of the scenario of a plan.
///
/// # Errors
/// If the file of the plan changed and is invalid now.
pub fn derived(plan: &Plan, derived: &Derived<'_>, files: &dyn Files) -> Result<String, ScenarioError> {
    let path = Path::new(&plan.file);
    let schema = scenario_schema();
    let read = document::parsed(path, "a scenario", schema, files)?;
    let wanted = variants::variant_of(plan.id.as_str(), &plan.file).map(str::to_owned);
    let variants = variants::variants(&read.name, read.value)?;
    let chosen = variants.into_iter().find(|one| {
        let id = one.id.as_ref().map(|id| id.as_str());
        id == wanted.as_deref().filter(|_| one.id.is_some())
    });
    let mut keys = match chosen.map(|one| one.tree.to_json()) {
        Some(Value::Object(keys)) => keys,
        _ => Map::new(),
    };
    DROPPED.iter().for_each(|key| drop(keys.remove(*key)));
    let from = path.parent().unwrap_or(Path::new(""));
    let way = way(&files.absolute(derived.folder), &files.absolute(from));
    keys.values_mut().for_each(|value| move_paths(value, &way, false));
    if let Some(overlay) = keys.get_mut("overlay") {
        move_paths(overlay, &way, true);
    }
    if let Some(world) = derived.world {
        world_keys::change(&mut keys, plan, world);
    }
    let mut all = vec![
        ("name", Value::from(derived.name)),
        ("about", derived.about.into()),
    ];
    all.extend(keys.iter().map(|(key, value)| (key.as_str(), value.clone())));
    let expect = serde_json::to_value(derived.expect).unwrap_or_default();
    all.push((
        "expect",
        without_defaults(expect).unwrap_or_else(|| Map::new().into()),
    ));
    let one = |(key, value): &(&str, Value)| {
        let pair = Map::from_iter([((*key).to_owned(), value.clone())]);
        serde_yaml::to_string(&Value::Object(pair)).unwrap_or_default()
    };
    Ok(all.iter().map(one).collect())
}

/// The relative path from one folder to another.
fn way(from: &Path, to: &Path) -> PathBuf {
    let (from, to): (Vec<_>, Vec<_>) = (from.components().collect(), to.components().collect());
    let common = from
        .iter()
        .zip(&to)
        .take_while(|(one, other)| one == other)
        .count();
    let up = from[common..].iter().map(|_| Component::ParentDir);
    up.chain(to[common..].iter().copied()).collect()
}

/// Puts `way` before the texts of keys that are paths.
fn move_paths(value: &mut Value, way: &Path, is_path: bool) {
    match value {
        Value::String(text) if is_path && !text.starts_with('/') => {
            *text = way.join(&*text).display().to_string();
        }
        Value::Array(items) => items.iter_mut().for_each(|item| move_paths(item, way, is_path)),
        Value::Object(entries) => entries
            .iter_mut()
            .for_each(|(key, value)| move_paths(value, way, PATHS.contains(&key.as_str()))),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::files::Memory;
    use crate::scenario::{ScenarioPath, load, load_file};

    #[test]
    fn a_derived_scenario_is_the_other_one_with_its_own_expectation() {
        let text = "name: a\nabout: x\noverlay: ../o/overlay.yaml\nuser_data: { file: a.sh }\nexpect: { phase: ready }\n\
                    then: [{ do: reboot }]\nwith: [{ id: one }, { id: two, region: us-east-1 }]\n";
        let mut files = Memory::default()
            .with("/s/a/joins.yaml", text)
            .with("/s/a/a.sh", "#!/bin/sh\n")
            .with("/s/o/overlay.yaml", "files: [{ from: x, to: /x }]\n")
            .with("/s/o/x", "1");
        let found = ScenarioPath {
            path: "/s/a/joins.yaml".into(),
            root: "/s".into(),
        };
        let plan = load_file(&found, &files).unwrap().remove(1);
        let expect: Expect =
            serde_json::from_str(r#"{ "phase": "registered", "kubelet": { "argv": ["--a=1"] } }"#).unwrap();
        let derived = Derived {
            name: "b",
            about: "why",
            expect: &expect,
            world: None,
            folder: Path::new("/s/new"),
        };
        let text = super::derived(&plan, &derived, &files).unwrap();
        files = files.with("/s/new/b.yaml", text.clone());
        let other = load(Path::new("/s/new/b.yaml"), Path::new("/s"), &files)
            .unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert_eq!((other.name.as_str(), &other.expect), ("b", &expect), "{text}");
        assert_eq!(other.region, plan.region);
        assert_eq!(other.user_data, plan.user_data);
        let added = |plan: &Plan| plan.image.added().map(|file| file.to.clone()).collect::<Vec<_>>();
        assert_eq!(added(&other), added(&plan));
        assert!(other.then.is_empty(), "{text}");
    }
}
