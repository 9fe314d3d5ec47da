//! User data with values that are not filled in cannot be tried.

use nodejoin_core::user_data::parse;

use super::error::AdoptError;
use super::placeholders::{self, Placeholder};
use crate::eks::is_bottlerocket;
use crate::machine::Machine;
use crate::source_lines::SourceLines;
use crate::text::is_gzip;

/// Checks that all values of the user data are filled in. `plain`: its text without gzip.
///
/// # Errors
/// A place that is not filled in.
pub(super) fn check(machine: &Machine, plain: &str) -> Result<(), AdoptError> {
    // The lines of what a generator compresses are not those of a file.
    let is_compressed = machine.user_data.as_deref().is_some_and(is_gzip);
    let shown = if is_compressed { "" } else { plain };
    let lines = SourceLines::of(machine, plain.into());
    let found = match is_bottlerocket(machine) {
        true => placeholders::find_in_settings(shown),
        false => placeholders::find(shown),
    };
    let of_text = |one: Placeholder| Placeholder {
        place: lines.place(shown, one.line, "the user data"),
        ..one
    };
    let mut found: Vec<Placeholder> = found.into_iter().map(of_text).collect();
    found.extend(of_files(plain, shown, &lines));
    found.retain(|one| !machine.literals.contains(&one.text));
    match found.is_empty() {
        true => Ok(()),
        false => Err(AdoptError::Placeholders {
            machine: machine.name.clone(),
            placeholders: found,
        }),
    }
}

/// Those in the files and commands of a cloud-config that are not in the text itself: they can be in base64.
fn of_files(text: &str, shown: &str, lines: &SourceLines<'_>) -> Vec<Placeholder> {
    let config = parse(text.as_bytes()).cloud_config();
    let mut found = Vec::new();
    let files = config.files.iter().map(|file| {
        let name = format!("the file {}", file.path);
        (&file.content, name)
    });
    let commands = config.runcmd.as_ref().filter(|_| shown.is_empty());
    let commands = commands.map(|commands| (commands, "`runcmd`".to_owned()));
    for (content, name) in files.chain(commands) {
        let Ok(content) = std::str::from_utf8(content) else {
            continue;
        };
        if content.lines().all(|line| shown.contains(line.trim())) {
            continue;
        }
        let places = placeholders::find(content).into_iter();
        found.extend(places.map(|one| Placeholder {
            place: lines.place(content, one.line, &name),
            ..one
        }));
    }
    found
}
