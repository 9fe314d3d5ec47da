//! What is written once a scenario has its result: the index and the page of its folder, and the record of the run.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use nodejoin_core::plan::Plan;
use nodejoin_core::run::evidence_index::{INDEX, RecordedScenario};

use crate::context::RunContext;
use crate::evidence::{EvidenceFolder, FinishedScenario, write_index};
use crate::page;
use crate::scenario::result::ScenarioResult;

/// Completes the evidence of a scenario. Returns a line for each failure.
pub(crate) fn complete(
    context: &RunContext,
    plan: &Plan,
    result: &ScenarioResult,
    seconds: f64,
) -> Vec<String> {
    let folder = result.evidence.as_ref();
    let mut problems: Vec<String> = folder
        .and_then(|folder| index(context, plan, result, folder, seconds))
        .into_iter()
        .collect();
    let name = folder.and_then(|folder| folder.path.file_name());
    let diagnosis = result.verdict.diagnosis.as_ref();
    problems.extend(context.folder.record(RecordedScenario {
        scenario: plan.id.clone(),
        name: plan.name.clone(),
        outcome: result.verdict.outcome.clone(),
        because: diagnosis.map(|diagnosis| diagnosis.because.clone()),
        seconds,
        folder: name.map(|name| name.to_string_lossy().into_owned()),
    }));
    problems
}

fn index(
    context: &RunContext,
    plan: &Plan,
    result: &ScenarioResult,
    folder: &EvidenceFolder,
    seconds: f64,
) -> Option<String> {
    let caller = &context.settings.caller;
    let engine = context.run.engine().facts();
    let versions = [
        ("nodejoin", caller.version.clone()),
        ("engine", engine.server_version.clone()),
        ("host kernel", engine.kernel.clone()),
        ("host system", engine.operating_system.clone()),
    ];
    let finished = FinishedScenario {
        run: context.run.id(),
        plan,
        verdict: &result.verdict,
        started: SystemTime::now() - (Duration::from_secs_f64(seconds) + result.held),
        seconds,
        command: (caller.rerun)(&plan.id, &plan.file),
        versions: BTreeMap::from(versions.map(|(name, version)| (name.to_owned(), version))),
    };
    let written = write_index(&folder.path, &finished)
        .map_err(|error| (INDEX, error))
        .and_then(|_| page::write_scenario(&folder.path).map_err(|error| (page::PAGE, error)));
    let (name, error) = written.err()?;
    Some(format!(
        "could not write the evidence `{}`: {error}",
        folder.path.join(name).display()
    ))
}
