//! Notes of a verdict: problems of a node that joined nevertheless. With `expect.clean` they fail the scenario.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::blame::placeholder_typos;
use super::label_notes::labels_of_nothing;
use super::lost_registration::lost_registration;
use super::object_notes::missing_values;
use super::{check, list};
use crate::diagnosis::{
    how_to_answer, ignored_unit_lines, last_words_of, reboot_times, requests_without_token, unknown_package,
};
use crate::judge::verdict::{Check, Note, NoteKind};
use crate::observation::phases::user_data_done;
use crate::observation::{JournalLine, Millis, Observation, ObservedEvent, UserDataResult};
use crate::plan::expect::Expect;
use crate::plan::{Plan, UserDataEngine};
use crate::user_data::{FaultKind, Parsed, parse, with_words};

/// The notes on a join that should succeed. A join that should fail has a diagnosis instead.
pub(super) fn notes(plan: &Plan, observation: &Observation) -> Vec<Note> {
    if plan.expect.diagnosis.is_some() {
        return Vec::new();
    }
    let mut notes = user_data_notes(plan, observation);
    notes.extend(ignored_lines(observation));
    notes.extend(without_token(plan, observation));
    notes.extend(rebooted(observation));
    notes.extend(labels_of_nothing(plan, observation));
    notes.extend(lost_registration(plan, observation));
    let typos = placeholder_typos(plan).into_iter();
    notes.extend(typos.map(|what| Note::new(NoteKind::PlaceholderTypo, what)));
    notes
}

/// The checks of `expect.clean` and `expect.notes`.
pub(super) fn checks(expect: &Expect, notes: &[Note]) -> Vec<Check> {
    let seen = list(notes.iter().map(|note| note.what.as_str()));
    let clean = expect.clean.map(|required| {
        let expected = if required { "no notes" } else { "a note" };
        check("clean", notes.is_empty() == required, expected, seen.clone())
    });
    let texts = expect.notes.as_ref().map(|texts| {
        let has = |note: &Note, text: &String| note.what.contains(text.as_str());
        let all_seen = texts.iter().all(|text| notes.iter().any(|note| has(note, text)));
        let all_named = notes.iter().all(|note| texts.iter().any(|text| has(note, text)));
        check("notes", all_seen && all_named, list(texts), seen)
    });
    clean.into_iter().chain(texts).collect()
}

fn user_data_notes(plan: &Plan, observation: &Observation) -> Vec<Note> {
    let collected = observation.collected.as_ref();
    let result = collected.and_then(|collected| collected.user_data.as_ref());
    let Some(result) = result.filter(|_| plan.user_data.is_some()) else {
        return Vec::new();
    };
    let done = user_data_done(observation).is_some();
    let mut notes = failed_parts(plan, observation, result);
    if !done {
        let processes = collected.map(|collected| collected.user_data_processes.join(", "));
        let which = processes.filter(|processes| !processes.is_empty());
        let which = which
            .map(|processes| format!(": {processes}"))
            .unwrap_or_default();
        let what = format!("the user data was still running at the verdict{which}");
        notes.push(Note::new(NoteKind::UserDataRuns, what));
    }
    notes.extend(failed_commands(observation, result));
    notes.extend(requests_not_answered(
        plan,
        observation,
        "the node joined without it",
    ));
    notes.extend(missing_values(plan, observation));
    if done {
        notes.extend(parts_not_run(plan, result));
    }
    if notes.is_empty() && plan.expect.user_data.as_ref().and_then(|data| data.succeeded) != Some(false) {
        let errors = result.errors.iter();
        notes.extend(
            errors.map(|error| Note::new(NoteKind::CloudInitError, format!("cloud-init reports: {error}"))),
        );
    }
    notes
}

/// Parts with an exit code that the scenario does not expect.
fn failed_parts(plan: &Plan, observation: &Observation, result: &UserDataResult) -> Vec<Note> {
    let required = plan.expect.user_data.as_ref();
    let parsed = parsed(plan).unwrap_or_default();
    // Cloud-init runs parts by name.
    let last = result.exit_codes.keys().last();
    let is_expected = |part: &str, code: i32| {
        required.is_some_and(|required| {
            required.succeeded == Some(false) || required.exit_codes.get(part) == Some(&code)
        })
    };
    let failed = result
        .exit_codes
        .iter()
        .filter(|(part, code)| **code != 0 && !is_expected(part, **code));
    let note = |(part, code): (&String, &i32)| {
        let name = format!("/{part}: line ");
        let reported = journal(observation).filter(|line| {
            is_of_user_data(line) && is_shell_error(&line.message) && line.message.contains(&name)
        });
        let fault = parsed
            .faults
            .iter()
            .find(|fault| fault.part.as_ref() == Some(part));
        let why = match (reported.last(), fault) {
            (Some(line), _) => {
                let message = line.message.trim();
                format!(": {message}{}", of_ami(observation, message))
            }
            (None, Some(fault)) => format!(": {}", fault.what),
            (None, None) => last_words_of(observation, part, last == Some(part))
                .map(|words| format!("; its last words: {words}{}", of_network(&words)))
                .unwrap_or_default(),
        };
        let what = format!("the user data failed although the node joined: {part} exited with {code}{why}");
        Note::new(NoteKind::UserDataFailed, what)
    };
    failed.map(note).collect()
}

