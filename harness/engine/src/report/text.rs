//! A verdict as a person reads it: one line a scenario, and below a failed one what stopped it and what to do.

use std::collections::BTreeMap;
use std::fmt::Write;

use nodejoin_core::diagnosis::{Cause, Diagnosis};
use nodejoin_core::judge::verdict::{Check, Outcome, Verdict, Versions};
use nodejoin_core::observation::Millis;
use nodejoin_core::observation::phase::Phase;

/// A line of details that is longer than this is broken up.
const WIDTH: usize = 110;
/// More checks than these that saw the same are told as one.
const FEW: usize = 3;
/// Where the details of a scenario start.
const INDENT: &str = "        ";

/// The lines of one finished scenario, the last without its line end.
#[must_use]
pub fn scenario(name: &str, verdict: &Verdict, seconds: f64, evidence: Option<&str>) -> String {
    let mut text = format!("  {:<6}{name:<74} {seconds:>5.1} s", word(&verdict.outcome));
    match &verdict.outcome {
        Outcome::Passed => passed(&mut text, verdict),
        Outcome::Failed => failed(&mut text, verdict),
        Outcome::Errored(reason) | Outcome::Skipped(reason) => line(&mut text, "because", reason),
        Outcome::Cancelled => {}
    }
    if let Some(folder) = evidence {
        line(&mut text, "evidence", folder);
    }
    text
}

/// The word of an outcome: short, and upper case where somebody has to act.
#[must_use]
pub fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "ok",
        Outcome::Failed => "FAIL",
        Outcome::Errored(_) => "ERROR",
        Outcome::Skipped(_) => "skip",
        Outcome::Cancelled => "ended",
    }
}

/// One sentence that says why a scenario did not pass; what JUnit readers and annotations show.
#[must_use]
pub fn summary(verdict: &Verdict) -> String {
    match &verdict.outcome {
        Outcome::Passed => "passed".to_owned(),
        Outcome::Cancelled => "cancelled before its end".to_owned(),
        Outcome::Errored(reason) | Outcome::Skipped(reason) => reason.clone(),
        Outcome::Failed => match (&verdict.diagnosis, broken(verdict).next()) {
            (Some(diagnosis), _) => format!("stopped {}: {}", at(diagnosis.phase), diagnosis.because),
            (None, Some(check)) => format!("{}: expected {}, saw {}", check.key, check.expected, check.seen),
            (None, None) => "failed".to_owned(),
        },
    }
}

