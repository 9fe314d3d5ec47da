//! Causes of a stopped join, and the scenarios that prove each.

use std::path::Path;

use nodejoin_core::diagnosis::Cause;
use nodejoin_core::plan::Plan;
use nodejoin_core::vocabulary::cause_facts::Proof;
use serde::Deserialize;

use crate::files::read;
use crate::markdown::{code, outside_code};

/// A broken script of `fixtures/broken.yaml`, as far as it proves a cause.
#[derive(Deserialize)]
struct Broken {
    name: String,
    caught_by: CaughtBy,
}

#[derive(Deserialize)]
struct CaughtBy {
    diagnosis: Option<Cause>,
}

pub(crate) fn page(repository: &Path, plans: &[Plan]) -> Result<String, String> {
    let broken: Vec<Broken> = serde_yaml::from_str(&read(repository, "fixtures/broken.yaml")?)
        .map_err(|error| format!("`fixtures/broken.yaml`: {error}"))?;
    let mut text =
        "# Diagnoses\n\nIf a join stops, the report names one of these causes. `expect.diagnosis` of a scenario requires one.\n\n\
         Each cause is found by rules. They apply in one order, the smallest number first, and the first that finds its cause gives \
         the diagnosis.\n"
            .to_owned();
    for cause in Cause::ALL {
        let word = cause.word();
        text.push_str(&format!("\n## {word}\n\n{}\n\n", outside_code(cause.meaning())));
        text.push_str(&format!(
            "- Order: {}\n- Last phase: {}\n- Evidence: {}\n- Remedy: {}\n- Proved by: {}\n",
            orders(*cause),
            phases(*cause),
            cause.evidence(),
            outside_code(cause.remedy()),
            proof(*cause, plans, &broken)?,
        ));
    }
    Ok(text)
}

/// The phases after which a join can stop for a cause.
fn phases(cause: Cause) -> String {
    let (first, last) = cause.phases();
    match first == last {
        true => format!("`{first}`"),
        false => format!("`{first}` to `{last}`"),
    }
}

fn orders(cause: Cause) -> String {
    let orders: Vec<String> = cause.orders().iter().map(u32::to_string).collect();
    orders.join(", ")
}

/// The scenario of the cause's row, and everything else that expects the cause.
fn proof(cause: Cause, plans: &[Plan], broken: &[Broken]) -> Result<String, String> {
    let mut all = expecting(cause, plans, broken);
    let id = match cause.proof() {
        Proof::Scenario(id) => code(id),
        Proof::UnitTest(reason) => return Ok(format!("a unit test only: {}", outside_code(reason))),
    };
    let index = all.iter().position(|other| *other == id).ok_or_else(|| {
        format!(
            "`harness/core/src/vocabulary/cause_table.rs`: no scenario {id} expects `{}`",
            cause.word()
        )
    })?;
    all.remove(index);
    Ok(match all.is_empty() {
        true => id,
        false => format!("{id}; also {}", all.join(", ")),
    })
}

/// The scenarios and broken scripts whose expected diagnosis is this cause.
fn expecting(cause: Cause, plans: &[Plan], broken: &[Broken]) -> Vec<String> {
    let scenarios = plans.iter().filter(|plan| {
        let steps = plan.then.iter().map(|step| &step.expect);
        let mut expects = std::iter::once(&plan.expect).chain(steps);
        expects.any(|expect| expect.diagnosis == Some(cause))
    });
    let scripts = broken
        .iter()
        .filter(|broken| broken.caught_by.diagnosis == Some(cause));
    scenarios
        .map(|plan| code(plan.id.as_str()))
        .chain(scripts.map(|broken| format!("the broken script `{}`", broken.name)))
        .collect()
}
