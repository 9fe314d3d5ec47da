//! The list `with`: a file that becomes several scenarios, each with other values of some keys.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::input::problem::{Problem, ScenarioError};
use crate::input::yaml::{PathStep, YamlEntry, YamlTree, YamlValue};
use crate::vocabulary::ids::{ScenarioId, ScenarioTag};

/// The key of the list.
pub(super) const KEY: &str = "with";
/// The key of an item that a scenario does not have.
const ID: &str = "id";

/// A scenario of a file.
pub(super) struct Variant {
    /// Its `id` in the list; `None` if the file has no list.
    pub(super) id: Option<ScenarioTag>,
    /// The keys of the file with those of its item. Each value has its position in the file.
    pub(super) tree: YamlTree,
}

/// The scenarios of a file whose keys match the schema.
///
/// # Errors
/// An empty list, an invalid id, or one that occurs twice.
pub(super) fn variants(file: &str, tree: YamlTree) -> Result<Vec<Variant>, ScenarioError> {
    let Some(list) = tree.entry(KEY).cloned() else {
        return Ok(vec![Variant { id: None, tree }]);
    };
    let mut base = tree;
    base.retain(|key| key != KEY);
    let problem = |path: &[PathStep<'_>], key: String, what: String, why: &str, hint: &str| Problem {
        file: file.to_owned(),
        position: list.tree.position_of(path),
        key,
        what,
        why: why.to_owned(),
        hint: Some(hint.to_owned()),
    };
    let items = match &list.tree.value {
        YamlValue::List(items) => items.as_slice(),
        _ => &[],
    };
    let mut problems = Vec::new();
    if items.is_empty() {
        let what = "the list is empty".to_owned();
        let hint = "add an item such as `{ id: arm, instance: { type: m6g.large } }`, or remove the key";
        problems.push(problem(
            &[],
            KEY.to_owned(),
            what,
            "the file has no scenario",
            hint,
        ));
    }
    let mut taken = BTreeSet::new();
    let mut found = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let path = [PathStep::Index(index), PathStep::Key(ID)];
        let key = format!("{KEY}[{index}].{ID}");
        let given = item.get(ID).map(text_of).unwrap_or_default();
        match given.parse::<ScenarioTag>() {
            Err(error) => problems.push(problem(&path, key, error.to_string(), "", "for example `arm`")),
            Ok(id) if !taken.insert(id.clone()) => {
                let what = format!("the id `{id}` is already in use");
                problems.push(problem(&path, key, what, "by an earlier item", "use another id"));
            }
            Ok(id) => found.push(Variant {
                tree: merged(&base, item, &id),
                id: Some(id),
            }),
        }
    }
    match problems.is_empty() {
        true => Ok(found),
        false => Err(ScenarioError { problems }),
    }
}

/// The id of a scenario of a file with the given id.
pub(super) fn id_of(file: ScenarioId, variant: Option<&ScenarioTag>) -> ScenarioId {
    let id = variant.and_then(|variant| format!("{file}.{variant}").parse().ok());
    id.unwrap_or(file)
}

/// The `id` in the list `with` that a scenario of this file and with this id has; `None` if its file has no list.
#[must_use]
pub fn variant_of<'a>(id: &'a str, file: &str) -> Option<&'a str> {
    let name = id.rsplit('/').next().unwrap_or(id);
    let stem = Path::new(file).file_stem()?.to_str()?.len();
    // The name of a file without a list is its stem; characters that an id cannot have are replaced one by one.
    let stem = name.char_indices().nth(stem)?.0;
    name[stem..].strip_prefix('.')
}

/// The keys of a file with those of an item. A name that the item does not have gets its id.
fn merged(base: &YamlTree, item: &YamlTree, id: &ScenarioTag) -> YamlTree {
    let mut item = item.clone();
    item.retain(|key| key != ID);
    let mut tree = with(base, &item);
    if item.entry("name").is_some() {
        return tree;
    }
    if let YamlValue::Map(entries) = &mut tree.value
        && let Some(name) = entries.iter_mut().find(|entry| entry.key == "name")
    {
        let text = text_of(&name.tree);
        name.tree.value = YamlValue::Text(format!("{text} ({id})"));
    }
    tree
}

/// `over` in place of `base`; two mappings are merged key by key.
fn with(base: &YamlTree, over: &YamlTree) -> YamlTree {
    let (YamlValue::Map(entries), YamlValue::Map(others)) = (&base.value, &over.value) else {
        return over.clone();
    };
    let mut entries: Vec<YamlEntry> = entries.clone();
    for other in others {
        match entries.iter_mut().find(|entry| entry.key == other.key) {
            Some(entry) => {
                *entry = YamlEntry {
                    tree: with(&entry.tree, &other.tree),
                    ..other.clone()
                }
            }
            None => entries.push(other.clone()),
        }
    }
    YamlTree {
        position: over.position,
        value: YamlValue::Map(entries),
    }
}

