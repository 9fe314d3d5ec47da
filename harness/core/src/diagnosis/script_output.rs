//! The output of the scripts of the user data: the lines that say why a script ended.

use super::facts::{Facts, between, reports_failure};
use crate::observation::{JournalLine, Millis};

/// Output that goes through other programs, such as `tee` and `logger`, arrives after cloud-init reported the end.
const LATE: Millis = 2000;

/// Whether a line belongs to the time before `end`. Lines of the user data that arrive late count.
pub(super) fn is_before_end(at: Millis, end: Millis) -> bool {
    at <= end.saturating_add(LATE)
}

/// The lines of scripts before the end of the user data, or the last ones so far. Only a failure, or user data that
/// still runs, has an end that says something.
pub(super) fn lines_before_the_end<'a>(facts: &Facts<'a>) -> Vec<(Millis, &'a JournalLine)> {
    const FEW: usize = 6;
    let failure = facts
        .user_data_lines()
        .find(|(_, line)| is_failure(line))
        .map(|(at, _)| at);
    let collected = facts.observation.collected.as_ref();
    let result = collected.and_then(|collected| collected.user_data.as_ref());
    let has_failed = result.is_some_and(|result| result.exit_codes.values().any(|code| *code != 0));
    let end = match (failure, facts.user_data_done) {
        (Some(at), _) => at,
        (None, Some(done)) if has_failed => done,
        (None, None) => Millis::MAX,
        (None, Some(_)) => return Vec::new(),
    };
    let lines = facts
        .user_data_lines()
        .filter(|(at, line)| is_before_end(*at, end) && is_by_script(line));
    let lines: Vec<_> = lines.collect();
    let first = lines.len().saturating_sub(FEW);
    lines.into_iter().skip(first).collect()
}

/// Whether a script wrote the line, and not systemd, cloud-init or the trace of a shell.
pub(super) fn is_by_script(line: &JournalLine) -> bool {
    !line.by_systemd
        && !is_by_cloud_init(&line.message)
        && !is_trace(&line.message)
        && !is_failure(line)
        && !line.message.trim().is_empty()
}

/// Whether the line is a trace of `set -x`: it repeats the command, and says nothing about its result.
pub(super) fn is_trace(message: &str) -> bool {
    message.trim_start().starts_with('+')
}

/// Whether cloud-init itself wrote the line.
pub(super) fn is_by_cloud_init(message: &str) -> bool {
    const MARKS: [&str; 9] = [
        ".py[",
        "Cloud-init v.",
        "ci-info: ",
        "Traceback (most recent",
        "  File \"/usr/lib/python3",
        "raise ProcessExecutionError(",
        "cloudinit.subp.ProcessExecutionError: ",
        "Failed to run module ",
        "Runparts: ",
    ];
    const FIELDS: [&str; 5] = [
        "Command: ['/var/lib/cloud/",
        "Exit code: ",
        "Reason: -",
        "Stdout: -",
        "Stderr: -",
    ];
    MARKS.iter().any(|mark| message.contains(mark)) || FIELDS.iter().any(|field| message.starts_with(field))
}

/// The last output of a script.
pub(super) struct LastOutput<'a> {
    pub(super) at: Millis,
    /// The line that says most about the error.
    pub(super) line: &'a JournalLine,
    /// The line of the script's trap, which has only the line number of the error.
    trap: Option<&'a JournalLine>,
}

impl LastOutput<'_> {
    pub(super) fn text(&self) -> String {
        let output = shortened(self.line.message.trim());
        match self.trap {
            Some(trap) => format!("{output} ({})", trap.message.trim()),
            None => output,
        }
    }

    pub(super) fn line_number(&self) -> Option<&str> {
        let message = &self.trap.unwrap_or(self.line).message;
        let number = between(message, "line ", &[' ', ':', '\n'])?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then_some(number)
    }
}

