//! Reads a scenario file into plans. A plan contains that of the scenario that `expect.same_as` names.

use std::path::Path;

use super::file::Scenario;
use super::resolve::resolve;
use super::schema::scenario_schema;
use super::variants::{Variant, variant_of};
use super::{other_files, rules, sources, variants};
use crate::input::document;
use crate::input::files::Files;
use crate::input::problem::{Problem, ScenarioError};
use crate::input::problems::Problems;
use crate::plan::Plan;
use crate::plan::expect::SameAsExpect;
use crate::vocabulary::ids::ScenarioId;

const SAME_AS: &str = "expect.same_as.scenario";

/// Reads the scenarios of a file with the given id. `compares`: whether to read those of `expect.same_as`, too.
pub(super) fn scenarios_of(
    path: &Path,
    id: ScenarioId,
    files: &dyn Files,
    compares: bool,
) -> Result<Vec<Plan>, ScenarioError> {
    other_files::refuse_user_data(path, files)?;
    let schema = scenario_schema();
    let read = document::parsed(path, "a scenario", schema, files)?;
    let mut plans = Vec::new();
    let mut problems: Vec<Problem> = Vec::new();
    for variant in variants::variants(&read.name, read.value)? {
        let file = ScenarioText {
            name: &read.name,
            path,
            text: &read.text,
            compares,
        };
        match plan_of(&file, variant, id.clone(), schema, files) {
            Ok(plan) => plans.push(plan),
            // Scenarios of one file share the problems of the keys that they share.
            Err(error) => {
                let new = error.problems.into_iter();
                let new = new
                    .filter(|problem| !problems.contains(problem))
                    .collect::<Vec<_>>();
                problems.extend(new);
            }
        }
    }
    problems.sort_by_key(|problem| problem.position);
    match problems.is_empty() {
        true => Ok(plans),
        false => Err(ScenarioError { problems }),
    }
}

/// A scenario file.
struct ScenarioText<'a> {
    name: &'a str,
    path: &'a Path,
    text: &'a str,
    compares: bool,
}

fn plan_of(
    file: &ScenarioText<'_>,
    variant: Variant,
    id: ScenarioId,
    schema: &serde_json::Value,
    files: &dyn Files,
) -> Result<Plan, ScenarioError> {
    let tree = variant.tree;
    let mut scenario: Scenario = document::value_of(file.name, "a scenario", schema, &tree)?;
    if let (Some(variant), Some(golden)) = (&variant.id, &mut scenario.golden) {
        let stem = file.path.file_stem().unwrap_or_default().to_string_lossy();
        golden
            .snapshot
            .get_or_insert_with(|| format!("{stem}.{variant}.snapshot"));
    }
    let mut problems = Problems::of(file.name, &tree);
    let id = variants::id_of(id, variant.id.as_ref());
    let mut plan = resolve(&scenario, id, file.path, file.text, files, &mut problems);
    plan.sources.expect = sources::expectations(&tree);
    if let Some(required) = scenario.expect.same_as.as_ref().filter(|_| file.compares) {
        plan.same_as = compared(required, &plan, file.path, files, &mut problems);
    }
    rules::check(&scenario, &plan, &mut problems);
    let mut problems = problems.into_problems();
    problems.sort_by_key(|problem| problem.position);
    match problems.is_empty() {
        true => Ok(plan),
        false => Err(ScenarioError { problems }),
    }
}

