//! The reference of the command line, from its definition.

use clap::{Arg, Command};

use crate::markdown::{code, outside_code, table};

pub(crate) fn page() -> String {
    let mut command = nodejoin::command();
    command.build();
    let mut text = "# Commands\n".to_owned();
    section(&mut text, &command, "nodejoin", 2);
    text
}

fn section(text: &mut String, command: &Command, name: &str, level: usize) {
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    text.push_str(&format!("\n{} `{name}`\n\n", "#".repeat(level)));
    text.push_str(&format!("{}\n\n", outside_code(&about)));
    text.push_str(&format!("```text\n{}\n```\n", usage(command, name)));
    let arguments: Vec<_> = command
        .get_arguments()
        .filter(|arg| is_shown(arg, level))
        .collect();
    if !arguments.is_empty() {
        let rows = arguments.iter().map(|arg| [spelling(arg), meaning(arg)]);
        text.push_str(&format!("\n{}", table(["argument", "meaning"], rows)));
    }
    if let Some(after) = command.get_after_long_help().or(command.get_after_help()) {
        text.push_str(&format!("\n```text\n{after}\n```\n"));
    }
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        section(
            text,
            sub,
            &format!("{name} {}", sub.get_name()),
            (level + 1).min(4),
        );
    }
}

fn usage(command: &Command, name: &str) -> String {
    let mut command = command.clone().bin_name(name);
    let usage = command.render_usage().to_string();
    usage.trim_start_matches("Usage: ").to_owned()
}

/// Global arguments are listed once, at the top.
fn is_shown(arg: &Arg, level: usize) -> bool {
    let is_builtin = matches!(arg.get_id().as_str(), "help" | "version");
    !arg.is_hide_set() && !is_builtin && (level == 2 || !is_inherited(arg))
}

fn is_inherited(arg: &Arg) -> bool {
    arg.is_global_set() && arg.get_id() == "time_factor"
}

fn spelling(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let value = names.first().map(ToString::to_string);
    let value = value.filter(|_| arg.get_action().takes_values());
    let Some(long) = arg.get_long() else {
        return code(&value.unwrap_or_default());
    };
    let short = arg
        .get_short()
        .map(|short| format!("`-{short}`, "))
        .unwrap_or_default();
    let is_optional = arg.get_num_args().is_some_and(|range| range.min_values() == 0);
    let value = match value {
        Some(value) if is_optional => format!("[=<{value}>]"),
        Some(value) => format!(" <{value}>"),
        None => String::new(),
    };
    format!("{short}`--{long}{value}`")
}

fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string);
    let mut parts = vec![help.unwrap_or_default()];
    parts.extend(values(arg));
    let is_value = arg.get_action().takes_values();
    let defaults = arg.get_default_values().iter();
    let defaults = defaults.filter(|value| is_value && !value.is_empty());
    let defaults: Vec<_> = defaults.map(|value| code(&value.to_string_lossy())).collect();
    if !defaults.is_empty() {
        parts.push(format!("Default: {}.", defaults.join(", ")));
    }
    if let Some(name) = arg.get_env() {
        parts.push(format!("Environment: `{}`.", name.to_string_lossy()));
    }
    sentences(&parts)
}

fn values(arg: &Arg) -> Option<String> {
    if !arg.get_action().takes_values() {
        return None;
    }
    let values = arg.get_possible_values();
    let values = values.iter().map(|value| match value.get_help() {
        Some(help) => format!("`{}` ({help})", value.get_name()),
        None => code(value.get_name()),
    });
    let values: Vec<_> = values.collect();
    (!values.is_empty()).then(|| format!("Values: {}.", values.join(", ")))
}

/// Joins parts, each of which ends as a sentence does.
fn sentences(parts: &[String]) -> String {
    let parts = parts.iter().map(|part| match part.ends_with(['.', ':']) {
        true => part.clone(),
        false => format!("{part}."),
    });
    parts.collect::<Vec<_>>().join(" ")
}
