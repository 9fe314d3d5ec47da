//! Every cause has a rule that finds it and a scenario that expects it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, iter};

use super::cases;
use crate::diagnosis::Cause;
use crate::input::files::Disk;
use crate::scenario;
use crate::vocabulary::cause_facts::Proof;

fn yaml_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            yaml_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
}

/// The words after `diagnosis:` in all scenarios of the repository.
fn expected_words() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("fixtures/broken.yaml")];
    yaml_files(&root.join("scenarios"), &mut files);
    let texts = files.iter().map(|file| fs::read_to_string(file).unwrap());
    let words = |text: String| {
        let after = text.split("diagnosis:").skip(1).map(str::to_owned);
        after.collect::<Vec<_>>()
    };
    texts
        .flat_map(words)
        .filter_map(|rest| {
            Some(
                rest.split([' ', ',', '}', '\n'])
                    .find(|word| !word.is_empty())?
                    .to_owned(),
            )
        })
        .collect()
}

#[test]
fn every_cause_is_found_by_a_rule_that_lists_it() {
    let found: BTreeSet<Cause> = cases::all().iter().map(cases::Case::cause).collect();
    let scenarios = expected_words();
    for cause in Cause::ALL {
        assert!(
            found.contains(cause) || scenarios.contains(cause.word()),
            "no case in tests/cases and no scenario has the cause `{}`",
            cause.word()
        );
    }
}

#[test]
fn the_proof_of_every_cause_expects_it() {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let disk = Disk::with_variables(std::iter::empty());
    let all = expected_words();
    for cause in Cause::ALL {
        let word = cause.word();
        match cause.proof() {
            Proof::Scenario(id) => {
                let path = scenarios.join(format!("{id}.yaml"));
                let plan = scenario::load(&path, &scenarios, &disk);
                let plan =
                    plan.unwrap_or_else(|error| panic!("the proof of `{word}`: {}", error.with_hints()));
                let steps = plan.then.iter().map(|step| step.expect.diagnosis);
                let mut expected = iter::once(plan.expect.diagnosis).chain(steps);
                assert!(
                    expected.any(|expected| expected == Some(*cause)),
                    "`{id}` does not expect `{word}`"
                );
            }
            Proof::UnitTest(reason) => {
                assert!(
                    !all.contains(word),
                    "a scenario expects `{word}`, though {reason}"
                );
            }
        }
    }
}

#[test]
fn a_join_stops_for_a_cause_at_its_phases_only() {
    for case in cases::all() {
        let diagnosis = case.diagnosis();
        let (first, last) = diagnosis.cause.phases();
        let phase = diagnosis.phase.unwrap();
        assert!(
            (first..=last).contains(&phase),
            "{}: {phase} for {:?}",
            case.name(),
            diagnosis.cause
        );
    }
}

#[test]
fn words_and_texts_of_causes_are_complete() {
    let words: BTreeSet<&str> = Cause::ALL.iter().map(|cause| cause.word()).collect();
    assert_eq!(words.len(), Cause::ALL.len());
    for cause in Cause::ALL {
        assert_eq!(serde_json::to_value(cause).unwrap(), cause.word());
        assert!(
            cause.meaning().ends_with('.') && cause.remedy().ends_with('.'),
            "{cause:?}"
        );
        assert!(!cause.evidence().is_empty(), "{cause:?}");
        assert!(cause.phases().0 <= cause.phases().1, "{cause:?}");
    }
}
