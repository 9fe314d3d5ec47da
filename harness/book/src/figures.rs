//! The catalogue in the page of figures: each broken script, the historic regression that it repeats, and what the
//! suite must find. `ci/figures` measures the other parts of the page.

use std::path::Path;

use serde::Deserialize;

use crate::files::read;
use crate::markdown::code;

pub(crate) const PAGE: &str = "docs/src/internals/figures.md";

const BROKEN: &str = "fixtures/broken.yaml";
const NOT_REPEATED: &str = "fixtures/not-repeated.yaml";
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

/// A historic regression of `fixtures/not-repeated.yaml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NotRepeated {
    row: String,
    fixed_by: String,
    reason: String,
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
    let catalogue = catalogue(&read(repository, BROKEN)?, &read(repository, NOT_REPEATED)?)?;
    Ok(format!("{before}{BEGIN}\n{catalogue}\n{END}{after}"))
}

fn catalogue(broken: &str, not_repeated: &str) -> Result<String, String> {
    let scripts: Vec<BrokenScript> = list(broken, BROKEN)?;
    let not_repeated: Vec<NotRepeated> = list(not_repeated, NOT_REPEATED)?;
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
                    "`{BROKEN}`: `{}` needs either `regression` or `reason`",
                    script.name
                ));
            }
        }
    }
    rows.sort();
    let repeated = scripts.iter().filter_map(|script| script.regression.as_ref());
    let repeated = repeated.map(|regression| regression.row.as_str());
    let mut known: Vec<&str> = repeated
        .chain(not_repeated.iter().map(|one| one.row.as_str()))
        .collect();
    known.sort_unstable();
    if let Some(twice) = known.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!(
            "`{BROKEN}` and `{NOT_REPEATED}`: {} is there twice",
            twice[0]
        ));
    }
    let missing = not_repeated.iter().map(
        |NotRepeated {
             row,
             fixed_by,
             reason,
         }| { format!("| {row} | {fixed_by} | {reason} |\n") },
    );
    Ok(format!(
        "{} historic regressions, each repeated by a broken script:\n\n\
         | row | fixed by | broken script | scenario | found by |\n| --- | --- | --- | --- | --- |\n{}\n\
         {} that no script repeats:\n\n\
         | row | fixed by | why |\n| --- | --- | --- |\n{}\n\
         {} further broken scripts:\n\n\
         | broken script | why | scenario | found by |\n| --- | --- | --- | --- |\n{}",
        rows.len(),
        rows.concat(),
        not_repeated.len(),
        missing.collect::<String>(),
        others.len(),
        others.concat()
    ))
}

fn list<T: serde::de::DeserializeOwned>(model: &str, file: &str) -> Result<Vec<T>, String> {
    serde_yaml::from_str(model).map_err(|error| format!("`{file}`: {error}"))
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

    const MISSING: &str = "- { row: R34, fixed_by: y 2, reason: not here }\n";

    #[test]
    fn every_row_is_repeated_or_has_a_reason() {
        let repository = crate::repository();
        let scripts: Vec<BrokenScript> = list(&read(&repository, BROKEN).unwrap(), BROKEN).unwrap();
        let missing: Vec<NotRepeated> =
            list(&read(&repository, NOT_REPEATED).unwrap(), NOT_REPEATED).unwrap();
        let repeated = scripts.into_iter().filter_map(|script| script.regression);
        let mut rows: Vec<String> = repeated.map(|regression| regression.row).collect();
        rows.extend(missing.into_iter().map(|one| one.row));
        rows.sort();
        let all: Vec<String> = (2..=78).step_by(2).map(|row| format!("R{row:02}")).collect();
        assert_eq!(rows, all);
    }

    #[test]
    fn a_broken_script_has_a_row_or_a_reason() {
        let text = catalogue(SOUND, MISSING).unwrap();
        assert!(
            text.contains("1 that no script repeats:") && text.contains("| R34 | y 2 | not here |"),
            "{text}"
        );
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
            let error = catalogue(&SOUND.replace(old, new), MISSING);
            assert!(error.is_err(), "{old} -> {new}: {error:?}");
        }
        let error = catalogue(SOUND, &MISSING.replace("R34", "R06")).unwrap_err();
        assert!(error.ends_with("R06 is there twice"), "{error}");
    }
}
