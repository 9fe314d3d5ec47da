//! Checks of systemd units: states, enablement, slices and properties.

use super::{check, list, same};
use crate::judge::verdict::Check;
use crate::observation::Collected;
use crate::plan::expect::{Expect, UnitExpect};

/// Checks of each unit, then of the set of enabled units.
pub(super) fn units(expect: &Expect, collected: &Collected) -> Vec<Check> {
    let units = expect.units.iter();
    let mut checks: Vec<Check> = units
        .flat_map(|(unit, required)| self::unit(unit, required, collected))
        .collect();
    if let Some(required) = &expect.units_enabled {
        let seen = collected.units_enabled.as_deref();
        let held = seen.is_some_and(|seen| same(seen, required));
        let found = seen.map_or("not collected".to_owned(), list);
        checks.push(check("units_enabled", held, list(required), found));
    }
    checks
}

fn unit(unit: &str, required: &UnitExpect, collected: &Collected) -> Vec<Check> {
    let property = |name: &str| collected.unit_properties.get(&format!("{unit} {name}"));
    let mut checks = Vec::new();
    if let Some(state) = required.state() {
        let seen = collected.units.get(unit).map_or("unknown", String::as_str);
        checks.push(check(format!("units.{unit}"), seen == state, state, seen));
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
