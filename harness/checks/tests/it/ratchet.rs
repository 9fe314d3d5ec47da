//! Compares what a test counts with the committed maximum, which may only go down.

use std::collections::BTreeMap;

/// Fails with every finding of an area that has more than its maximum; an area without one may have none.
///
/// With `--nocapture` it prints the maxima that can be lowered.
#[track_caller]
pub(crate) fn assert_at_most(what: &str, found: &BTreeMap<String, Vec<String>>, maximum: &[(&str, usize)]) {
    for (area, allowed) in maximum {
        let count = found.get(*area).map_or(0, Vec::len);
        if count < *allowed {
            println!("{area}: {count} {what}, the maximum is {allowed}: lower it");
        }
    }
    let mut report = String::new();
    for (area, findings) in found {
        let allowed = maximum
            .iter()
            .find(|(name, _)| name == area)
            .map_or(0, |(_, count)| *count);
        if findings.len() > allowed {
            report.push_str(&format!("{area}: {} {what}, at most {allowed}\n", findings.len()));
            for finding in findings {
                report.push_str(&format!("  {finding}\n"));
            }
        }
    }
    assert!(report.is_empty(), "{report}");
}
