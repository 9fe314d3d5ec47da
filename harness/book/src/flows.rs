//! The flows of this repository: what each is, its scenarios, and what these prove.

use std::collections::BTreeMap;
use std::path::Path;

use nodejoin_core::plan::Plan;
use nodejoin_core::run::coverage;

use crate::files::read;
use crate::markdown::{code, outside_code, table};

pub(crate) fn page(repository: &Path, plans: &[Plan]) -> Result<String, String> {
    let mut flows: BTreeMap<&str, Vec<&Plan>> = BTreeMap::new();
    for plan in plans {
        flows.entry(flow(plan)).or_default().push(plan);
    }
    let mut text = format!(
        "# Flows and coverage\n\nA flow is one way to start EKS nodes, and a folder of `scenarios/`. This repository has {} scenarios in {}\n\
         flows. `nodejoin list` prints them, `nodejoin list --matrix` the coverage.\n\n\
         The scripts of these flows are files of this repository with the flags and files of the published ones, not the\n\
         published ones: see [Your own script](../guide/your-script.md) to run the scenarios with yours.\n\n## Coverage\n\n\
         A cell contains the numbers of the scenarios that prove something about that part of a join, `-` marks a part that the\n\
         flow does not prove. The numbers are those of the sections below.\n\n{}",
        plans.len(),
        flows.len(),
        matrix(plans)
    );
    for (flow, plans) in flows {
        text.push_str(&format!(
            "\n## {flow}\n\n{}\n\n",
            about(repository, flow, &plans)?
        ));
        let rows = (1..).zip(&plans).map(|(number, plan): (usize, _)| {
            let id = plan.id.as_str();
            [number.to_string(), code(id), outside_code(&plan.name), end(plan)]
        });
        text.push_str(&table(["", "scenario", "what it shows", "ends"], rows));
    }
    Ok(text)
}

/// The table alone: the sections have the names.
fn matrix(plans: &[Plan]) -> String {
    let lines = coverage::matrix(plans);
    let rows = lines.lines().take_while(|line| line.starts_with('|'));
    rows.map(|row| format!("{row}\n")).collect()
}

/// What a flow is: the `about.md` of its folder, else what its one scenario says.
fn about(repository: &Path, flow: &str, plans: &[&Plan]) -> Result<String, String> {
    let is_folder = plans.iter().any(|plan| plan.id.as_str().contains('/'));
    match is_folder {
        true => read(repository, &format!("scenarios/{flow}/about.md")).map(|text| text.trim().to_owned()),
        false => Ok(format!(
            "A single scenario, `scenarios/{flow}.yaml`: the first one to run."
        )),
    }
}

fn flow(plan: &Plan) -> &str {
    let id = plan.id.as_str();
    id.split_once('/').map_or(id, |(folder, _)| folder)
}

/// How the scenario expects the join to end.
fn end(plan: &Plan) -> String {
    let cause = plan.expect.diagnosis.map(|cause| cause.word());
    match (cause, plan.expect.phase) {
        (Some(cause), _) => format!("[`{cause}`](diagnoses.md#{cause})"),
        (None, Some(phase)) => format!("`{phase}`"),
        (None, None) => String::new(),
    }
}
