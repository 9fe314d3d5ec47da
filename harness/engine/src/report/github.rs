//! Workflow commands of GitHub Actions: an annotation for each scenario that did not pass, at the line that caused the
//! verdict.
//!
//! GitHub's page "Workflow commands" describes the format, and the runner's `ActionCommand.cs` parses it. GitHub shows
//! at most ten annotations of a level for a step, so a scenario has one annotation, not one for each check.

use std::path::{Component, Path, PathBuf};

use nodejoin_core::compare::{Comparison, Group};
use nodejoin_core::input::problem::{Problem, ScenarioError};
use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::plan::sources::SourceLine;
use nodejoin_core::redact::redact;
use nodejoin_core::run::event::RunEvent;

use crate::report::comparison::sentences::{changed, shown_lines, where_shown};
use crate::report::text;

/// Lines of each difference in an annotation.
const LINES_OF_ANNOTATION: usize = 8;

/// The folders of a step. GitHub identifies files by their paths below the workspace.
#[derive(Debug, Clone)]
pub struct Checkout {
    /// `GITHUB_WORKSPACE`.
    pub workspace: PathBuf,
    /// The working folder of this process, the base of relative paths.
    pub folder: PathBuf,
}

impl Checkout {
    /// A file's path below the workspace; `None` for a file elsewhere.
    fn path_of(&self, file: &str) -> Option<String> {
        let absolute = without_dots(&self.folder.join(file));
        let below = absolute.strip_prefix(without_dots(&self.workspace)).ok()?;
        Some(below.display().to_string()).filter(|path| !path.is_empty())
    }

    /// The properties of an annotation at the first line that is in the workspace.
    fn properties(&self, lines: &[&SourceLine]) -> Vec<(&'static str, String)> {
        let found = lines
            .iter()
            .find_map(|line| Some((self.path_of(&line.file)?, line.line)));
        let (file, line) = match found {
            Some((file, line)) => (Some(file), line),
            None => (None, None),
        };
        let file = file.map(|file| ("file", file));
        let line = line.map(|line| ("line", line.to_string()));
        file.into_iter().chain(line).collect()
    }
}

/// The lines for an event in the log of GitHub Actions; `None` for an event without annotation.
#[must_use]
pub fn event(event: &RunEvent, checkout: &Checkout) -> Option<String> {
    match event {
        RunEvent::ScenarioFinished {
            name,
            file,
            source,
            verdict,
            seconds,
            evidence,
            kept,
            ..
        } => {
            let mut shown = text::scenario(name, verdict, *seconds, evidence.as_deref());
            kept.iter()
                .for_each(|line| shown.push_str(&format!("\n        kept      {line}")));
            let shown = harmless(&shown);
            let file = SourceLine {
                file: file.clone(),
                line: None,
            };
            let properties = checkout.properties(&[source, &file]);
            Some(match annotation(name, verdict, evidence.as_deref(), properties) {
                None => shown,
                // Only long output is folded.
                Some(annotation) if is_long(verdict) => format!("{}\n{annotation}", grouped(&shown)),
                Some(annotation) => format!("{shown}\n{annotation}"),
            })
        }
        RunEvent::Warning { text } => Some(command("warning", &[], text)),
        _ => None,
    }
}

/// Annotations for the differences of two versions, each at the first changed line that can cause it.
#[must_use]
pub fn comparison(comparison: &Comparison, checkout: &Checkout) -> String {
    let one = |group: &Group| {
        let fails = comparison.joins_of(group).find(|join| join.is_new_failure());
        let level = if fails.is_some() { "error" } else { "warning" };
        let mut properties = checkout.properties(&group.changed.iter().collect::<Vec<_>>());
        properties.push(("title", format!("nodejoin diff {}", group.id)));
        let mut lines = vec![where_shown(group, comparison.compared())];
        if group.changed.len() > 1 {
            lines.extend(changed(group).map(|places| format!("changed at {places}")));
        }
        if let Some(join) = fails {
            let why = join.new.cause.as_deref().unwrap_or("no cause was found");
            lines.push(format!("{} does not pass any more: {why}", join.scenario));
        }
        for difference in &group.differences {
            lines.push(format!("{}:", difference.part));
            lines.extend(shown_lines(difference, LINES_OF_ANNOTATION));
        }
        command(level, &properties, &lines.join("\n"))
    };
    let lines = comparison.open().into_iter().map(one);
    lines.collect::<Vec<_>>().join("\n")
}

