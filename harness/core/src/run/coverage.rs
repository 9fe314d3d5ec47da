//! The facets that scenarios prove, as a Markdown table with a row per flow.

use std::collections::BTreeMap;

use crate::plan::Plan;
use crate::plan::expect::Expect;
use crate::plan::expect::objects::NodeExpect;
use crate::plan::golden::GoldenPlan;
use crate::vocabulary::phase::Phase;

/// A facet of a join, and whether a scenario proves it.
type Facet = (&'static str, fn(&Plan) -> bool);

const FACETS: &[Facet] = &[
    ("joins", |plan| {
        plan.expect.diagnosis.is_none() && plan.expect.phase >= Some(Phase::Registered)
    }),
    ("fails, and says why", |plan| {
        any(plan, |expect| expect.diagnosis.is_some())
    }),
    ("identity", |plan| {
        any(plan, |expect| {
            let has_identity = expect.authentication.is_some() || !expect.aws_auth.is_empty();
            has_identity || !expect.access.is_empty() || !expect.audit.is_empty()
        })
    }),
    ("certificates", |plan| {
        any(plan, |expect| expect.certificates.is_some())
    }),
    ("labels, taints", |plan| {
        any(plan, |expect| expect.node.as_ref().is_some_and(checks_labels))
    }),
    ("kubelet", |plan| {
        let is_in_snapshot = |golden: &GoldenPlan| golden.argv || golden.machine.is_some();
        any(plan, |expect| expect.kubelet.is_some()) || plan.golden.as_ref().is_some_and(is_in_snapshot)
    }),
    ("files, units", |plan| {
        any(plan, |expect| {
            !expect.files.is_empty() || !expect.units.is_empty()
        }) || plan.golden.is_some()
    }),
    ("user data", |plan| any(plan, |expect| expect.user_data.is_some())),
    ("AWS calls", |plan| {
        any(plan, |expect| {
            !expect.aws.is_empty() || !expect.aws_order.is_empty()
        })
    }),
    ("AWS' faults", |plan| {
        !plan.faults.is_empty() || plan.cluster.status.len() > 1
    }),
    ("pod", |plan| plan.pod.is_some()),
    ("again", |plan| !plan.then.is_empty()),
    ("many", |plan| !plan.others.is_empty()),
];

/// Whether the expectation of the join or of a step has a property.
fn any(plan: &Plan, is_so: fn(&Expect) -> bool) -> bool {
    let steps = plan.then.iter().map(|step| &step.expect);
    let mut all = std::iter::once(&plan.expect)
        .chain(steps)
        .flat_map(Expect::with_alternatives);
    all.any(is_so)
}

fn checks_labels(node: &NodeExpect) -> bool {
    let labels = node.labels.len()
        + node.labels_at_creation.len()
        + node.labels_absent.len()
        + node.labels_set_by.len();
    let taints = node.taints_include.len() + node.taints_absent.len() + node.taints_at_creation.len();
    labels + taints > 0 || node.labels_exactly.is_some() || node.taints.is_some()
}

/// The table, followed by the names of the scenarios. Cells list the numbers of scenarios; `-` if there is none.
#[must_use]
pub fn matrix(plans: &[Plan]) -> String {
    let mut flows: BTreeMap<&str, Vec<&Plan>> = BTreeMap::new();
    for plan in plans {
        flows.entry(flow(plan)).or_default().push(plan);
    }
    let heads: Vec<&str> = std::iter::once("flow")
        .chain(FACETS.iter().map(|(name, _)| *name))
        .collect();
    let mut rows = vec![heads.iter().map(|head| (*head).to_owned()).collect::<Vec<_>>()];
    rows.extend(flows.iter().map(|(flow, plans)| row(flow, plans)));
    let mut text = table(&rows);
    text.push_str("\nThe numbers are scenarios of the row's folder:\n\n");
    for (flow, plans) in &flows {
        let names = (1..)
            .zip(plans)
            .map(|(number, plan): (usize, _)| format!("{number} {}", own_name(plan)));
        let names: Vec<String> = names.collect();
        text.push_str(&format!("- `{flow}`: {}\n", names.join(", ")));
    }
    text
}

/// The folder of a scenario, or its name without a folder.
fn flow(plan: &Plan) -> &str {
    let id = plan.id.as_str();
    id.split_once('/').map_or(id, |(folder, _)| folder)
}

fn own_name(plan: &Plan) -> &str {
    let id = plan.id.as_str();
    id.split_once('/').map_or(id, |(_, name)| name)
}

fn row(flow: &str, plans: &[&Plan]) -> Vec<String> {
    let cells = FACETS.iter().map(|(_, proves)| {
        let proofs = (1..).zip(plans).filter(|(_, plan)| proves(plan));
        let numbers: Vec<usize> = proofs.map(|(number, _): (usize, _)| number).collect();
        ranges(&numbers)
    });
    std::iter::once(format!("`{flow}`")).chain(cells).collect()
}

/// Numbers as ranges, such as `1-3 5`; `-` for none.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next);
    let runs = runs.map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    let runs: Vec<String> = runs.collect();
    if runs.is_empty() {
        "-".to_owned()
    } else {
        runs.join(" ")
    }
}

/// Formats the table with aligned columns.
fn table(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let line = |cells: &[String]| {
        let cells = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat((*width).max(3))).collect();
    let mut text = line(&rows[0]);
    text.push_str(&format!("| {} |\n", rule.join(" | ")));
    rows[1..].iter().for_each(|row| text.push_str(&line(row)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::Cause;
    use crate::testing::plan;

    #[test]
    fn a_cell_lists_scenarios_or_a_dash() {
        let of = |id: &str, phase, diagnosis| {
            let mut plan = plan();
            plan.id = id.parse().unwrap();
            plan.expect.phase = phase;
            plan.expect.diagnosis = diagnosis;
            plan
        };
        let plans = [
            of("al2/a", Some(Phase::Ready), None),
            of("al2/b", Some(Phase::Ready), None),
            of("al2/c", None, Some(Cause::RoleNotMapped)),
            of("first", Some(Phase::Ready), None),
        ];
        let text = matrix(&plans);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("| flow    | joins | fails, and says why |"),
            "{text}"
        );
        assert!(
            lines[2].starts_with("| `al2`   | 1-2   | 3                   | -        |"),
            "{text}"
        );
        assert!(
            lines[3].starts_with("| `first` | 1     | -                   |"),
            "{text}"
        );
        assert!(
            text.ends_with("- `al2`: 1 a, 2 b, 3 c\n- `first`: 1 first\n"),
            "{text}"
        );
    }

    #[test]
    fn consecutive_numbers_form_a_range() {
        assert_eq!(ranges(&[1, 2, 3, 5, 7, 8]), "1-3 5 7-8");
        assert_eq!(ranges(&[]), "-");
    }
}