/// The name of a cause, as a scenario's `expect.diagnosis` writes it.
#[must_use]
pub fn cause(cause: Cause) -> String {
    let name = serde_json::to_value(cause).ok();
    name.and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// When each phase was reached, in seconds, `-` where it was passed over.
#[must_use]
pub fn phases(phases: &BTreeMap<Phase, Millis>) -> String {
    let Some(last) = phases.keys().max() else {
        return "no phase was reached".to_owned();
    };
    let words = Phase::ALL
        .iter()
        .take_while(|phase| *phase <= last)
        .map(|phase| match phases.get(phase) {
            Some(millis) => format!("{phase} {}", seconds(*millis)),
            None => format!("{phase} -"),
        });
    words.collect::<Vec<_>>().join("  ")
}

/// What came after the join, a line each.
fn parts(text: &mut String, verdict: &Verdict) {
    for part in &verdict.parts {
        push(text, &format!("{}: {}", part.name, phases(&part.phases)));
        // That of the step which failed is told below, with its evidence.
        if let Some(diagnosis) = &part.diagnosis
            && part.diagnosis != verdict.diagnosis
        {
            line(text, "because", &diagnosis.because);
        }
    }
}

fn passed(text: &mut String, verdict: &Verdict) {
    push(text, &phases(&verdict.phases));
    parts(text, verdict);
    if let Some(diagnosis) = &verdict.diagnosis {
        line(
            text,
            "as wanted",
            &format!("stopped {}: {}", at(diagnosis.phase), diagnosis.because),
        );
    }
}

fn failed(text: &mut String, verdict: &Verdict) {
    push(text, &phases(&verdict.phases));
    parts(text, verdict);
    if let Some(diagnosis) = &verdict.diagnosis {
        stopped(text, diagnosis);
    }
    for alike in alike(verdict) {
        wrong_together(text, &alike);
    }
    differs(text, verdict);
}

/// Broken checks, those together that saw the same: a node that never came breaks all that is wanted of it.
fn alike(verdict: &Verdict) -> Vec<Vec<&Check>> {
    let mut groups: Vec<Vec<&Check>> = Vec::new();
    for check in broken(verdict) {
        match groups.iter_mut().find(|group| group[0].seen == check.seen) {
            Some(group) => group.push(check),
            None => groups.push(vec![check]),
        }
    }
    groups
}

/// As many checks as can be read are told one by one.
fn wrong_together(text: &mut String, alike: &[&Check]) {
    if alike.len() <= FEW {
        return alike.iter().for_each(|check| wrong(text, check));
    }
    let (first, rest) = (alike[0], alike.len() - 1);
    line(
        text,
        "wrong",
        &format!(
            "{} and {rest} more, all in `verdict.json`: saw {}",
            first.key, first.seen
        ),
    );
}

/// One line where it fits, three where it does not.
fn wrong(text: &mut String, check: &Check) {
    let short = format!("{}: wanted {}, saw {}", check.key, check.expected, check.seen);
    if short.len() <= WIDTH && !short.contains('\n') {
        return line(text, "wrong", &short);
    }
    line(text, "wrong", &check.key);
    line(text, "  wanted", &check.expected);
    line(text, "  saw", &check.seen);
}

fn stopped(text: &mut String, diagnosis: &Diagnosis) {
    push(text, &format!("stopped {}", at(diagnosis.phase)));
    line(text, "because", &diagnosis.because);
    line(text, "seen", &diagnosis.seen);
    line(text, "do", &diagnosis.remedy);
}

/// What this node had other than the AMI would: whoever doubts a verdict looks here first.
fn differs(text: &mut String, verdict: &Verdict) {
    if !verdict.deviations.is_empty() {
        let names: Vec<_> = verdict
            .deviations
            .iter()
            .map(|deviation| deviation.name.as_str())
            .collect();
        line(text, "differs", &format!("from the AMI by {}", names.join(", ")));
    }
    if let Some(ran) = &verdict.versions {
        let Versions { kubernetes, kubelet } = ran;
        line(
            text,
            "with",
            &format!("Kubernetes {kubernetes}, kubelet {kubelet}"),
        );
    }
}

fn broken(verdict: &Verdict) -> impl Iterator<Item = &Check> {
    verdict.checks.iter().filter(|check| !check.held)
}

fn at(phase: Option<Phase>) -> String {
    phase.map_or_else(
        || "before it booted".to_owned(),
        |phase| format!("after `{phase}`"),
    )
}

fn seconds(millis: Millis) -> String {
    format!("{}.{}", millis / 1000, millis % 1000 / 100)
}

fn line(text: &mut String, label: &str, value: &str) {
    let mut rest = value.lines();
    push(text, &format!("{label:<10}{}", rest.next().unwrap_or_default()));
    for more in rest {
        push(text, &format!("{:<10}{more}", ""));
    }
}

fn push(text: &mut String, value: &str) {
    // Writing to a String cannot fail.
    let _ = write!(text, "\n{INDENT}{value}");
}

#[cfg(test)]
mod tests {
    use nodejoin_core::judge::verdict::VerdictPart;

    use super::*;

    fn verdict(outcome: Outcome) -> Verdict {
        Verdict {
            outcome,
            versions: None,
            phases: BTreeMap::from([
                (Phase::Booted, 1100),
                (Phase::Metadata, 1249),
                (Phase::Configured, 2400),
            ]),
            diagnosis: None,
            checks: Vec::new(),
            deviations: Vec::new(),
            parts: Vec::new(),
        }
    }

    #[test]
    fn a_join_shows_its_phases_and_what_was_passed_over() {
        let text = scenario("a node joins", &verdict(Outcome::Passed), 6.24, None);
        assert!(text.starts_with("  ok    a node joins"), "{text}");
        assert!(
            text.ends_with("\n        booted 1.1  metadata 1.2  described -  configured 2.4"),
            "{text}"
        );
    }

    #[test]
    fn a_failure_says_where_why_and_what_to_do() {
        let mut failed = verdict(Outcome::Failed);
        failed.diagnosis = Some(Diagnosis {
            phase: Some(Phase::Configured),
            cause: Cause::RoleNotMapped,
            because: "role a is in no row".to_owned(),
            seen: "authenticator, 7.9 s: not mapped".to_owned(),
            remedy: "add the role".to_owned(),
            script: None,
        });
        let text = scenario("a node joins", &failed, 14.0, Some("target/nodejoin/x"));
        for part in [
            "stopped after `configured`",
            "because   role a",
            "seen      auth",
            "do        add",
            "evidence  target",
        ] {
            assert!(text.contains(part), "`{part}` is missing in:\n{text}");
        }
        assert_eq!(
            summary(&failed),
            "stopped after `configured`: role a is in no row"
        );

        // Of a step that failed the cause is told once.
        failed.parts.push(VerdictPart {
            name: "then reboot".to_owned(),
            phases: BTreeMap::new(),
            diagnosis: failed.diagnosis.clone(),
        });
        let text = scenario("a node joins", &failed, 14.0, None);
        assert_eq!(text.matches("role a is in no row").count(), 1, "{text}");
    }

    #[test]
    fn checks_that_saw_the_same_are_told_as_one() {
        let mut failed = verdict(Outcome::Failed);
        failed.checks = (0..9)
            .map(|number| Check {
                key: format!("node.labels.{number}"),
                held: false,
                expected: "x".to_owned(),
                seen: "there is no Node".to_owned(),
            })
            .collect();
        let text = scenario("a node joins", &failed, 1.0, None);
        assert!(
            text.contains("wrong     node.labels.0 and 8 more, all in `verdict.json`: saw there is no Node"),
            "{text}"
        );
        assert!(!text.contains("node.labels.5"), "{text}");
    }

    #[test]
    fn a_broken_check_is_the_summary_where_nothing_stopped() {
        let mut failed = verdict(Outcome::Failed);
        failed.checks.push(Check {
            key: "node.labels.team".to_owned(),
            held: false,
            expected: "ironman".to_owned(),
            seen: "absent".to_owned(),
        });
        assert_eq!(summary(&failed), "node.labels.team: expected ironman, saw absent");
    }
}
