//! Where a script ended, from its output: messages of bash, dash and Python, traps, and traces of `set -x`.

use super::facts::Facts;
use super::script_output::is_by_cloud_init;
use super::types::ScriptLocation;
use crate::user_data::{Parsed, parse};
use crate::vocabulary::cause::Cause;
use crate::vocabulary::cause_facts::BlamedLine;
use crate::vocabulary::phase::Phase;
use crate::vocabulary::service::Service;

/// Number of last lines that are searched: the script continued after earlier messages.
const SEARCHED_LINES: usize = 6;

/// The location that a cause blames; `None` if no script is to blame, or its output has no location.
pub(super) fn of(facts: &Facts<'_>, cause: Cause) -> Option<ScriptLocation> {
    match cause.blames_script() {
        BlamedLine::NoLine => None,
        BlamedLine::KubeletFlag(name) => flag(facts, name),
        BlamedLine::PartWithoutInterpreter => part_without_interpreter(facts),
        BlamedLine::LastOfScript if facts.is_before(Phase::Configured) => running_command(facts)
            .filter(|_| cause == Cause::UserDataNotDone)
            .or_else(|| last_location(facts))
            .or_else(|| last_named_script(facts))
            .or_else(|| failed_call(facts))
            .or_else(|| failed_part(facts)),
        BlamedLine::LastOfScript => None,
    }
}

/// The line with a command that the user data still runs, if only one line contains it.
pub(super) fn running_command(facts: &Facts<'_>) -> Option<ScriptLocation> {
    let scripts = scripts(facts);
    let collected = facts.observation.collected.as_ref()?;
    let mut commands = collected
        .user_data_processes
        .iter()
        .rev()
        .filter_map(|process| process.strip_prefix('`')?.split('`').next());
    commands.find_map(|command| {
        let mut lines = scripts.iter().flat_map(|(name, script)| {
            let lines = (1..).zip(script.lines());
            let found =
                lines.filter(|(_, line)| line.contains(command) && !line.trim_start().starts_with('#'));
            found.map(move |(number, _)| (name, number))
        });
        let (name, line) = lines.next()?;
        lines.next().is_none().then(|| ScriptLocation {
            script: Some(name.clone()),
            line: Some(line),
        })
    })
}

/// The last location in the output of the user data.
fn last_location(facts: &Facts<'_>) -> Option<ScriptLocation> {
    let lines = last_lines(facts);
    let scripts = scripts(facts);
    let mut located: Vec<(usize, Named<'_>)> = lines
        .iter()
        .enumerate()
        .filter_map(|(index, line)| Some((index, Named::read(line).or_else(|| traced(line, &scripts))?)))
        .collect();
    // The first of several traps in a row has the line of the error, the others the lines of its callers.
    while let [
        ..,
        (before, Named { is_trap: true, .. }),
        (index, Named { is_trap: true, .. }),
    ] = located.as_slice()
        && before + 1 == *index
    {
        located.pop();
    }
    located.pop().map(|(_, named)| ScriptLocation {
        script: named.script.map(str::to_owned),
        line: Some(named.line),
    })
}

/// The script that wrote the last line with its name: `bootstrap.sh: the name of the cluster is missing`.
fn last_named_script(facts: &Facts<'_>) -> Option<ScriptLocation> {
    let lines = last_lines(facts);
    let (script, _) = lines.last()?.trim().split_once(": ")?;
    (is_script(script) && script.ends_with(".sh")).then(|| ScriptLocation {
        script: Some(script.to_owned()),
        line: None,
    })
}

/// The last lines that scripts wrote, from the journal, or from the collected output if the user data does not write to
/// the journal.
fn last_lines(facts: &Facts<'_>) -> Vec<String> {
    let journal = facts.user_data_lines().filter(|(_, line)| !line.by_systemd);
    let mut lines: Vec<String> = journal
        .flat_map(|(_, line)| line.message.lines())
        .map(str::to_owned)
        .collect();
    let collected = facts.observation.collected.as_ref();
    if let Some(result) = collected.and_then(|collected| collected.user_data.as_ref())
        && !lines.iter().any(|line| Named::read(line).is_some())
    {
        lines.extend(result.output.lines().map(str::to_owned));
    }
    lines.retain(|line| !line.trim().is_empty() && !is_by_cloud_init(line));
    lines.split_off(lines.len().saturating_sub(SEARCHED_LINES))
}

/// A line of output with a location.
struct Named<'l> {
    script: Option<&'l str>,
    line: u64,
    /// A trap of the script wrote it, after the error.
    is_trap: bool,
}

impl<'l> Named<'l> {
    fn read(text: &'l str) -> Option<Self> {
        let text = text.trim();
        own_trap(text)
            .or_else(|| bare_trap(text))
            .or_else(|| trace(text))
            .or_else(|| python(text))
            .or_else(|| bash(text))
            .or_else(|| dash(text))
    }

