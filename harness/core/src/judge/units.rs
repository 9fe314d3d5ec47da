//! Checks of systemd units: states, enablement, slices and properties.

use super::{check, list, same};
use crate::judge::verdict::Check;
use crate::observation::{Collected, JournalLine, Observation, ObservedEvent};
use crate::plan::expect::{Expect, UnitExpect};

/// Longest line that a check quotes, in characters.
const LONGEST: usize = 160;

/// Checks of each unit, then of the set of enabled units.
pub(super) fn units(expect: &Expect, collected: &Collected, observation: &Observation) -> Vec<Check> {
    let units = expect.units.iter();
    let mut checks: Vec<Check> = units
        .flat_map(|(unit, required)| self::unit(unit, required, collected, observation))
        .collect();
    if let Some(required) = &expect.units_enabled {
        let seen = collected.units_enabled.as_deref();
        let held = seen.is_some_and(|seen| same(seen, required));
        let found = seen.map_or("not collected".to_owned(), list);
        checks.push(check("units_enabled", held, list(required), found));
    }
    checks
}

fn unit(unit: &str, required: &UnitExpect, collected: &Collected, observation: &Observation) -> Vec<Check> {
    let property = |name: &str| collected.unit_properties.get(&format!("{unit} {name}"));
    let mut checks = Vec::new();
    if let Some(state) = required.state() {
        let seen = collected.units.get(unit).map_or("unknown", String::as_str);
        let held = seen == state;
        let why = match held {
            true => None,
            false => last_failure(unit, observation),
        };
        let found = why.map_or_else(|| seen.to_owned(), |why| format!("{seen}: {why}"));
        checks.push(check(format!("units.{unit}"), held, state, found));
    }
    if let Some(enabled) = required.enabled() {
        let seen = property("UnitFileState").map_or("unknown", String::as_str);
        let is_enabled = seen.starts_with("enabled");
        let held = is_enabled == enabled && seen != "unknown";
        let expected = if enabled { "enabled" } else { "not enabled" };
        let found = if seen.is_empty() { "not found" } else { seen };
        checks.push(check(format!("units.{unit}.enabled"), held, expected, found));
    }
    for (name, value) in required.properties() {
        let seen = property(name).map_or("no such property", String::as_str);
        let key = format!("units.{unit}.{name}");
        checks.push(check(key, seen == value, value, seen));
    }
    checks
}

/// What a unit printed before it last failed, or what systemd says about its end.
fn last_failure(unit: &str, observation: &Observation) -> Option<String> {
    let lines: Vec<&JournalLine> = observation
        .timeline
        .iter()
        .filter_map(|entry| match &entry.what {
            ObservedEvent::Journal(line) if line.unit.as_deref() == Some(unit) => Some(line),
            _ => None,
        })
        .collect();
    let is_start = |line: &JournalLine| line.by_systemd && line.message.starts_with("Start");
    let is_end = |line: &JournalLine| line.by_systemd && line.message.contains("Failed with result");
    let end = lines.iter().rposition(|line| is_end(line))?;
    let start = lines[..end].iter().rposition(|line| is_start(line)).unwrap_or(0);
    let run = &lines[start..end];
    let by_program = run
        .iter()
        .rev()
        .find(|line| !line.by_systemd && !line.message.trim().is_empty());
    let exit = run.iter().find(|line| line.message.contains("exited"));
    let said = by_program.or(exit).unwrap_or(&lines[end]);
    Some(said.message.trim().chars().take(LONGEST).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::phases::tests::observed;

    fn line(message: &str, by_systemd: bool) -> ObservedEvent {
        ObservedEvent::Journal(JournalLine {
            unit: Some("agent.service".to_owned()),
            command: None,
            by_systemd,
            message: message.to_owned(),
        })
    }

    #[test]
    fn a_failed_unit_says_why() {
        let started = || line("Started agent.service.", true);
        let exited = || {
            line(
                "agent.service: Main process exited, code=exited, status=1/FAILURE",
                true,
            )
        };
        let failed = || line("agent.service: Failed with result 'exit-code'.", true);
        let why = |events: Vec<ObservedEvent>| last_failure("agent.service", &observed(events));
        let said = vec![
            line("an earlier run", false),
            started(),
            line("no key", false),
            exited(),
            failed(),
        ];
        assert_eq!(why(said).as_deref(), Some("no key"));
        let silent = vec![line("an earlier run", false), started(), exited(), failed()];
        assert_eq!(
            why(silent).as_deref(),
            Some("agent.service: Main process exited, code=exited, status=1/FAILURE")
        );
        assert_eq!(why(vec![started()]), None);
        let of_another = observed([started(), exited(), failed()]);
        assert_eq!(last_failure("other.service", &of_another), None);
    }
}