/// `systemctl` names the unit whose job failed: the last error in the journal of that unit.
pub(super) fn line_of_failed_job<'a>(
    facts: &Facts<'a>,
    words: &LastOutput<'_>,
) -> Option<(Millis, &'a JournalLine)> {
    let unit = between(&words.line.message, "Job for ", &[' '])?;
    let lines = facts
        .journal()
        .filter(|(_, line)| line.unit.as_deref() == Some(unit) && reports_failure(line));
    let (own, by_systemd): (Vec<_>, Vec<_>) = lines.partition(|(_, line)| !line.by_systemd);
    own.last().or(by_systemd.last()).copied()
}

/// The last output before `at` that neither systemd nor cloud-init wrote.
pub(super) fn last_output<'a>(facts: &Facts<'a>, at: Millis) -> Option<LastOutput<'a>> {
    /// Number of lines before a trap that can have its reason.
    const BEFORE: usize = 4;
    let lines: Vec<(Millis, &JournalLine)> = facts
        .user_data_lines()
        .filter(|(time, line)| is_before_end(*time, at) && is_by_script(line))
        .collect();
    let (last, before) = lines.split_last()?;
    let before: Vec<_> = before
        .iter()
        .rev()
        .take(BEFORE)
        .filter(|(_, line)| !is_trap(line))
        .collect();
    let complains = |(_, line): &&&(Millis, &JournalLine)| is_complaint(&line.message);
    let why = match last.1.message.as_str() {
        _ if is_trap(last.1) => before
            .iter()
            .find(complains)
            .or(before.iter().find(|(_, line)| reports_failure(line)))
            .or(before.first()),
        message if is_summary(message) => before.iter().find(complains),
        _ => None,
    };
    Some(match why {
        Some((at, line)) => LastOutput {
            at: *at,
            line,
            trap: Some(last.1),
        },
        None => LastOutput {
            at: last.0,
            line: last.1,
            trap: None,
        },
    })
}

/// The last complaint in the output of user data that reports success.
pub(super) fn last_complaint<'a>(facts: &Facts<'a>) -> Option<(Millis, &'a JournalLine)> {
    let lines = facts.user_data_lines();
    lines
        .filter(|(_, line)| is_by_script(line) && is_complaint(&line.message))
        .last()
}

/// Whether a trap of a known bootstrap script printed the line: it has the line number, and the lines before it have the
/// reason.
fn is_trap(line: &JournalLine) -> bool {
    ["Exited with error on line", " ended with status"]
        .iter()
        .any(|words| line.message.contains(words))
}

/// Whether a line only sums up a failure, so that a complaint before it says more: the trap of a script, such as `failed
/// at 12`, or the last words of a package manager.
fn is_summary(message: &str) -> bool {
    const TRAP: [&str; 6] = ["fail", "error", "exit", "abort", "status", "line"];
    const PACKAGES: [&str; 2] = ["Error: Nothing to do", "Error: Unable to find a match"];
    const LONGEST: usize = 60;
    let lower = message.to_lowercase();
    let has_number = message
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()));
    let is_trap = has_number && message.len() <= LONGEST && TRAP.iter().any(|word| lower.contains(word));
    !is_complaint(message) && (is_trap || PACKAGES.iter().any(|words| message.starts_with(words)))
}

/// Whether a program or the shell names what is wrong, in words that nothing else uses.
pub(super) fn is_complaint(message: &str) -> bool {
    const WORDS: [&str; 11] = [
        ": invalid input",
        ": No such file or directory",
        "warning: here-document at line",
        ": command not found",
        ": not found",
        ": Permission denied",
        ": unbound variable",
        ": syntax error",
        ": cannot ",
        "No match for argument: ",
        "curl: (",
    ];
    let is_package = message.starts_with("No package ") && message.trim_end().ends_with("available.");
    is_package || WORDS.iter().any(|words| message.contains(words))
}