    fn in_script(script: &'l str, line: &str) -> Option<Self> {
        Some(Self {
            script: Some(script).filter(|script| is_script(script)),
            line: number(line)?,
            is_trap: false,
        })
        .filter(|named| named.script.is_some())
    }
}

/// `bootstrap.sh: line 12 ended with status 1`
fn own_trap(text: &str) -> Option<Named<'_>> {
    let (script, rest) = text.split_once(": line ")?;
    let (line, _) = rest.split_once(" ended with status")?;
    Some(Named {
        is_trap: true,
        ..Named::in_script(script, line)?
    })
}

/// `Exited with error on line 12` of the scripts of EKS' AMIs, without the name of the script.
fn bare_trap(text: &str) -> Option<Named<'_>> {
    let (_, line) = text.split_once("Exited with error on line ")?;
    Some(Named {
        script: None,
        line: number(line)?,
        is_trap: true,
    })
}

/// `+ /etc/eks/bootstrap.sh:12: command` of a script that sets `PS4` to its source and line.
fn trace(text: &str) -> Option<Named<'_>> {
    let traced = text.strip_prefix('+')?.trim_start_matches('+').trim_start();
    let (script, rest) = traced.split_once(':')?;
    Named::in_script(script, rest)
}

/// `File "/usr/bin/tool", line 12, in main`
fn python(text: &str) -> Option<Named<'_>> {
    let (script, rest) = text.strip_prefix("File \"")?.split_once("\", line ")?;
    Named::in_script(script, rest)
}

/// `/etc/eks/bootstrap.sh: line 12: jq: command not found`
fn bash(text: &str) -> Option<Named<'_>> {
    let (script, rest) = text.split_once(": line ")?;
    Named::in_script(script, rest)
}

/// `/etc/eks/bootstrap.sh: 12: jq: not found`
fn dash(text: &str) -> Option<Named<'_>> {
    let (script, rest) = text.split_once(": ")?;
    let (line, _) = rest.split_once(": ")?;
    let is_number = line.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && script.starts_with('/')).then(|| Named::in_script(script, line))?
}

/// The number at the start of a text.
fn number(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok().filter(|line| *line > 0)
}

/// Whether the text is a path or a file name; `bash` and `sh` name a script that is not in a file.
fn is_script(text: &str) -> bool {
    let is_shell = matches!(text, "bash" | "sh" | "-bash" | "main" | "environment");
    !text.is_empty() && !is_shell && !text.contains(char::is_whitespace)
}

/// The line of a command in a trace of `set -x`, if only one line of the user data is equal to it.
fn traced<'s>(text: &str, scripts: &'s [(String, String)]) -> Option<Named<'s>> {
    let command = text.trim().strip_prefix('+')?.trim_start_matches('+').trim();
    let mut equal = scripts.iter().flat_map(|(name, script)| {
        let lines = (1..).zip(script.lines());
        let equal = lines.filter(|(_, line)| !command.is_empty() && line.trim() == command);
        equal.map(move |(number, _)| (name, number))
    });
    let (name, line) = equal.next()?;
    equal.next().is_none().then_some(Named {
        script: Some(name),
        line,
        is_trap: false,
    })
}

/// The line of the user data with a flag of the kubelet.
fn flag(facts: &Facts<'_>, flag: &str) -> Option<ScriptLocation> {
    scripts(facts).into_iter().find_map(|(name, script)| {
        let (line, _) = (1..).zip(script.lines()).find(|(_, line)| line.contains(flag))?;
        Some(ScriptLocation {
            script: Some(name),
            line: Some(line),
        })
    })
}

/// The first line of the part without `#!`.
fn part_without_interpreter(facts: &Facts<'_>) -> Option<ScriptLocation> {
    let fault = parsed(facts)?.faults.into_iter().find_map(|fault| fault.part)?;
    Some(ScriptLocation {
        script: Some(fault),
        line: Some(1),
    })
}

/// The line that makes the last failed AWS call, if only one line calls that operation by the AWS CLI.
fn failed_call(facts: &Facts<'_>) -> Option<ScriptLocation> {
    let failed = facts.calls().filter(|(_, call)| call.has_failed()).last();
    let (_, call) = failed.filter(|(_, call)| call.service != Service::Imds)?;
    let command = format!("aws {} {}", call.service.word(), kebab_case(&call.operation));
    let scripts = scripts(facts);
    let mut calling = scripts.iter().flat_map(|(name, script)| {
        let lines = (1..).zip(script.lines());
        let calling = lines.filter(|(_, line)| !line.trim_start().starts_with('#') && calls(line, &command));
        calling.map(move |(number, _)| (name, number))
    });
    let (name, line) = calling.next()?;
    calling.next().is_none().then(|| ScriptLocation {
        script: Some(name.clone()),
        line: Some(line),
    })
}

/// Whether a line contains a command, with any blanks between its words.
fn calls(line: &str, command: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    format!("{} ", words.join(" ")).contains(&format!("{command} "))
}

