//! Units of systemd.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{is_misspelt, meant};
use crate::input::problems::Problems;
use crate::input::yaml::PathStep;
use crate::plan::Plan;
use crate::vocabulary::unit::{KNOWN, TYPES};

/// Checks the names of expected units. A unit that nothing mentions can still be part of the node image, so that only
/// a misspelt name is rejected here; the verdict reports a unit that the node does not have as `not-found`.
pub(in crate::scenario::rules) fn units(plan: &Plan, problems: &mut Problems<'_>) {
    for unit in plan.expect.units.keys() {
        self::unit(
            plan,
            unit,
            &["expect", "units", unit].map(PathStep::Key),
            problems,
        );
    }
}

/// Checks the name of a unit, as [`units`] does.
pub(in crate::scenario::rules) fn unit(
    plan: &Plan,
    unit: &str,
    at: &[PathStep<'_>],
    problems: &mut Problems<'_>,
) {
    let (stem, kind) = unit.rsplit_once('.').unwrap_or((unit, ""));
    if !TYPES.contains(&kind) {
        let hint = meant(unit, KNOWN.iter().copied(), "units");
        let hint = if hint.is_empty() {
            format!("for example `{unit}.service`")
        } else {
            hint
        };
        problems.add_at(
            at,
            format!("invalid unit `{unit}`: expected a name with its type"),
            "",
            hint,
        );
    } else if !KNOWN.contains(&unit) && !user_data(plan).contains(stem) && !is_in_overlay(plan, unit) {
        misspelt(unit, stem, at, problems);
    }
}

fn misspelt(unit: &str, stem: &str, at: &[PathStep<'_>], problems: &mut Problems<'_>) {
    let stem_of = |known: &'static str| known.rsplit_once('.').map_or(known, |(stem, _)| stem);
    if let Some(right) = KNOWN.iter().find(|known| is_misspelt(stem, stem_of(known))) {
        let why = "neither the node image, nor the overlay, nor the user data has it";
        problems.add_at(
            at,
            format!("unknown unit `{unit}`"),
            why,
            format!("did you mean `{right}`?"),
        );
    }
}

fn user_data(plan: &Plan) -> String {
    let bytes = plan
        .user_data
        .as_ref()
        .and_then(|data| STANDARD.decode(&data.base64).ok());
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

fn is_in_overlay(plan: &Plan, unit: &str) -> bool {
    plan.image
        .added()
        .any(|file| file.to.ends_with(&format!("/{unit}")))
}
