//! Causes of a stopped join, and the scenarios that prove each.

use std::path::Path;

use nodejoin_core::diagnosis::Cause;
use nodejoin_core::plan::Plan;
use serde::Deserialize;

use crate::markdown::{code, outside_code};
use crate::read;

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
        "# Diagnoses\n\nIf a join stops, the report names one of these causes. `expect.diagnosis` of a scenario requires one.\n"
            .to_owned();
    for cause in Cause::ALL {
        let word = cause.word();
        text.push_str(&format!("\n## {word}\n\n{}\n\n", outside_code(cause.meaning())));
        let proofs = proofs(*cause, plans, &broken);
        let proofs = match proofs.is_empty() {
            true => "a unit test only".to_owned(),
            false => proofs.join(", "),
        };
        text.push_str(&format!(
            "- Last phase: {}\n- Evidence: {}\n- Remedy: {}\n- Proved by: {proofs}\n",
            phases(*cause),
            cause.evidence(),
            outside_code(cause.remedy()),
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

fn proofs(cause: Cause, plans: &[Plan], broken: &[Broken]) -> Vec<String> {
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