/// Annotations for invalid scenarios.
#[must_use]
pub fn refused(error: &ScenarioError, checkout: &Checkout) -> String {
    let lines = error.problems.iter().map(|problem| refusal(problem, checkout));
    lines.collect::<Vec<_>>().join("\n")
}

fn refusal(problem: &Problem, checkout: &Checkout) -> String {
    let source = SourceLine {
        file: problem.file.clone(),
        line: Some(problem.position.line).filter(|line| *line > 0),
    };
    let mut properties = checkout.properties(&[&source]);
    if problem.position.column > 0 && properties.len() == 2 {
        properties.push(("col", problem.position.column.to_string()));
    }
    properties.push(("title", "nodejoin: invalid scenario".to_owned()));
    let hint = problem
        .hint()
        .map(|hint| format!("\ndo: {hint}"))
        .unwrap_or_default();
    command("error", &properties, &format!("{problem}{hint}"))
}

fn annotation(
    name: &str,
    verdict: &Verdict,
    evidence: Option<&str>,
    mut properties: Vec<(&'static str, String)>,
) -> Option<String> {
    let (level, word) = match verdict.outcome {
        Outcome::Passed if verdict.notes.is_empty() => return None,
        Outcome::Passed => ("warning", "passed with notes"),
        Outcome::Failed => ("error", "failed"),
        Outcome::Errored(_) => ("error", "errored"),
        Outcome::Cancelled => ("warning", "cancelled"),
        Outcome::Skipped(_) => ("notice", "skipped"),
    };
    properties.push(("title", format!("{word}: {name}")));
    let mut message = match verdict.outcome {
        Outcome::Passed => notes(verdict),
        Outcome::Failed | Outcome::Errored(_) | Outcome::Skipped(_) | Outcome::Cancelled => {
            text::summary(verdict)
        }
    };
    if let Some(diagnosis) = verdict.diagnosis.as_ref().filter(|_| level == "error") {
        message.push_str(&format!("\nseen: {}\ndo: {}", diagnosis.seen, diagnosis.remedy));
    }
    let failed = verdict.checks.iter().filter(|check| !check.held).count();
    if verdict.diagnosis.is_none() && failed > 1 {
        message.push_str(&format!("\nand {} more failed checks", failed - 1));
    }
    if let Some(folder) = evidence.and_then(|folder| Path::new(folder).file_name()) {
        message.push_str(&format!("\nevidence: {}", folder.to_string_lossy()));
    }
    Some(command(level, &properties, &message))
}

/// The notes of a verdict, one in each line.
fn notes(verdict: &Verdict) -> String {
    let notes: Vec<&str> = verdict.notes.iter().map(|note| note.what.as_str()).collect();
    notes.join("\n")
}

fn is_long(verdict: &Verdict) -> bool {
    matches!(verdict.outcome, Outcome::Failed | Outcome::Errored(_))
}

/// A foldable group of the log, titled with its first line.
fn grouped(shown: &str) -> String {
    let first = shown.lines().next().unwrap_or_default();
    let title: Vec<&str> = first.split_whitespace().collect();
    format!(
        "{}\n{shown}\n::endgroup::",
        command("group", &[], &title.join(" "))
    )
}

fn command(name: &str, properties: &[(&str, String)], message: &str) -> String {
    let properties: Vec<String> = properties
        .iter()
        .map(|(key, value)| format!("{key}={}", property(&redact(value))))
        .collect();
    let space = if properties.is_empty() { "" } else { " " };
    format!(
        "::{name}{space}{}::{}",
        properties.join(","),
        data(&redact(message))
    )
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Disarms workflow commands in a node's output: a runner executes `::` at the start of a line, and `##[` anywhere.
fn harmless(text: &str) -> String {
    let lines = redact(text).replace('\r', "").replace("##[", "## [");
    let lines = lines.lines().map(|line| {
        let start = line.trim_start();
        if start.starts_with("::") {
            line.replacen("::", ": :", 1)
        } else {
            line.to_owned()
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Resolves `a/./b/../c` to `a/c` without the file system, because the file may be gone.
fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use nodejoin_core::diagnosis::{Cause, Diagnosis};
    use nodejoin_core::input::problem::Position;
    use nodejoin_core::judge::verdict::{Check, Note, NoteKind};
    use nodejoin_core::observation::phase::Phase;

    use super::super::comparison::tests as of_comparison;
    use super::*;

    /// A scenario with this outcome.
    pub(crate) fn finished(id: &str, outcome: Outcome) -> RunEvent {
        let verdict = Verdict {
            versions: None,
            outcome,
            phases: BTreeMap::from([(Phase::Booted, 500), (Phase::Metadata, 700)]),
            diagnosis: None,
            checks: Vec::new(),
            notes: Vec::new(),
            node: None,
            deviations: Vec::new(),
            parts: Vec::new(),
        };
        RunEvent::ScenarioFinished {
            scenario: id.parse().unwrap(),
            name: format!("the node of {id} joins"),
            file: format!("scenarios/{id}.yaml"),
            source: SourceLine {
                file: format!("scenarios/{id}.yaml"),
                line: Some(9),
            },
            verdict: Box::new(verdict),
            seconds: 14.04,
            evidence: None,
            kept: Vec::new(),
        }
    }

    /// A scenario that failed at line 12 of a script, with all characters that need escaping in its cause.
    pub(crate) fn failed(id: &str) -> RunEvent {
        let mut event = finished(id, Outcome::Failed);
        if let RunEvent::ScenarioFinished {
            verdict,
            source,
            evidence,
            ..
        } = &mut event
        {
            "/checkout/./files/boot,strap.sh".clone_into(&mut source.file);
            source.line = Some(12);
            *evidence = Some(format!("/checkout/target/nodejoin/abc/{id}"));
            verdict.diagnosis = Some(Diagnosis {
                phase: Some(Phase::Metadata),
                cause: Cause::ScriptFailed,
                because: "it is 100% <b>wrong</b> | `so`".to_owned(),
                seen: "bootstrap.sh, 2.1 s: line 12\n::error::not ours\n##[error]nor this".to_owned(),
                remedy: "mend it".to_owned(),
                script: None,
            });
        }
        event
    }

    pub(crate) fn checkout() -> Checkout {
        Checkout {
            workspace: "/checkout".into(),
            folder: "/checkout".into(),
        }
    }

    #[test]
    fn a_failure_is_annotated_at_the_line_of_its_script() {
        let text = event(&failed("a"), &checkout()).unwrap();
        assert_eq!(
            text,
            "::group::FAIL 14.0 s the node of a joins (script-failed)\n  \
             FAIL    14.0 s  the node of a joins (script-failed)\n        \
             booted 0.5  metadata 0.7\n        \
             stopped after `metadata`\n        \
             because   it is 100% <b>wrong</b> | `so`\n        \
             seen      bootstrap.sh, 2.1 s: line 12\n                  \
             : :error::not ours\n                  \
             ## [error]nor this\n        \
             do        mend it\n        \
             evidence  /checkout/target/nodejoin/abc/a\n\
             ::endgroup::\n\
             ::error file=files/boot%2Cstrap.sh,line=12,title=failed%3A the node of a joins::stopped after `metadata`: \
             it is 100%25 <b>wrong</b> | `so`%0Aseen: bootstrap.sh, 2.1 s: line 12%0A::error::not ours%0A##[error]nor this\
             %0Ado: mend it%0Aevidence: a"
        );
    }

    #[test]
    fn each_outcome_has_its_level() {
        let last = |outcome| {
            let text = event(&finished("a", outcome), &checkout()).unwrap();
            text.lines().last().unwrap_or_default().to_owned()
        };
        for (outcome, line) in [
            (
                Outcome::Skipped("no k3s: pull,\r\nrefused".to_owned()),
                "::notice file=scenarios/a.yaml,line=9,title=skipped%3A the node of a joins::no k3s: pull,%0D%0Arefused",
            ),
            (
                Outcome::Errored("the engine went away".to_owned()),
                "::error file=scenarios/a.yaml,line=9,title=errored%3A the node of a joins::the engine went away",
            ),
            (
                Outcome::Cancelled,
                "::warning file=scenarios/a.yaml,line=9,title=cancelled%3A the node of a joins::cancelled before it finished",
            ),
            (Outcome::Passed, "        booted 0.5  metadata 0.7"),
        ] {
            assert_eq!(last(outcome), line);
        }
    }

    #[test]
    fn a_passed_join_with_notes_is_a_warning() {
        let mut passed = finished("a", Outcome::Passed);
        if let RunEvent::ScenarioFinished { verdict, .. } = &mut passed {
            let note = |what: &str| Note {
                kind: NoteKind::UserDataFailed,
                what: what.to_owned(),
            };
            verdict.notes = vec![note("one"), note("two")];
        }
        let text = event(&passed, &checkout()).unwrap();
        let line = "::warning file=scenarios/a.yaml,line=9,title=passed with notes%3A the node of a joins::one%0Atwo";
        assert_eq!(text.lines().last(), Some(line));
    }

    #[test]
    fn a_script_outside_the_workspace_is_annotated_at_its_scenario() {
        let mut failed = failed("a");
        if let RunEvent::ScenarioFinished { source, file, .. } = &mut failed {
            "/elsewhere/x.sh".clone_into(&mut source.file);
            let text = |event_: &RunEvent| event(event_, &checkout()).unwrap();
            "../checkout/scenarios/a.yaml".clone_into(file);
            assert!(text(&failed).contains("\n::error file=scenarios/a.yaml,title="));
        }
        if let RunEvent::ScenarioFinished { file, .. } = &mut failed {
            "/elsewhere/a.yaml".clone_into(file);
        }
        assert!(event(&failed, &checkout()).unwrap().contains("\n::error title="));
    }

    #[test]
    fn without_a_diagnosis_the_first_failed_check_is_the_message() {
        let mut failed = finished("a", Outcome::Failed);
        if let RunEvent::ScenarioFinished { verdict, .. } = &mut failed {
            let check = |key: &str| Check {
                key: key.to_owned(),
                held: false,
                expected: "ironman".to_owned(),
                seen: "absent".to_owned(),
            };
            verdict.checks = vec![check("node.labels.team"), check("node.labels.other")];
        }
        let text = event(&failed, &checkout()).unwrap();
        let end = "::node.labels.team: expected ironman, got absent%0Aand 1 more failed checks";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn each_difference_is_annotated_at_its_change() {
        insta::assert_snapshot!(comparison(&of_comparison::comparison(), &checkout()));
    }

    #[test]
    fn invalid_scenarios_are_annotated_at_their_keys() {
        let error = ScenarioError {
            problems: vec![Problem {
                file: "scenarios/a.yaml".to_owned(),
                position: Position { line: 3, column: 7 },
                key: "cni".to_owned(),
                what: "unknown value `brige`".to_owned(),
                why: String::new(),
                hint: Some("did you mean `bridge`?".to_owned()),
            }],
        };
        assert_eq!(
            refused(&error, &checkout()),
            "::error file=scenarios/a.yaml,line=3,col=7,title=nodejoin%3A invalid scenario::\
             scenarios/a.yaml:3:7: `cni`: unknown value `brige`%0Ado: did you mean `bridge`?"
        );
    }

    #[test]
    fn annotations_are_redacted() {
        let secret = format!("k8s-aws-v1.{}", "a".repeat(80));
        let text = event(&finished("a", Outcome::Errored(secret.clone())), &checkout()).unwrap();
        assert!(text.contains("<redacted>") && !text.contains(&secret), "{text}");
    }
}