/// Messages of a shell about a command of the user data, once for each text. Of a part that failed, only its exit code
/// is noted: whether it continued after the command is unknown.
fn failed_commands(observation: &Observation, result: &UserDataResult) -> Vec<Note> {
    let has_failed = |message: &str| {
        let mut failed = result.exit_codes.iter().filter(|(_, code)| **code != 0);
        failed.any(|(part, _)| message.contains(&format!("/{part}: line ")))
    };
    // The note on a part that failed has its last words.
    let all_succeeded = result.exit_codes.values().all(|code| *code == 0);
    let lines = journal(observation)
        .filter(|line| is_of_user_data(line) && !has_failed(&line.message))
        .filter(|line| {
            let message = line.message.trim();
            let is_error = is_program_error(message) || unknown_package(message).is_some();
            is_shell_error(message) || is_mount_error(message) || all_succeeded && is_error
        });
    let mut notes: Vec<Note> = Vec::new();
    for line in lines {
        let message = line.message.trim();
        let what = format!(
            "a command of the user data failed, and the script continued: {message}{}",
            of_ami(observation, message)
        );
        if notes.iter().all(|note| note.what != what) {
            notes.push(Note::new(NoteKind::CommandFailed, what));
        }
    }
    notes
}

/// Requests to hosts outside before the end of the user data, once for each URL, and what went on without them. Those
/// for images of containers are of the runtime.
pub(super) fn requests_not_answered(plan: &Plan, observation: &Observation, continued: &str) -> Vec<Note> {
    let done = user_data_done(observation).unwrap_or(Millis::MAX);
    let mut seen = BTreeSet::new();
    let calls = observation.timeline.iter().filter_map(|entry| match &entry.what {
        ObservedEvent::Aws(call) if entry.at <= done => Some(call),
        _ => None,
    });
    calls
        .filter(|call| call.is_refused_outside() && !call.path.starts_with("/v2/"))
        .filter(|call| seen.insert(&call.operation))
        .map(|call| {
            let what = format!(
                "a request of the user data has no answer, and {continued}: {} (a limit of nodejoin: {})",
                call.operation,
                how_to_answer(plan, call)
            );
            Note::new(NoteKind::RequestNotAnswered, what)
        })
        .collect()
}

/// A hint at settings of the kernel that a network of a container does not have.
fn of_network(message: &str) -> &'static str {
    match message.contains("net.core.") || message.contains("/proc/sys/net/core/") {
        true => " (a limit of nodejoin: the network of a container lacks settings that an instance has)",
        false => "",
    }
}

/// A hint at what AMIs have and the node image can lack.
fn of_ami(observation: &Observation, message: &str) -> String {
    if unknown_package(message).is_some() {
        return " (correct the name; if a repository has this package, it is a limit of nodejoin: add its files with an overlay)"
            .to_owned();
    }
    let command = message.strip_suffix(": command not found");
    if command.is_some_and(|before| before.contains(": --")) {
        return " (if it is the end of a MIME message, write it alone on its line: what follows it there makes it a line of the \
                script)"
            .to_owned();
    }
    let name = command.and_then(|before| before.rsplit(' ').next());
    if let Some(package) = name.and_then(|name| recorded_package(observation, name)) {
        return format!(
            " (a limit of nodejoin: `{package}` is not downloaded, and a command of it is missing: add it with an overlay)"
        );
    }
    if message.starts_with("swapon: ") {
        return " (a limit of nodejoin: a container has no swap. On an instance it succeeds, and a kubelet exits on a machine with swap, \
                unless its configuration has `failSwapOn: false`)"
            .to_owned();
    }
    match message.contains("command not found") || message.contains("No such file or directory") {
        true => " (if your AMI has it, this is a limit of nodejoin: add it with an overlay)".to_owned(),
        false => String::new(),
    }
}

/// The package with a name in it that the user data installed: the stand-ins for package tools install nothing of it.
fn recorded_package<'a>(observation: &'a Observation, name: &str) -> Option<&'a str> {
    let mut packages = journal(observation)
        .filter(|line| is_of_user_data(line))
        .filter_map(|line| {
            let (before, _) = line
                .message
                .trim()
                .split_once(" is recorded and not downloaded")?;
            let (tool, package) = before.split_once(": ")?;
            tool.contains("nodejoin, in place of ").then_some(package)
        });
    packages.find(|package| package.contains(name))
}

fn is_of_user_data(line: &JournalLine) -> bool {
    let unit = line.unit.as_deref().unwrap_or_default();
    !line.by_systemd && (unit.starts_with("cloud-final") || unit.contains("user-data"))
}

