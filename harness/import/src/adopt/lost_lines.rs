//! Lines of user data that have no effect.

use nodejoin_core::input::problem::Position;
use nodejoin_core::user_data::{CloudConfig, FaultKind, Parsed, Part, parse};

use super::first_lines;
use super::lost_parts::lost_parts;
use super::other_beginnings;
use super::replaced_lists::replaced_lists;
use super::stated::Stated;
use super::unexecutable_files::unexecutable;
use super::unhandled_parts::unhandled;
use crate::machine::FileFormat;
use crate::source_lines::SourceLines;
use crate::text;
use crate::words::shortened;

/// What a message calls a text whose line it cannot find in the user data.
const USER_DATA: &str = "the user data";

/// Parts of a MIME message that nothing reads, escapes of a template, and commands that a blank ends. `is_completed`:
/// EKS adds a part of its own.
pub(super) fn lost_lines(
    user_data: &[u8],
    stated: &Stated,
    lines: &SourceLines<'_>,
    is_completed: bool,
) -> Vec<String> {
    let text = String::from_utf8_lossy(user_data);
    let at = |number| lines.place(&text, number, USER_DATA);
    let escaped = (1..).zip(text.lines()).find(|(_, line)| line.contains("$${"));
    let escaped = escaped.map(|(line, _)| {
        let line = at(line);
        format!(
            "{line} has `$${{`, by which a template of Terraform writes `${{`: render it first, a shell reads `$$` as its \
             process id"
        )
    });
    let is_toml = text::format(&text) == Some(FileFormat::BottlerocketSettings);
    let mark = (text.starts_with('\u{feff}') && !is_toml).then(|| {
        "the user data begins with a UTF-8 byte order mark (EF BB BF), which editors do not show: cloud-init and nodeadm do not find the \
         header or the `#!` behind it; save the file without it"
            .to_owned()
    });
    let parsed = parse(user_data);
    let unusable = unusable_configs(&parsed, lines).into_iter();
    let parts = parsed.parts.iter();
    let beginnings = parts.filter_map(|part| other_beginnings::note(part, lines));
    let notes = mark
        .into_iter()
        .chain(unhandled(&text, &parsed, lines))
        .chain(beginnings)
        .chain(first_lines::mistakes(&text, &parsed, lines))
        .chain(unusable)
        .chain(unexecutable(&text, &parsed, &stated.text, lines))
        .chain(replaced_lists(user_data, &parsed, lines))
        .chain(lost_parts(&text, lines, is_completed))
        .chain(escaped);
    notes.chain(cut_commands(stated, lines)).collect()
}

/// What cloud-init cannot use of cloud-configs: it ignores one with invalid YAML, and a module of it ends at an invalid
/// value.
fn unusable_configs(parsed: &Parsed, lines: &SourceLines<'_>) -> Vec<String> {
    let parts = parsed.parts.iter();
    let is_config = |part: &&Part| {
        part.mime == "text/cloud-config" && other_beginnings::type_by_beginning(part).is_none()
    };
    let configs = parts.filter(is_config);
    let mut notes = Vec::new();
    for part in configs {
        let text = String::from_utf8_lossy(&part.content);
        let place = |position: Position| {
            let line = usize::try_from(position.line).unwrap_or_default();
            lines.place(&text, line, "the part")
        };
        let name = &part.name;
        match CloudConfig::read(&text) {
            Ok(config) => notes.extend(config.problems.into_iter().map(|problem| {
                let place = place(problem.position);
                format!(
                    "cloud-init cannot use all of the cloud-config in {name}: {place}: {}",
                    problem.message
                )
            })),
            Err(error) => {
                let place = place(error.position);
                notes.push(format!(
                    "cloud-init cannot use the cloud-config in {name}: {place}: {}",
                    error.message
                ));
            }
        }
    }
    notes
}

/// Whether a cloud-config has commands that cloud-init cannot run.
pub(super) fn has_unusable_commands(user_data: &[u8]) -> bool {
    let mut faults = parse(user_data).faults.into_iter();
    faults.any(|fault| fault.kind == FaultKind::CloudConfig)
}

/// The command of a line whose backslash a blank follows.
fn cut_command(line: &str) -> Option<&str> {
    let command = line
        .strip_suffix([' ', '\t'])
        .and_then(|line| line.trim_end().strip_suffix('\\'))
        .map(str::trim);
    command.filter(|command| !command.starts_with('#'))
}

fn cut_commands(stated: &Stated, lines: &SourceLines<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    for (number, line) in (1..).zip(stated.text.lines()) {
        let Some(command) = cut_command(line) else {
            continue;
        };
        let place = lines.known_place(&stated.text, number);
        let place = place.map(|place| format!(" in {place}")).unwrap_or_default();
        if stated.lines_with_blanks.iter().any(|explained| explained == line) {
            continue;
        }
        let command = shortened(command);
        let note =
            format!("a blank follows the backslash at the end of `{command}`{place}: the command ends there");
        // A script in an argument is read twice.
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}
