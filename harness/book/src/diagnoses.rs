//! Causes of a stopped join, and the scenarios that prove each.

use std::path::Path;

use nodejoin_core::diagnosis::Cause;
use nodejoin_core::plan::Plan;
use serde::Deserialize;

use crate::markdown::{code, outside_code};
use crate::read;
use crate::scenario::variants;

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
    let mut text = "# Diagnoses\n\nIf a join stops, the report names one of these causes. `expect.diagnosis` of a scenario requires one.\n"
        .to_owned();
    for (cause, about) in variants("Cause") {
        text.push_str(&format!("\n## {cause}\n\n{}\n", outside_code(&about)));
        let proofs = proofs(&cause, plans, &broken);
        if !proofs.is_empty() {
            text.push_str(&format!("\nProved by: {}\n", proofs.join(", ")));
        }
    }
    Ok(text)
}

/// The name of a cause, as scenarios and reports write it.
pub(crate) fn word(cause: &Cause) -> String {
    let word = serde_json::to_value(cause).ok();
    word.and_then(|word| word.as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn proofs(cause: &str, plans: &[Plan], broken: &[Broken]) -> Vec<String> {
    let scenarios = plans.iter().filter(|plan| {
        let steps = plan.then.iter().map(|step| &step.expect);
        std::iter::once(&plan.expect).chain(steps).any(|expect| {
            expect
                .diagnosis
                .as_ref()
                .is_some_and(|proved| word(proved) == cause)
        })
    });
    let scripts = broken.iter().filter(|broken| {
        broken
            .caught_by
            .diagnosis
            .as_ref()
            .is_some_and(|proved| word(proved) == cause)
    });
    scenarios
        .map(|plan| code(plan.id.as_str()))
        .chain(scripts.map(|broken| format!("the broken script `{}`", broken.name)))
        .collect()
}
