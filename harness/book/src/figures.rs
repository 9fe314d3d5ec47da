//! The catalogue in the page of figures: each broken script, the historic regression that it repeats, and what the
//! suite must find. `ci/figures` measures the other parts of the page.

use std::path::Path;

use serde::Deserialize;

use crate::markdown::code;
use crate::read;

pub(crate) const PAGE: &str = "docs/src/internals/figures.md";

const BEGIN: &str = "<!-- catalogue: begin -->\n";
const END: &str = "<!-- catalogue: end -->";

/// A broken script of `fixtures/broken.yaml`.
#[derive(Deserialize)]
struct BrokenScript {
    name: String,
    regression: Option<Regression>,
    reason: Option<String>,
    scenario: String,
    caught_by: ExpectedFindings,
}

/// A historic regression.
#[derive(Deserialize)]
struct Regression {
    row: String,
    fixed_by: String,
}

#[derive(Deserialize)]
struct ExpectedFindings {
    #[serde(default)]
    checks: Vec<String>,
    diagnosis: Option<String>,
    #[serde(default)]
    diff: Vec<String>,
}

/// The committed page with the current catalogue.
pub(crate) fn page(repository: &Path) -> Result<String, String> {
    let page = read(repository, PAGE)?;
    let missing = || format!("`{PAGE}` has no part between `{}` and `{END}`", BEGIN.trim_end());
    let (before, rest) = page.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    let catalogue = catalogue(&read(repository, "fixtures/broken.yaml")?)?;
    Ok(format!("{before}{BEGIN}\n{catalogue}\n{END}{after}"))
}

fn catalogue(model: &str) -> Result<String, String> {
    let scripts: Vec<BrokenScript> =
        serde_yaml::from_str(model).map_err(|error| format!("`fixtures/broken.yaml`: {error}"))?;
    let mut rows = Vec::new();
    let mut others = Vec::new();
    for script in &scripts {
        let (name, scenario) = (code(&script.name), code(&script.scenario));
        let found = found(&script.caught_by);
        match (&script.regression, &script.reason) {
            (Some(Regression { row, fixed_by }), None) => {
                rows.push(format!(
                    "| {row} | {fixed_by} | {name} | {scenario} | {found} |\n"
                ));
            }
            (None, Some(reason)) => others.push(format!("| {name} | {reason} | {scenario} | {found} |\n")),
            (None, None) | (Some(_), Some(_)) => {
                return Err(format!(
                    "`fixtures/broken.yaml`: `{}` needs either `regression` or `reason`",
                    script.name
                ));
            }
        }
    }
    rows.sort();
    let mut known = rows.iter().filter_map(|row| row.split('|').nth(1));
    let first = known.next().map(str::trim).unwrap_or_default().to_owned();
    known.try_fold(first, |before, row| match row.trim() == before {
        true => Err(format!("`fixtures/broken.yaml`: two scripts for {before}")),
        false => Ok(row.trim().to_owned()),
    })?;
    Ok(format!(
        "{} historic regressions, each repeated by a broken script:\n\n\
         | row | fixed by | broken script | scenario | found by |\n| --- | --- | --- | --- | --- |\n{}\n\
         {} further broken scripts:\n\n\
         | broken script | why | scenario | found by |\n| --- | --- | --- | --- |\n{}",
        rows.len(),
        rows.concat(),
        others.len(),
        others.concat()
    ))
}

/// What the suite must find, such as "`phase`, diagnosis `kubelet-exits`".
fn found(by: &ExpectedFindings) -> String {
    let checks = by.checks.iter().map(|check| code(check));
    let cause = by
        .diagnosis
        .iter()
        .map(|cause| format!("diagnosis {}", code(cause)));
    let diff = by.diff.iter().map(|part| format!("`nodejoin diff`: {part}"));
    checks.chain(cause).chain(diff).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: &str = "- { name: a, regression: { row: R06, fixed_by: x 1 }, scenario: s, caught_by: { diff: [links] } }\n\
        - { name: b, reason: why, scenario: s, caught_by: { checks: [phase], diagnosis: kubelet-exits } }\n";

    #[test]
    fn a_broken_script_has_a_row_or_a_reason() {
        let text = catalogue(SOUND).unwrap();
        assert!(
            text.contains("| R06 | x 1 | `a` | `s` | `nodejoin diff`: links |"),
            "{text}"
        );
        assert!(
            text.contains("| `b` | why | `s` | `phase`, diagnosis `kubelet-exits` |"),
            "{text}"
        );
        for (old, new) in [
            ("reason: why, ", ""),
            (
                "reason: why, ",
                "reason: why, regression: { row: R1, fixed_by: y }, ",
            ),
            ("reason: why, ", "regression: { row: R06, fixed_by: y }, "),
        ] {
            let error = catalogue(&SOUND.replace(old, new));
            assert!(error.is_err(), "{old} -> {new}: {error:?}");
        }
    }
}
