//! What the user reads before the run.

use std::path::Path;

use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_import::{AdoptionKind, Trial};

use super::read::{NotTried, Tried, TryError};
use crate::process;
use crate::run_args::Format;

/// Prints an error of the input.
pub(crate) fn refuse(error: &TryError) -> ExitCode {
    note!("error: {}", error.message);
    note!("  do: {}", error.hint);
    ExitCode::Usage
}

/// Prints what the machines adopt. Standard output belongs to the events if they are JSON.
pub(crate) fn adoption(tried: &Tried, format: Option<Format>) {
    let text = text(tried);
    match format {
        Some(Format::Json) => note!("{}", text.trim_end()),
        Some(Format::Text | Format::Github) | None => process::print(format_args!("{}", text.trim_end())),
    }
}

fn text(tried: &Tried) -> String {
    let mut text = format!("{} is {}\n", tried.name, tried.format);
    for note in &tried.notes {
        text.push_str(&row("note", note));
    }
    for NotTried { name, reason, .. } in &tried.not_tried {
        text.push_str(&row("not tried", &format!("{name}: {reason}")));
    }
    for trial in &tried.trials {
        text.push_str(&machine(trial));
    }
    text
}

fn machine(trial: &Trial) -> String {
    let mut text = format!("{}\n", trial.machine);
    for line in &trial.report {
        text.push_str(&row(&line.kind.to_string(), &line.text));
    }
    text
}

/// Prints below the verdicts what limits them: mistakes of the file, one of which can be the cause of a failure, and
/// another Kubernetes version than that of the file.
pub(crate) fn below_verdicts(tried: &Tried, format: Option<Format>) {
    let text = text_below_verdicts(&tried.trials, &tried.not_tried);
    if text.is_empty() {
        return;
    }
    match format {
        Some(Format::Json) => note!("{}", text.trim_end()),
        Some(Format::Text | Format::Github) | None => process::print(format_args!("{}", text.trim_end())),
    }
}

fn text_below_verdicts(trials: &[Trial], not_tried: &[NotTried]) -> String {
    let left_out = not_tried
        .iter()
        .filter(|one| one.is_mistake)
        .map(|one| (one.name.as_str(), one.reason.as_str()));
    let mut text = list(
        "machines that were not tried because of a mistake in the file",
        left_out,
    );
    let of_kind = |kind: AdoptionKind| {
        trials.iter().flat_map(move |trial| {
            let lines = trial.report.iter().filter(move |line| line.kind == kind);
            lines.map(|line| (trial.machine.as_str(), line.text.as_str()))
        })
    };
    text.push_str(&list(
        "mistakes that the file showed before the boot",
        of_kind(AdoptionKind::Problem),
    ));
    text.push_str(&list(
        "another Kubernetes version than that of the file",
        of_kind(AdoptionKind::OtherVersion),
    ));
    text
}

/// Lines about machines below a heading; empty without lines.
fn list<'a>(heading: &str, lines: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let rows: String = lines.map(|(machine, text)| row(machine, text)).collect();
    match rows.is_empty() {
        true => rows,
        false => format!("{heading}:\n{rows}"),
    }
}

fn row(kind: &str, text: &str) -> String {
    format!("  {kind:<12} {text}\n")
}

/// Prints the files that were written, and the command that runs them.
pub(crate) fn written(folder: &Path, paths: &[String]) {
    process::print(format_args!(
        "wrote {} files in {}",
        paths.len(),
        folder.display()
    ));
    for path in paths {
        process::print(format_args!("  {path}"));
    }
    process::print(format_args!("run them with: nodejoin run {}", folder.display()));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use nodejoin_core::kubernetes::Version;
    use nodejoin_import::{Machine, OfflineKubernetes, Traits, adopt};

    use super::*;

    #[test]
    fn mistakes_of_a_file_are_listed_and_its_choices_are_not() {
        let trial = |text: &str| {
            let machine = Machine {
                name: "web".to_owned(),
                user_data: Some(text.as_bytes().to_vec()),
                ..Machine::default()
            };
            adopt(&machine, &BTreeMap::new()).unwrap()
        };
        let right = trial("#!/bin/bash\n/etc/eks/bootstrap.sh demo\n");
        assert_eq!(text_below_verdicts(std::slice::from_ref(&right), &[]), "");
        let wrong = trial("#!/bin/bash\n/etc/eks/bootstrap.sh demo --kublet-extra-args --v=2\n");
        let text = text_below_verdicts(&[right, wrong], &[]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(
            lines[1].contains("web") && lines[1].contains("`--kubelet-extra-args`"),
            "{text}"
        );
    }

    #[test]
    fn another_kubernetes_version_is_repeated() {
        let machine = Machine {
            name: "web".to_owned(),
            user_data: Some(b"#!/bin/bash\n/etc/eks/bootstrap.sh demo\n".to_vec()),
            traits: Traits {
                image_version: Some("1.31".to_owned()),
                ..Traits::default()
            },
            ..Machine::default()
        };
        let mut trial = adopt(&machine, &BTreeMap::new()).unwrap();
        let default: Version = "v1.20.2".parse().unwrap();
        let offline = OfflineKubernetes {
            all: vec![default.clone()],
            default,
        };
        let chosen = trial.kubernetes.choose("pool.tf", &offline, &mut trial.report);
        assert_eq!(chosen, None);
        let text = text_below_verdicts(std::slice::from_ref(&trial), &[]);
        assert!(
            text.starts_with("another Kubernetes version than that of the file:\n  web"),
            "{text}"
        );
        assert!(
            text.contains("Kubernetes v1.20.2: the file states 1.31"),
            "{text}"
        );
    }

    #[test]
    fn a_machine_that_a_mistake_keeps_from_its_trial_is_repeated() {
        let one = |name: &str, is_mistake| NotTried {
            name: name.to_owned(),
            reason: "line 8: eksctl refuses it".to_owned(),
            is_mistake,
        };
        let text = text_below_verdicts(&[], &[one("workers", true), one("windows", false)]);
        assert!(text.contains("workers") && !text.contains("windows"), "{text}");
        assert!(text.starts_with("machines that were not tried"), "{text}");
    }
}
