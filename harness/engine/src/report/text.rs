//! A verdict as text: one line for a scenario, and for a failed one its cause, its evidence and the action to take.

use std::collections::BTreeMap;
use std::fmt::Write;

use nodejoin_core::diagnosis::{Cause, Diagnosis};
use nodejoin_core::judge::verdict::{Outcome, Verdict, Versions};
use nodejoin_core::observation::Millis;
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::run::event::Summary;

use crate::report::failed_checks;
use crate::report::rows::{line, push};

/// How much of a verdict is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What a reader needs in order to act.
    Normal,
    /// Also the differences from the AMI.
    Full,
}

/// The lines of one finished scenario, without a final line break.
#[must_use]
pub fn scenario(name: &str, verdict: &Verdict, seconds: f64, evidence: Option<&str>) -> String {
    let mut text = header(verdict, seconds, name) + &details(verdict, Detail::Full);
    if let Some(folder) = evidence {
        line(&mut text, "evidence", folder);
    }
    text
}

/// The lines of a scenario at whose verdict the run stops, with the commands that lead in.
#[must_use]
pub fn held(name: &str, verdict: &Verdict, commands: &[String]) -> String {
    let mut text =
        format!("  {:<6}{:>8}  {name}", word(&verdict.outcome), "") + &details(verdict, Detail::Normal);
    let waits = "node, AWS and API server are alive; Ctrl-C removes them and ends the run";
    line(&mut text, "held", waits);
    commands
        .iter()
        .for_each(|command| line(&mut text, "enter", command));
    text
}

/// The first line of a scenario, with the cause of a failed one. What has a fixed width comes first, so that a long
/// name only wraps at its end.
#[must_use]
pub fn header(verdict: &Verdict, seconds: f64, name: &str) -> String {
    let diagnosis = verdict.diagnosis.as_ref();
    let why = diagnosis.filter(|_| verdict.outcome == Outcome::Failed);
    let why = why.map(|diagnosis| format!(" ({})", diagnosis.cause.word()));
    format!(
        "  {:<6}{seconds:>6.1} s  {name}{}",
        word(&verdict.outcome),
        why.unwrap_or_default()
    )
}

/// The lines of a verdict, each after a line break.
#[must_use]
pub fn details(verdict: &Verdict, detail: Detail) -> String {
    let mut text = String::new();
    match &verdict.outcome {
        Outcome::Passed => passed(&mut text, verdict),
        Outcome::Failed => failed(&mut text, verdict, detail),
        Outcome::Errored(reason) | Outcome::Skipped(reason) => line(&mut text, "because", reason),
        Outcome::Cancelled => {}
    }
    text
}

/// How many scenarios had each outcome; cancelled ones only if there are any.
pub(crate) fn counts(summary: &Summary) -> String {
    let Summary {
        passed,
        failed,
        errored,
        skipped,
        ..
    } = summary;
    let mut counts = format!("{passed} passed, {failed} failed, {errored} errored, {skipped} skipped");
    if summary.cancelled > 0 {
        let _ = write!(counts, ", {} cancelled", summary.cancelled);
    }
    if summary.not_run > 0 {
        let _ = write!(counts, ", {} not run", summary.not_run);
    }
    counts
}

/// A short word for an outcome, in upper case when it needs action.
#[must_use]
pub fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "ok",
        Outcome::Failed => "FAIL",
        Outcome::Errored(_) => "ERROR",
        Outcome::Skipped(_) => "skip",
        Outcome::Cancelled => "stop",
    }
}

/// The outcome as a word, also in JUnit reports.
pub(crate) fn outcome_word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
        Outcome::Errored(_) => "errored",
        Outcome::Skipped(_) => "skipped",
        Outcome::Cancelled => "cancelled",
    }
}

/// Why a scenario errored or was skipped.
pub(crate) fn reason(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Errored(reason) | Outcome::Skipped(reason) => Some(reason),
        Outcome::Passed | Outcome::Failed | Outcome::Cancelled => None,
    }
}

/// Why a scenario did not pass, in one sentence for JUnit and annotations.
#[must_use]
pub fn summary(verdict: &Verdict) -> String {
    match &verdict.outcome {
        Outcome::Passed => "passed".to_owned(),
        Outcome::Cancelled => "cancelled before it finished".to_owned(),
        Outcome::Errored(reason) | Outcome::Skipped(reason) => reason.clone(),
        Outcome::Failed => match (&verdict.diagnosis, failed_checks::of(verdict).next()) {
            (Some(diagnosis), _) => why(diagnosis),
            (None, Some(check)) => format!("{}: expected {}, got {}", check.key, check.expected, check.seen),
            (None, None) => "failed".to_owned(),
        },
    }
}

