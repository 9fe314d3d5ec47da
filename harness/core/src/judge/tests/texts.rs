//! Snapshots of the texts of every check.

use std::fmt::Write as _;

use super::expectations::PAIRS;
use super::{complete, plan, stopped};
use crate::judge::judge;
use crate::judge::verdict::{Check, Outcome};
use crate::observation::phases::tests::observed;
use crate::observation::{Observation, ObservedEvent};

fn line(check: &Check) -> String {
    let word = if check.held { "held" } else { "broken" };
    format!(
        "{word} {}\n  expected: {}\n  seen:     {}\n",
        check.key,
        check.expected,
        check.seen.replace('\n', "\\n")
    )
}

/// The checks of one expectation, without the implicit ones.
fn checks(expect: &str, observation: &Observation) -> String {
    let verdict = judge(&plan(expect), observation);
    let own = verdict.checks.iter().filter(|check| check.key != "aws");
    own.map(line).collect()
}

#[test]
fn checks_that_hold() {
    let mut text = String::new();
    for (expect, ..) in PAIRS {
        let _ = writeln!(text, "# {expect}\n{}", checks(expect, &complete()));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn checks_that_are_broken() {
    let mut text = String::new();
    for (_, expect, _) in PAIRS {
        let _ = writeln!(text, "# {expect}\n{}", checks(expect, &complete()));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn checks_of_a_node_that_did_nothing() {
    let nothing = observed([ObservedEvent::Isolated]);
    let mut text = String::new();
    for (expect, ..) in PAIRS {
        let _ = writeln!(text, "# {expect}\n{}", checks(expect, &nothing));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn implicit_checks_and_errors() {
    let mut text = String::new();
    let mut with_faults = plan("phase: ready");
    with_faults.faults =
        serde_json::from_value(serde_json::json!([{"service": "eks", "effect": "refuse"}])).unwrap();
    let verdict = judge(&with_faults, &complete());
    text.extend(verdict.checks.iter().map(line));
    let exit = ObservedEvent::ContainerExited {
        code: 97,
        lines: vec!["no harness".into()],
    };
    let mut on_a_full_host = stopped();
    let line = "failed to create fsnotify watcher: too many open files";
    let full = observed([
        ObservedEvent::Isolated,
        crate::observation::phases::tests::journal("containerd.service", "containerd", line),
    ]);
    on_a_full_host.timeline.extend(full.timeline);
    for observation in [observed([]), observed([exit]), on_a_full_host] {
        let Outcome::Errored(reason) = judge(&plan("phase: ready"), &observation).outcome else {
            panic!("expected an error")
        };
        let _ = writeln!(text, "errored: {reason}");
    }
    insta::assert_snapshot!(text);
}
