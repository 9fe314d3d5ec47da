//! What the user reads before the run.

use std::path::Path;

use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_import::Trial;

use super::read::{Tried, TryError};
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
    for (name, reason) in &tried.not_tried {
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