/// The name of a cause in a scenario's `expect.diagnosis`.
#[must_use]
pub fn cause(cause: Cause) -> String {
    let name = serde_json::to_value(cause).ok();
    name.and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// The phases in order of time, with their seconds; `-` for a skipped phase, at its usual position.
#[must_use]
pub fn phases(phases: &BTreeMap<Phase, Millis>) -> String {
    let Some(last) = phases.keys().max() else {
        return "reached no phase".to_owned();
    };
    let mut by_time: Vec<_> = phases.iter().collect();
    by_time.sort_by_key(|(_, millis)| **millis);
    let mut by_time = by_time.into_iter();
    let words = Phase::ALL.iter().take_while(|phase| *phase <= last).map(|phase| {
        let reached = phases.get(phase).and_then(|_| by_time.next());
        reached.map_or_else(
            || format!("{phase} -"),
            |(reached, millis)| format!("{reached} {}", seconds(*millis)),
        )
    });
    words.collect::<Vec<_>>().join("  ")
}

/// A line for each step after the join.
fn parts(text: &mut String, verdict: &Verdict) {
    for part in &verdict.parts {
        push(text, &format!("{}: {}", part.name, phases(&part.phases)));
        // The diagnosis of the failed step follows below, with its evidence.
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
        line(text, "expected", &why(diagnosis));
    }
    node(text, verdict);
    notes(text, verdict);
    changes(text, verdict);
}

/// The Node that joined, without the labels that every node has.
fn node(text: &mut String, verdict: &Verdict) {
    let Some(node) = &verdict.node else {
        return;
    };
    let labels: Vec<String> = node
        .own_labels()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let mut parts = vec![node.name.clone()];
    if !labels.is_empty() {
        parts.push(format!("labels {}", labels.join(" ")));
    }
    if !node.taints.is_empty() {
        parts.push(format!("taints {}", node.taints.join(" ")));
    }
    parts.extend(node.pods.as_ref().map(|pods| format!("{pods} pods")));
    line(text, "node", &parts.join(", "));
}

/// What deviations change in this node.
fn changes(text: &mut String, verdict: &Verdict) {
    let details = verdict.deviations.iter().flat_map(|deviation| &deviation.details);
    details.for_each(|detail| line(text, "differs", detail));
}

/// Problems of a node that joined nevertheless.
fn notes(text: &mut String, verdict: &Verdict) {
    verdict
        .notes
        .iter()
        .for_each(|note| line(text, "note", &note.what));
}

fn failed(text: &mut String, verdict: &Verdict, detail: Detail) {
    push(text, &phases(&verdict.phases));
    parts(text, verdict);
    if let Some(diagnosis) = &verdict.diagnosis {
        stopped(text, diagnosis);
    }
    failed_checks::append(text, verdict);
    // The check of `clean` lists the notes.
    if failed_checks::of(verdict).all(|check| check.key != "clean") {
        notes(text, verdict);
    }
    conditions(text, verdict, detail);
}

/// The cause in one sentence, with the phase at which the join stopped.
fn why(diagnosis: &Diagnosis) -> String {
    match diagnosis.cause.is_after_ready() {
        true => diagnosis.because.clone(),
        false => format!("stopped {}: {}", at(diagnosis.phase), diagnosis.because),
    }
}

fn stopped(text: &mut String, diagnosis: &Diagnosis) {
    if !diagnosis.cause.is_after_ready() {
        push(text, &format!("stopped {}", at(diagnosis.phase)));
    }
    line(text, "because", &diagnosis.because);
    line(text, "seen", &diagnosis.seen);
    line(text, "do", &diagnosis.remedy);
}

/// Differences from the AMI, and the versions that ran.
fn conditions(text: &mut String, verdict: &Verdict, detail: Detail) {
    if detail == Detail::Full && !verdict.deviations.is_empty() {
        let names: Vec<_> = verdict
            .deviations
            .iter()
            .map(|deviation| deviation.name.as_str())
            .collect();
        line(text, "differs", &format!("from the AMI by {}", names.join(", ")));
    }
    changes(text, verdict);
    if let Some(ran) = &verdict.versions {
        let image = ran.image.as_ref().map(|image| format!(", image `{image}`"));
        let Versions {
            kubernetes, kubelet, ..
        } = ran;
        let versions = format!(
            "Kubernetes {kubernetes}, kubelet {kubelet}{}",
            image.unwrap_or_default()
        );
        line(text, "with", &versions);
    }
}

fn at(phase: Option<Phase>) -> String {
    phase.map_or_else(
        || "before the node booted".to_owned(),
        |phase| format!("after `{phase}`"),
    )
}

fn seconds(millis: Millis) -> String {
    format!("{}.{}", millis / 1000, millis % 1000 / 100)
}

#[cfg(test)]
mod tests {
    use nodejoin_core::judge::verdict::{Check, JoinedNode, Note, NoteKind, VerdictPart};

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
            notes: Vec::new(),
            node: None,
            deviations: Vec::new(),
            parts: Vec::new(),
        }
    }

    fn note(what: &str) -> Note {
        Note {
            kind: NoteKind::UserDataFailed,
            what: what.to_owned(),
        }
    }

    #[test]
    fn a_passed_join_shows_reached_and_skipped_phases() {
        let text = scenario("a node joins", &verdict(Outcome::Passed), 6.24, None);
        assert!(text.starts_with("  ok       6.2 s  a node joins"), "{text}");
        assert!(
            text.ends_with("\n        booted 1.1  metadata 1.2  described -  configured 2.4"),
            "{text}"
        );
    }

    #[test]
    fn phases_are_in_order_of_time() {
        let reached = BTreeMap::from([
            (Phase::Booted, 1100),
            (Phase::Metadata, 3000),
            (Phase::Configured, 2400),
        ]);
        assert_eq!(
            phases(&reached),
            "booted 1.1  configured 2.4  described -  metadata 3.0"
        );
    }

    #[test]
    fn differences_from_the_ami_are_printed_in_full_detail_only() {
        let mut failed = verdict(Outcome::Failed);
        failed.deviations = vec![nodejoin_core::observation::Deviation {
            name: "pod-cidr".to_owned(),
            what: String::new(),
            why: String::new(),
            details: Vec::new(),
        }];
        assert!(details(&failed, Detail::Full).contains("differs   from the AMI by pod-cidr"));
        assert!(!details(&failed, Detail::Normal).contains("differs"));
    }

    #[test]
    fn a_failure_shows_its_phase_cause_evidence_and_remedy() {
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

        // The cause of a failed step is printed once.
        failed.parts.push(VerdictPart {
            name: "then reboot".to_owned(),
            phases: BTreeMap::new(),
            diagnosis: failed.diagnosis.clone(),
        });
        let text = scenario("a node joins", &failed, 14.0, None);
        assert_eq!(text.matches("role a is in no row").count(), 1, "{text}");
    }

    #[test]
    fn a_passed_join_shows_its_notes() {
        let mut passed = verdict(Outcome::Passed);
        passed.notes = vec![note("part-001 exited with 3"), note("systemd ignored a line")];
        let text = scenario("a node joins", &passed, 1.0, None);
        assert!(
            text.ends_with(
                "\n        note      part-001 exited with 3\n        note      systemd ignored a line"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_passed_join_shows_its_node() {
        let mut passed = verdict(Outcome::Passed);
        let label = |key: &str| (key.to_owned(), "x".to_owned());
        passed.node = Some(JoinedNode {
            name: "ip-10-0-0-1".to_owned(),
            labels: [label("kubernetes.io/os"), label("team")].into(),
            taints: vec!["a:NoSchedule".to_owned()],
            pods: Some("29".to_owned()),
        });
        let text = scenario("a node joins", &passed, 1.0, None);
        assert!(
            text.ends_with("\n        node      ip-10-0-0-1, labels team=x, taints a:NoSchedule, 29 pods"),
            "{text}"
        );
    }

    #[test]
    fn a_failed_check_is_the_summary_of_a_join_that_did_not_stop() {
        let mut failed = verdict(Outcome::Failed);
        failed.checks.push(Check {
            key: "node.labels.team".to_owned(),
            held: false,
            expected: "ironman".to_owned(),
            seen: "absent".to_owned(),
        });
        assert_eq!(summary(&failed), "node.labels.team: expected ironman, got absent");
    }
}