/// Scripts can print whole documents: a report shows only their beginning.
pub(super) fn shortened(text: &str) -> String {
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ...", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

pub(super) fn is_failure(line: &JournalLine) -> bool {
    const WORDS: [&str; 3] = [
        "Failed to run module scripts",
        "Runparts: ",
        "Failed running /var/lib/cloud",
    ];
    if line.by_systemd {
        return line
            .unit
            .as_deref()
            .is_some_and(|unit| unit.contains("user-data"))
            && line.message.contains("Failed with result");
    }
    let is_failure = WORDS.iter().any(|word| line.message.contains(word));
    is_failure && (!line.message.contains("Runparts: ") || line.message.contains("failures"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cloud, diagnosed, done, plan, plan_with};
    use crate::diagnosis::Diagnosis;
    use crate::observation::phases::tests::{join, journal};
    use crate::observation::{JournalLine, ObservedEvent};
    use crate::vocabulary::cause::Cause;

    const FAILED: &str = "Failed to run module scripts-user (scripts in /var/lib/cloud/instance/scripts)";

    /// The diagnosis of user data that wrote these lines.
    fn after(lines: impl IntoIterator<Item = ObservedEvent>) -> Diagnosis {
        diagnosed(&plan(), join().into_iter().take(2).chain(lines).collect())
    }

    /// The evidence for user data that failed after these lines.
    fn evidence(lines: &[&str]) -> String {
        let lines = lines.iter().map(|line| cloud(line));
        let found = after(lines.chain([cloud(FAILED), done("DataSourceEc2")]));
        assert_eq!(found.cause, Cause::ScriptFailed);
        found.seen
    }

    #[test]
    fn a_complaint_before_the_line_of_a_trap_is_the_evidence() {
        for complaint in [
            "base64: invalid input",
            "cat: /etc/demo/labels: No such file or directory",
            "/var/lib/cloud/instance/scripts/part-001: line 9: warning: here-document at line 3 delimited by end-of-file \
             (wanted `EOF')",
            "curl: (22) The requested URL returned error: 404",
        ] {
            for trap in [
                "failed at 12",
                "Error on line 12",
                "bootstrap.sh: line 12 ended with status 1",
                "aborted with exit status 1 (line 12)",
            ] {
                let seen = evidence(&["starting", complaint, trap]);
                assert!(seen.ends_with(complaint), "{trap}: {seen}");
            }
        }
    }

    #[test]
    fn a_last_line_with_a_reason_of_its_own_stays_the_evidence() {
        for last in [
            "bootstrap.sh: the name of the cluster is missing",
            "An error occurred (ResourceNotFoundException) when calling the DescribeCluster operation: No cluster found for 1",
            "jq: error (at <stdin>:1): Cannot index string with string \"cluster\" after 404 of the requested page",
        ] {
            let seen = evidence(&["rm: cannot remove '/tmp/x': No such file or directory", last]);
            assert!(seen.ends_with(last), "{seen}");
        }
    }

    #[test]
    fn the_package_that_is_missing_is_named() {
        for (missing, last) in [
            ("No package nosuch available.", "Error: Nothing to do"),
            (
                "No match for argument: nosuch",
                "Error: Unable to find a match: nosuch",
            ),
        ] {
            let seen = evidence(&["Loaded plugins: priorities", missing, last]);
            assert!(seen.ends_with(missing), "{seen}");
        }
    }

    #[test]
    fn output_through_logger_counts_although_it_arrives_after_the_end() {
        let logged = |message: &str| journal("cloud-final.service", "user-data", message);
        let without_unit = |message: &str| {
            ObservedEvent::Journal(JournalLine {
                unit: None,
                command: Some("user-data".to_owned()),
                by_systemd: false,
                message: message.to_owned(),
            })
        };
        let late: [fn(&str) -> ObservedEvent; 2] = [
            |message| journal("cloud-final.service", "user-data", message),
            |message| {
                ObservedEvent::Journal(JournalLine {
                    unit: None,
                    command: Some("user-data".to_owned()),
                    by_systemd: false,
                    message: message.to_owned(),
                })
            },
        ];
        for late in late {
            let found = after([logged("starting"), cloud(FAILED), late("base64: invalid input")]);
            assert!(found.seen.ends_with("base64: invalid input"), "{}", found.seen);
        }
        let found = after([
            cloud(FAILED),
            without_unit("base64: invalid input"),
            cloud(FAILED),
            cloud(FAILED),
            cloud("a service writes later"),
        ]);
        assert!(found.seen.ends_with("base64: invalid input"), "{}", found.seen);
    }

    #[test]
    fn user_data_that_succeeded_without_a_kubelet_shows_its_complaint() {
        let warning = "/var/lib/cloud/instance/scripts/part-001: line 9: warning: here-document at line 3 delimited by \
                       end-of-file (wanted `EOF')";
        let found = after([cloud(warning), done("DataSourceEc2")]);
        assert_eq!(found.cause, Cause::KubeletNeverStarted);
        assert!(
            found.seen.ends_with(warning) && found.because.contains("here-document"),
            "{found:?}"
        );
    }

    #[test]
    fn an_error_that_a_later_command_hides_has_its_complaint() {
        let found = after([
            cloud("base64: invalid input"),
            cloud("Exited with error on line 388"),
            done("DataSourceEc2"),
        ]);
        assert!(
            found.because.contains("(base64: invalid input; Exited with"),
            "{}",
            found.because
        );
    }

    /// Lines of cloud-init, of `set -x` and of the harness repeat what a script does.
    #[test]
    fn only_output_of_the_script_is_evidence() {
        let noise = [
            "+ echo 'error: base64: invalid input'",
            "+++ /etc/eks/bootstrap.sh:41: grep -q error /var/log/messages",
            "+(/etc/eks/bootstrap.sh:41): test -f /etc/failed",
            "2026-11-21 10:00:00,000 - util.py[WARNING]: Failed running /var/lib/cloud/instance/scripts/part-001 [1]",
            "2026-11-21 10:00:00,000 - cc_scripts_user.py[WARNING]: Failed to run module scripts-user (scripts in x)",
            "Cloud-init v. 22.4.2 running 'modules:final' at Sat, 21 Nov 2026 10:00:00 +0000. Up 4.20 seconds.",
            "ci-info: no authorized SSH keys fingerprints found for user admin: failed.",
            "Traceback (most recent call last):",
            "  File \"/usr/lib/python3/dist-packages/cloudinit/subp.py\", line 295, in subp",
            "    raise ProcessExecutionError(",
            "cloudinit.subp.ProcessExecutionError: Unexpected error while running command.",
            "Command: ['/var/lib/cloud/instance/scripts/part-001']",
            "Exit code: 1",
            "RuntimeError: Runparts: 1 failures (part-001) in 1 attempted commands",
        ];
        for line in noise {
            let seen = evidence(&["the last words", line]);
            assert!(seen.ends_with("the last words"), "{line}: {seen}");
        }
        let mut all = vec!["the last words"];
        all.extend(noise);
        assert!(evidence(&all).ends_with("the last words"));
    }

    #[test]
    fn the_unknown_cause_quotes_no_line_of_cloud_init_or_a_trace() {
        let started = join().into_iter().take(5);
        let events = started.chain([
            cloud("curl: (22) The requested URL returned error: 404"),
            cloud("+ echo error"),
            cloud("2026-11-21 10:00:00,000 - util.py[WARNING]: Failed running /var/lib/cloud/x [1]"),
            cloud("cloudinit.subp.ProcessExecutionError: Unexpected error while running command."),
        ]);
        let found = diagnosed(&plan_with("#!/bin/bash\n"), events.collect());
        assert_eq!(found.cause, Cause::Unknown);
        assert!(found.seen.contains("curl: (22)"), "{}", found.seen);
    }
}
