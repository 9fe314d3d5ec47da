//! JUnit: a case for each scenario, with the reason as its message and the phases as properties.

use std::time::Duration;

use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::run::event::RunEvent;
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use crate::report::text;

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
            suite: TestSuite::new("nodejoin"),
        }
    }

    /// Adds one event.
    pub fn take(&mut self, event: &RunEvent) {
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
        let mut report = Report::new("nodejoin");
        report.add_test_suite(self.suite.clone());
        report.to_string()
    }
}

impl Default for Junit {
    fn default() -> Self {
        Self::new()
    }
}

fn status(verdict: &Verdict) -> TestCaseStatus {
    let mut status = match &verdict.outcome {
        Outcome::Passed => return TestCaseStatus::success(),
        Outcome::Skipped(_) | Outcome::Cancelled => TestCaseStatus::skipped(),
        Outcome::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Outcome::Errored(_) => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    status.set_message(text::summary(verdict));
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