/// Whether bash reports the line of a command that it could not run.
fn is_shell_error(message: &str) -> bool {
    const WORDS: [&str; 6] = [
        "command not found",
        "warning: here-document",
        "No such file or directory",
        "Permission denied",
        "unbound variable",
        "syntax error",
    ];
    let has_line = message
        .split_once(": line ")
        .is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()));
    has_line && WORDS.iter().any(|word| message.contains(word))
}

/// Whether a program for files reports what it could not do, or `systemctl` a unit that does not exist.
fn is_program_error(message: &str) -> bool {
    const PROGRAMS: [&str; 22] = [
        "cat",
        "chgrp",
        "chmod",
        "chown",
        "cp",
        "dd",
        "head",
        "install",
        "jq",
        "ln",
        "ls",
        "mkdir",
        "mv",
        "readlink",
        "rm",
        "sed",
        "sha256sum",
        "stat",
        "swapon",
        "tail",
        "tee",
        "touch",
    ];
    const WORDS: [&str; 5] = [
        "cannot ",
        "can't ",
        "No such file or directory",
        "Permission denied",
        "Operation not permitted",
    ];
    let of_program = message
        .split_once(": ")
        .filter(|(program, _)| PROGRAMS.contains(program));
    let of_unit = message.strip_prefix("Failed to ").is_some_and(|rest| {
        let verbs = ["start ", "restart ", "enable ", "enable unit: ", "stop "];
        verbs.iter().any(|verb| rest.starts_with(verb))
            && (rest.ends_with(" not found.") || rest.ends_with(" does not exist."))
    });
    of_unit || of_program.is_some_and(|(_, rest)| WORDS.iter().any(|word| rest.contains(word)))
}

/// Whether `mount` reports why it does not mount a device: the data then stays on the root volume.
fn is_mount_error(message: &str) -> bool {
    message.starts_with("mount: ")
        && (message.contains(" does not exist") || message.contains("wrong fs type"))
}

/// Parts that cloud-init cannot use, and scripts without a result.
fn parts_not_run(plan: &Plan, result: &UserDataResult) -> Vec<Note> {
    let Some(parsed) = parsed(plan) else {
        return Vec::new();
    };
    // Amazon Linux 2 runs parts without `#!` with bash.
    let has_run = |part: &Option<String>| {
        part.as_ref()
            .is_some_and(|part| result.exit_codes.contains_key(part))
    };
    let faults = parsed.faults.iter().filter(|fault| !has_run(&fault.part));
    let faults = faults.map(|fault| {
        let part = fault.part.as_deref().unwrap_or("the user data");
        let what = match fault.kind {
            FaultKind::CloudConfig | FaultKind::CloudConfigEntry => {
                format!("cloud-init cannot use all of {part}: {}", fault.what)
            }
            _ => format!("{part} did not run: {}", fault.what),
        };
        Note::new(NoteKind::PartNotRun, what)
    });
    let mut notes: Vec<Note> = faults.collect();
    let is_cloud_init = plan
        .user_data
        .as_ref()
        .is_some_and(|data| data.engine == UserDataEngine::CloudInit);
    if is_cloud_init && !result.exit_codes.is_empty() {
        let scripts = parsed.scripts();
        let missing = scripts.iter().filter(|script| {
            script.name != "runcmd"
                && !result.exit_codes.contains_key(&script.name)
                && parsed
                    .faults
                    .iter()
                    .all(|fault| fault.part.as_ref() != Some(&script.name))
        });
        notes.extend(missing.map(|script| {
            Note::new(
                NoteKind::PartNotRun,
                format!("{} of the user data did not run", script.name),
            )
        }));
    }
    notes
}

fn parsed(plan: &Plan) -> Option<Parsed> {
    let bytes = STANDARD.decode(&plan.user_data.as_ref()?.base64).ok()?;
    Some(parse(&with_words(&bytes)))
}

/// One note for each unit file or drop-in of which systemd ignored lines.
fn ignored_lines(observation: &Observation) -> impl Iterator<Item = Note> {
    let ignored = ignored_unit_lines(observation).into_iter();
    ignored.map(|what| {
        let what = format!("systemd ignored a line of a unit: {what}");
        Note::new(NoteKind::UnitLineIgnored, what)
    })
}

fn without_token(plan: &Plan, observation: &Observation) -> Option<Note> {
    let (count, first) = requests_without_token(plan, observation)?;
    let what = match count {
        1 => format!("the metadata service rejected a request without a token: {first}"),
        count => {
            format!("the metadata service rejected {count} requests without a token, the first for {first}")
        }
    };
    Some(Note::new(NoteKind::RequestWithoutToken, what))
}

fn rebooted(observation: &Observation) -> Option<Note> {
    observation.reboots().next()?;
    let what = format!(
        "the user data rebooted the instance {}, and the node joined after it",
        reboot_times(observation)
    );
    Some(Note::new(NoteKind::InstanceRebooted, what))
}

fn journal(observation: &Observation) -> impl Iterator<Item = &JournalLine> {
    observation.timeline.iter().filter_map(|seen| match &seen.what {
        ObservedEvent::Journal(line) => Some(line),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
