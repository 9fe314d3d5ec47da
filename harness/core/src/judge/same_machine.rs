//! The checks of `same_as` and `golden.machine`: two scenarios, or two versions of one, leave the same machine.

use super::check;
use crate::compare::{ChangedLine, MachineDifference};
use crate::judge::verdict::{Check, Outcome, Verdict};
use crate::plan::expect::SameAsExpect;
use crate::vocabulary::wildcard::matches;

/// Lines of each part that the check quotes.
const QUOTED: usize = 3;
/// The key of the check of `golden.machine`.
pub const MACHINE_SNAPSHOT: &str = "golden.machine";

/// Holds if the machines differ in excepted parts only. Of a difference, old lines are those of the other scenario.
#[must_use]
pub fn same_machine(required: &SameAsExpect, differences: &[MachineDifference]) -> Check {
    let is_excepted = |part: &str| required.except.iter().any(|except| matches(except, part));
    let others = differences.iter().filter(|one| !is_excepted(&one.part));
    let seen: Vec<String> = others.map(text).collect();
    let except = match required.except.as_slice() {
        [] => String::new(),
        parts => format!(", except {}", parts.join(", ")),
    };
    let expected = format!("the machine of {}{except}", required.name());
    match seen.is_empty() {
        true => check("same_as", true, expected, "the same machine"),
        false => check("same_as", false, expected, seen.join("; ")),
    }
}

/// The check of `golden.machine`. Of a difference, old lines are those of the snapshot.
#[must_use]
pub fn machine_snapshot(path: &str, differences: &[MachineDifference]) -> Check {
    let seen: Vec<String> = differences.iter().map(text).collect();
    let expected = format!("equal to {path}");
    match seen.is_empty() {
        true => check(MACHINE_SNAPSHOT, true, expected, "equal"),
        false => check(MACHINE_SNAPSHOT, false, expected, seen.join("; ")),
    }
}

/// The check of a snapshot that cannot be compared.
#[must_use]
pub fn unusable_machine_snapshot(path: &str, why: &str) -> Check {
    check(MACHINE_SNAPSHOT, false, format!("equal to {path}"), why)
}

/// Adds a check to a verdict, which then passes only if it holds.
pub fn add_check(verdict: &mut Verdict, check: Check) {
    if !check.held && verdict.outcome == Outcome::Passed {
        verdict.outcome = Outcome::Failed;
    }
    verdict.checks.push(check);
}

fn text(difference: &MachineDifference) -> String {
    let lines = difference.lines.iter().take(QUOTED).map(|line| match line {
        ChangedLine::Old(line) => format!("lacks `{line}`"),
        ChangedLine::New(line) => format!("has `{line}`"),
    });
    let more = difference.lines.len().saturating_sub(QUOTED);
    let more = (more > 0).then(|| format!("and {more} more"));
    let lines: Vec<String> = lines.chain(more).collect();
    format!("{}: {}", difference.part, lines.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(except: &[&str], parts: &[&str]) -> Check {
        let required = SameAsExpect {
            scenario: "a.yaml".to_owned(),
            except: except.iter().map(|part| (*part).to_owned()).collect(),
            ..SameAsExpect::default()
        };
        let differences: Vec<MachineDifference> = parts
            .iter()
            .map(|part| MachineDifference {
                part: (*part).to_owned(),
                lines: vec![ChangedLine::Old("1".into()), ChangedLine::New("2".into())],
            })
            .collect();
        same_machine(&required, &differences)
    }

    #[test]
    fn a_snapshot_is_equal_or_names_the_parts_that_differ() {
        assert!(machine_snapshot("a.machine", &[]).held);
        let differs = MachineDifference {
            part: "kubelet arguments".to_owned(),
            lines: vec![ChangedLine::Old("--v=2".into())],
        };
        let check = machine_snapshot("a.machine", &[differs]);
        assert!(!check.held && check.key == "golden.machine");
        assert_eq!(check.seen, "kubelet arguments: lacks `--v=2`");
        assert_eq!(check.expected, "equal to a.machine");
    }

    #[test]
    fn only_excepted_parts_may_differ() {
        assert!(judged(&[], &[]).held);
        assert!(judged(&["file /etc/*"], &["file /etc/x"]).held);
        let check = judged(&["file /etc/*"], &["file /etc/x", "kubelet arguments"]);
        assert!(!check.held);
        assert_eq!(check.seen, "kubelet arguments: lacks `1`, has `2`");
        assert_eq!(check.expected, "the machine of a.yaml, except file /etc/*");
    }
}
