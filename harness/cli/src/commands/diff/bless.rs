//! Writes the machines of the files as they are now, for a later comparison.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use nodejoin_core::compare::BlessedStates;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_engine::RecordedMachine;

use super::versions;
use crate::process;

/// The states that the file has. None if there is no file; a file of something else is refused.
pub(super) fn before(file: &Path) -> Result<BlessedStates, ExitCode> {
    if !file.exists() {
        return Ok(BlessedStates::default());
    }
    versions::blessed(file).map_err(|error| {
        note!("error: {error}");
        ExitCode::Usage
    })
}

/// Writes the states of the file, with those that were recorded. Machines that did not run keep their states.
pub(super) fn write(
    file: &Path,
    before: &BlessedStates,
    recorded: Vec<RecordedMachine>,
) -> Result<ExitCode, ExitCode> {
    let all = recorded.len();
    let states: Vec<_> = recorded
        .into_iter()
        .filter_map(|machine| Some((machine.id, machine.like, machine.state.ok()?)))
        .collect();
    if states.is_empty() {
        note!("nothing to write: no machine ran");
        return Ok(ExitCode::NothingRan);
    }
    let is_changed = |one: &&(_, _, _)| before.state(&one.0).as_ref() != Some(&one.2);
    let changed = states.iter().filter(is_changed).count();
    let text = before.with(&states).text().map_err(std::io::Error::other);
    let written = text.and_then(|text| write_whole(file, &text));
    written.map_err(|error| {
        let hint = Some("name a file in a writable folder".to_owned());
        process::report_error(&format!("could not write `{}`", file.display()), &error, hint);
        ExitCode::Environment
    })?;
    out!(
        "wrote {}: {} of {all} machines, {changed} of them new or changed",
        file.display(),
        states.len()
    );
    Ok(ExitCode::Passed)
}

/// Replaces the file in one step: a run that ends meanwhile loses nothing.
fn write_whole(file: &Path, text: &str) -> std::io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    // As any file of a checkout, and not as a temporary one.
    let mut new = tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(0o644))
        .tempfile_in(folder.unwrap_or(Path::new(".")))?;
    std::io::Write::write_all(&mut new, text.as_bytes())?;
    new.persist(file).map_err(|error| error.error)?;
    Ok(())
}