fn text_of(tree: &YamlTree) -> String {
    match &tree.value {
        YamlValue::Text(text) => text.clone(),
        YamlValue::Number(number) => number.to_string(),
        YamlValue::Null | YamlValue::Bool(_) | YamlValue::List(_) | YamlValue::Map(_) => String::new(),
    }
}

/// The schema of the list: each item has an `id` and any keys of a scenario.
pub(super) fn schema_of(properties: &serde_json::Map<String, Value>) -> Value {
    let mut keys = properties.clone();
    keys.insert(
        ID.to_owned(),
        serde_json::json!({
            "description": "Appended to the id of the file after a dot: lower-case letters, digits, `-` and `_`.",
            "type": "string",
        }),
    );
    serde_json::json!({
        "description": "Scenarios of this file, each with other values of some keys. Mappings are merged key by key; \
            any other value replaces that of the file.",
        "type": "array",
        "items": {
            "type": "object",
            "properties": keys,
            "required": [ID],
            "additionalProperties": false,
        },
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::input::files::Memory;
    use crate::plan::Plan;
    use crate::scenario::{ScenarioPath, load_all};

    fn loaded(text: &str) -> Result<Vec<Plan>, String> {
        let files = Memory::default()
            .with("/s/a/joins.yaml", text)
            .with("/s/a/joins.arm.snapshot", "x");
        let found = ScenarioPath {
            path: Path::new("/s/a/joins.yaml").to_owned(),
            root: Path::new("/s").to_owned(),
        };
        load_all(&[found], &files).map_err(|error| error.with_hints())
    }

    #[test]
    fn each_item_is_a_scenario_with_its_keys_in_those_of_the_file() {
        let text = "\
name: joins
instance: { type: m5.large, private_ip: 192.168.40.16 }
user_data: '#!'
golden: { argv: true }
expect:
  phase: ready
  node: { labels: { a: b } }
with:
  - { id: arm, instance: { type: m6g.large } }
  - id: labelled
    name: joins with a label
    golden: { snapshot: other.snapshot }
    expect:
      node:
        labels: { c: d }
";
        let plans = loaded(text).unwrap();
        let ids: Vec<&str> = plans.iter().map(|plan| plan.id.as_str()).collect();
        assert_eq!(ids, ["a/joins.arm", "a/joins.labelled"]);
        let names: Vec<&str> = plans.iter().map(|plan| plan.name.as_str()).collect();
        assert_eq!(names, ["joins (arm)", "joins with a label"]);
        let [arm, labelled] = plans.as_slice() else {
            panic!("{ids:?}")
        };
        assert_eq!(arm.instance.instance_type, "m6g.large");
        assert_eq!(labelled.instance.instance_type, "m5.large");
        assert_eq!(arm.instance.private_ip, labelled.instance.private_ip);
        assert_ne!(arm.instance.id, labelled.instance.id);
        let labels = |plan: &Plan| plan.expect.node.clone().unwrap().labels.len();
        assert_eq!((labels(arm), labels(labelled)), (1, 2));
        assert_eq!(arm.golden.as_ref().unwrap().text.as_deref(), Some("x"));
        assert!(
            labelled
                .golden
                .as_ref()
                .unwrap()
                .path
                .ends_with("/other.snapshot")
        );
        // A failed check is at the line of its own item.
        let line = |plan: &Plan, key: &str| plan.sources.expect.get(key).copied();
        assert_eq!(line(labelled, "node.labels.c"), Some(15));
        assert_eq!(line(labelled, "node.labels.a"), Some(7));
        assert_eq!(line(arm, "node.labels.c"), None);
    }

    #[test]
    fn problems_point_at_the_item_or_at_the_file_and_occur_once() {
        let rest = "name: x\nuser_data: '#!'\n";
        let problems = |text: &str| loaded(&format!("{rest}{text}")).unwrap_err();
        insta::assert_snapshot!(
            [
                "with: []\n",
                "with: [{ id: a, regoin: eu-west-1 }, { region: x }]\n",
                "with: [{ id: A b }, { id: a }, { id: a }]\n",
                "region: eu-wets-1\nwith: [{ id: a }, { id: b }]\n",
                "with:\n  - { id: a }\n  - { id: b, expect: { units: { x.service: actve } } }\n",
                "with: [{ id: a, with: [{ id: b }] }]\n",
            ]
            .map(problems)
            .join("\n")
        );
    }

    #[test]
    fn the_variant_of_an_id_is_what_the_name_of_the_file_lacks() {
        for (id, file, expected) in [
            ("al2/joins", "scenarios/al2/joins.yaml", None),
            ("al2/joins.arm", "scenarios/al2/joins.yaml", Some("arm")),
            ("al2/joins.arm", "scenarios/al2/joins.arm.yaml", None),
            ("a-b.c", "A b.yml", Some("c")),
            ("first-join", "first-join.yaml", None),
        ] {
            assert_eq!(variant_of(id, file), expected, "{id} {file}");
        }
    }
}