/// Reads the scenario that a plan is compared with. It gets an id of its own, so that it has its own instance, role and
/// cluster.
fn compared(
    required: &SameAsExpect,
    plan: &Plan,
    path: &Path,
    files: &dyn Files,
    problems: &mut Problems<'_>,
) -> Option<Box<Plan>> {
    let file = path.parent().unwrap_or(Path::new("")).join(&required.scenario);
    if let Err(error) = files.read(&file) {
        let what = format!("cannot read scenario `{}`", file.display());
        let hint = "the path is relative to the folder of the scenario";
        problems.add(SAME_AS, what, error.to_string(), hint);
        return None;
    }
    let id = format!("{}.same-as", plan.id).parse().ok()?;
    let found = match scenarios_of(&file, id, files, false) {
        Ok(found) => found,
        Err(error) => {
            problems.extend(error);
            return None;
        }
    };
    if let (None, [only]) = (&required.variant, found.as_slice()) {
        return Some(Box::new(only.clone()));
    }
    // The ids of variants end with that of the plan and their own.
    let own = format!("{}.same-as.yaml", plan.id);
    let variant = |found: &Plan| variant_of(found.id.as_str(), &own).unwrap_or_default().to_owned();
    let names: Vec<String> = found.iter().map(variant).collect();
    let wanted = required.variant.as_ref().map_or("", |variant| variant.as_str());
    let chosen = found.into_iter().zip(&names).find(|(_, name)| *name == wanted);
    if chosen.is_none() {
        let list = names.iter().filter(|name| !name.is_empty());
        let list: Vec<&str> = list.map(String::as_str).collect();
        let (what, hint) = match list.as_slice() {
            [] => (
                "the file has no list `with`".to_owned(),
                "remove `variant`".to_owned(),
            ),
            list => (
                format!("the file has no scenario `{wanted}`"),
                format!("`variant` is one of {}", list.join(", ")),
            ),
        };
        problems.add("expect.same_as.variant", what, file.display().to_string(), hint);
    }
    chosen.map(|(plan, _)| Box::new(plan))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::files::Memory;
    use crate::scenario::load;

    fn loaded(same_as: &str) -> Result<Plan, String> {
        let list = "name: x\nuser_data: '#!'\nwith: [{ id: one }, { id: two, region: us-east-1 }]\n";
        let files = Memory::default()
            .with(
                "/s/a.yaml",
                format!("name: a\nuser_data: '#!'\nexpect:\n  same_as: {same_as}\n"),
            )
            // The other scenario may name this one: it is not read again.
            .with(
                "/s/b.yaml",
                "name: b\nuser_data: '#!'\nexpect: { same_as: { scenario: a.yaml } }\n",
            )
            .with("/s/list.yaml", list)
            .with("/s/wrong.yaml", "name: ''\nuser_data: '#!'\n");
        load(Path::new("/s/a.yaml"), Path::new("/s"), &files).map_err(|error| error.with_hints())
    }

    #[test]
    fn a_plan_contains_the_other_scenario_with_its_own_names() {
        let plan = loaded("{ scenario: b.yaml }").unwrap();
        let other = plan.same_as.as_ref().unwrap();
        assert_eq!((other.name.as_str(), other.same_as.as_ref()), ("b", None));
        assert_ne!(other.instance.private_ip, plan.instance.private_ip);
        assert_ne!(other.cluster.name, plan.cluster.name);
        let plan = loaded("{ scenario: list.yaml, variant: two }").unwrap();
        assert_eq!(plan.same_as.unwrap().region.to_string(), "us-east-1");
    }

    #[test]
    fn a_missing_scenario_is_refused_at_its_key() {
        for (same_as, expected) in [
            (
                "{ scenario: c.yaml }",
                "/s/a.yaml:4:24: `expect.same_as.scenario`: cannot read scenario `/s/c.yaml`",
            ),
            (
                "{ scenario: list.yaml, variant: three }",
                "`expect.same_as.variant`: the file has no scenario `three`",
            ),
            ("{ scenario: list.yaml }", "`variant` is one of one, two"),
            ("{ scenario: b.yaml, variant: x }", "remove `variant`"),
            ("{ scenario: wrong.yaml }", "/s/wrong.yaml:1:7: `name`"),
        ] {
            let error = loaded(same_as).unwrap_err();
            assert!(error.contains(expected), "{same_as}: {error}");
        }
    }
}