/// `GetParameter` as the AWS CLI writes it: `get-parameter`.
fn kebab_case(operation: &str) -> String {
    let mut name = String::new();
    for letter in operation.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// The part that ended with an error, without a line.
fn failed_part(facts: &Facts<'_>) -> Option<ScriptLocation> {
    let result = facts.observation.collected.as_ref()?.user_data.as_ref()?;
    let (part, _) = result.exit_codes.iter().find(|(_, code)| **code != 0)?;
    Some(ScriptLocation {
        script: Some(part.clone()),
        line: None,
    })
}

/// The scripts of the user data by their names.
fn scripts(facts: &Facts<'_>) -> Vec<(String, String)> {
    let scripts = parsed(facts).map_or(Vec::new(), |parsed| parsed.scripts());
    let texts = scripts
        .into_iter()
        .map(|script| (script.name, String::from_utf8_lossy(&script.content).into_owned()));
    texts.collect()
}

fn parsed(facts: &Facts<'_>) -> Option<Parsed> {
    Some(parse(&facts.user_data()?))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cloud, diagnosed, plan_with};
    use crate::observation::phases::tests::join;

    /// The location for user data that ended with an error after these lines.
    fn location(user_data: &str, lines: &[&str]) -> Option<(Option<String>, Option<u64>)> {
        let mut events: Vec<_> = join().into_iter().take(2).collect();
        events.extend(lines.iter().map(|line| cloud(line)));
        events.push(cloud("2026-11-21 10:00:00,000 - util.py[WARNING]: Failed running /var/lib/cloud/instance/scripts/part-001 [1]"));
        let script = diagnosed(&plan_with(user_data), events).script?;
        Some((script.script, script.line))
    }

    #[test]
    fn a_line_with_a_location_is_recognized() {
        for (line, script, number) in [
            (
                "/etc/eks/bootstrap.sh: line 12: jq: command not found",
                Some("/etc/eks/bootstrap.sh"),
                12,
            ),
            (
                "/var/lib/cloud/instance/scripts/part-001: line 3: nope: command not found",
                Some("/var/lib/cloud/instance/scripts/part-001"),
                3,
            ),
            ("/opt/setup: 7: nope: not found", Some("/opt/setup"), 7),
            (
                "bootstrap.sh: line 99 ended with status 1",
                Some("bootstrap.sh"),
                99,
            ),
            ("Exited with error on line 350", None, 350),
            (
                "  File \"/usr/bin/tool\", line 4, in <module>",
                Some("/usr/bin/tool"),
                4,
            ),
            (
                "++ /etc/eks/bootstrap.sh:41: aws eks",
                Some("/etc/eks/bootstrap.sh"),
                41,
            ),
        ] {
            let expected = Some((script.map(str::to_owned), Some(number)));
            assert_eq!(location("#!/bin/bash\n", &[line]), expected, "{line}");
        }
    }

    #[test]
    fn a_line_without_a_location_is_not_misread() {
        for line in [
            "bash: line 1: nope: command not found",
            "in the third line: 4 errors",
            "sh: 1: nope: not found",
            "curl: (7) Failed to connect",
            "Error on line: 0: x",
        ] {
            assert_eq!(location("#!/bin/bash\n", &[line]), None, "{line}");
        }
    }

    #[test]
    fn the_first_of_several_traps_has_the_location() {
        let lines = [
            "/a.sh: line 1: warning: something is odd",
            "bootstrap.sh: line 12 ended with status 3",
            "bootstrap.sh: line 40 ended with status 3",
            "Exited with error on line 2",
        ];
        let innermost = Some((Some("bootstrap.sh".to_owned()), Some(12)));
        assert_eq!(location("#!/bin/bash\n", &lines), innermost);
        // The script continued after a message long before the end.
        let lines = ["/a.sh: line 1: x", "1", "2", "3", "4", "5", "6", "7"];
        assert_eq!(location("#!/bin/bash\n", &lines), None);
    }

    #[test]
    fn a_script_that_prints_only_its_name_is_reported_without_a_line() {
        let lines = ["something", "bootstrap.sh: the name of the cluster is missing"];
        let named = Some((Some("bootstrap.sh".to_owned()), None));
        assert_eq!(location("#!/bin/bash\n", &lines), named);
        assert_eq!(
            location("#!/bin/bash\n", &["bootstrap.sh: asking", "curl: (7) no"]),
            None
        );
    }

    #[test]
    fn a_traced_command_is_located_if_it_occurs_once() {
        let user_data = "#!/bin/bash -xe\ntrue\nfalse\nfalse || true\n";
        let found = Some((Some("part-001".to_owned()), Some(3)));
        assert_eq!(location(user_data, &["+ true", "+ false"]), found);
        assert_eq!(location("#!/bin/bash -xe\nfalse\nfalse\n", &["+ false"]), None);
    }
}
