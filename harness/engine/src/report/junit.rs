//! JUnit: a case for each scenario, with the reason as its message and the phases as properties.

use std::time::Duration;

use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_core::run::event::RunEvent;
use nodejoin_core::run::evidence_index;
use nodejoin_core::run::shard::Shard;
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use crate::report::text::{self, outcome_word};

/// Name of the report and of its suites.
pub(crate) const NAME: &str = "nodejoin";
/// Properties of a suite: version of the format, id of the run, shard.
pub(crate) const SCHEMA: &str = "schema";
pub(crate) const RUN: &str = "run";
pub(crate) const SHARD: &str = "shard";
/// Properties of a case. JUnit has one status for skipped and cancelled scenarios.
const SCENARIO_NAME: &str = "name";
const OUTCOME: &str = "outcome";

/// Collects finished scenarios for one report.
#[derive(Debug)]
pub struct Junit {
    suite: TestSuite,
}

impl Junit {
    /// An empty report.
    #[must_use]
    pub fn new() -> Self {
        Self {
            suite: TestSuite::new(NAME),
        }
    }

    /// Adds one event.
    pub fn take(&mut self, event: &RunEvent) {
        if let RunEvent::RunStarted { run, shard, .. } = event {
            describe(&mut self.suite, run.as_str(), *shard);
        }
        if let RunEvent::ScenarioFinished {
            scenario,
            name,
            file,
            verdict,
            seconds,
            evidence,
            ..
        } = event
        {
            let mut case = TestCase::new(scenario.to_string(), status(verdict));
            case.set_classname(file.clone())
                .set_time(Duration::from_secs_f64(seconds.max(0.0)));
            case.set_system_out(text::scenario(name, verdict, *seconds, evidence.as_deref()));
            describe_case(&mut case, name, &verdict.outcome);
            if let Some(ran) = &verdict.versions {
                case.add_property(Property::new("kubernetes", ran.kubernetes.as_str()));
                case.add_property(Property::new("kubelet", ran.kubelet.as_str()));
            }
            for (phase, millis) in &verdict.phases {
                case.add_property(Property::new(
                    format!("phase.{phase}"),
                    format!("{:.3}", *millis as f64 / 1000.0),
                ));
            }
            for note in &verdict.notes {
                case.add_property(Property::new("note", note.what.as_str()));
            }
            self.suite.add_test_case(case);
        }
    }

    /// The report as XML.
    ///
    /// # Errors
    ///
    /// When the XML is not UTF-8, which quick-junit prevents.
    pub fn to_xml(&self) -> Result<String, quick_junit::SerializeError> {
        let mut report = Report::new(NAME);
        report.add_test_suite(self.suite.clone());
        report.to_string()
    }
}

impl Default for Junit {
    fn default() -> Self {
        Self::new()
    }
}

/// Notes which run a suite is of.
pub(crate) fn describe(suite: &mut TestSuite, run: &str, shard: Option<Shard>) {
    suite.add_property(Property::new(SCHEMA, evidence_index::SCHEMA.to_string()));
    suite.add_property(Property::new(RUN, run));
    if let Some(shard) = shard {
        suite.add_property(Property::new(SHARD, shard.to_string()));
    }
}

/// Notes what the status of a case does not tell.
pub(crate) fn describe_case(case: &mut TestCase, name: &str, outcome: &Outcome) {
    case.add_property(Property::new(SCENARIO_NAME, name));
    case.add_property(Property::new(OUTCOME, outcome_word(outcome)));
}

/// The value of a property.
pub(crate) fn property<'a>(properties: &'a [Property], name: &str) -> Option<&'a str> {
    let found = properties.iter().find(|property| property.name.as_str() == name);
    found.map(|property| property.value.as_str())
}

/// The status of a scenario with its reason.
pub(crate) fn status_of(outcome: &Outcome, because: &str) -> TestCaseStatus {
    let mut status = match outcome {
        Outcome::Passed => return TestCaseStatus::success(),
        Outcome::Skipped(_) | Outcome::Cancelled => TestCaseStatus::skipped(),
        Outcome::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Outcome::Errored(_) => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    status.set_message(because);
    status
}

/// A scenario as a report describes it.
pub(crate) struct JunitCase {
    pub(crate) scenario: ScenarioId,
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
    pub(crate) because: Option<String>,
    pub(crate) seconds: f64,
}

impl JunitCase {
    /// Reads a case. The error says what is wrong with it.
    pub(crate) fn of(case: &TestCase) -> Result<Self, String> {
        let id = case.name.as_str();
        let scenario = id
            .parse()
            .map_err(|error| format!("invalid case `{id}`: {error}"))?;
        let because = match &case.status {
            TestCaseStatus::Success { .. } => None,
            TestCaseStatus::NonSuccess { message, .. } | TestCaseStatus::Skipped { message, .. } => {
                message.as_ref().map(|message| message.as_str().to_owned())
            }
        };
        let reason = || because.clone().unwrap_or_default();
        let is_cancelled = property(&case.properties, OUTCOME) == Some(outcome_word(&Outcome::Cancelled));
        let outcome = match &case.status {
            TestCaseStatus::Success { .. } => Outcome::Passed,
            TestCaseStatus::Skipped { .. } if is_cancelled => Outcome::Cancelled,
            TestCaseStatus::Skipped { .. } => Outcome::Skipped(reason()),
            TestCaseStatus::NonSuccess { kind, .. } => match kind {
                NonSuccessKind::Failure => Outcome::Failed,
                NonSuccessKind::Error => Outcome::Errored(reason()),
            },
        };
        Ok(Self {
            scenario,
            name: property(&case.properties, SCENARIO_NAME)
                .unwrap_or_default()
                .to_owned(),
            outcome,
            because,
            seconds: case.time.unwrap_or_default().as_secs_f64(),
        })
    }
}

fn status(verdict: &Verdict) -> TestCaseStatus {
    let mut status = status_of(&verdict.outcome, &text::summary(verdict));
    if let Some(diagnosis) = &verdict.diagnosis
        && verdict.outcome == Outcome::Failed
    {
        status.set_type(text::cause(diagnosis.cause));
        status.set_description(format!("seen: {}\ndo: {}", diagnosis.seen, diagnosis.remedy));
    }
    status
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use nodejoin_core::judge::verdict::{Note, NoteKind};
    use nodejoin_core::plan::sources::SourceLine;

    use super::*;

    #[test]
    fn the_message_of_a_case_is_its_reason() {
        let verdict = Verdict {
            outcome: Outcome::Errored("the engine went away".to_owned()),
            versions: None,
            phases: BTreeMap::new(),
            diagnosis: None,
            checks: Vec::new(),
            notes: vec![Note {
                kind: NoteKind::UserDataRuns,
                what: "it still runs".to_owned(),
            }],
            node: None,
            deviations: Vec::new(),
            parts: Vec::new(),
        };
        let mut junit = Junit::new();
        junit.take(&RunEvent::ScenarioFinished {
            scenario: "al2/joins".parse().unwrap(),
            name: "a node joins".to_owned(),
            file: "scenarios/al2/joins.yaml".to_owned(),
            source: SourceLine::default(),
            verdict: Box::new(verdict),
            seconds: 1.5,
            evidence: None,
            kept: Vec::new(),
        });
        let xml = junit.to_xml().unwrap();
        assert!(xml.contains(r#"<error message="the engine went away""#), "{xml}");
        assert!(xml.contains(r#"name="al2/joins""#), "{xml}");
        assert!(
            xml.contains(r#"<property name="note" value="it still runs"/>"#),
            "{xml}"
        );
    }
}
