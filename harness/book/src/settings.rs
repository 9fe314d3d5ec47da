//! Settings: flags with environment variables, other environment variables, and keys of `nodejoin.yaml`.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Command;
use nodejoin_core::run::settings::SettingsFile;
use serde_json::Value;

use crate::markdown::{code, table};
use crate::read;

/// Variables that are read outside the crates with documented constants.
const FURTHER: &[(&str, &str)] = &[
    (
        "KUBECONFIG",
        "The kubeconfig of an `external` control plane, without `--kubeconfig`.",
    ),
    ("NODEJOIN_CONTEXT", "The same as `--context` of `nodejoin run`."),
    ("NODEJOIN_WIRING", "The same as `--wiring` of `nodejoin run`."),
    (
        "NODEJOIN_ALLOW_REMOTE",
        "`true` is the same as `--allow-remote` of `nodejoin run`.",
    ),
    (
        "NODEJOIN_NO_SKIPS",
        "If set, a skipped scenario is a failed test in `cargo test`.",
    ),
    (
        "GITHUB_ACTIONS",
        "If `true`, the default of `--format` is `github`.",
    ),
    (
        "GITHUB_STEP_SUMMARY",
        "The file for the summary, without `--summary`.",
    ),
    (
        "HTTP_PROXY, HTTPS_PROXY, NO_PROXY",
        "Proxies for builds and downloads, in upper or lower case.",
    ),
    (
        "RUST_LOG",
        "Log messages of the harness, such as `nodejoin=debug`. Default: warnings.",
    ),
];

/// Where environment variables are documented constants.
const CONSTANTS: &str = "harness/docker/src/env.rs";

pub(crate) fn page(repository: &Path) -> Result<String, String> {
    let mut command = nodejoin::command();
    command.build();
    let mut flags = BTreeMap::new();
    collect(&mut flags, &command, "");
    let rows = flags.iter().map(|(name, flag)| [code(name), flag.clone()]);
    let flags_table = table(["variable", "flag"], rows);
    let others = constants(&read(repository, CONSTANTS)?);
    let further = FURTHER
        .iter()
        .map(|(name, about)| ((*name).to_owned(), (*about).to_owned()));
    let others = others.into_iter().chain(further);
    let others = others.filter(|(name, _)| !flags.contains_key(name));
    let others = table(
        ["variable", "meaning"],
        others.map(|(name, about)| [code(&name), about]),
    );
    Ok(format!(
        "# Settings\n\nA flag takes precedence over its environment variable, the variable over `nodejoin.yaml`, and the file over the\n\
         default. An empty variable counts as not set.\n\n\
         ## nodejoin.yaml\n\nThe nearest `nodejoin.yaml` in the current folder or above it applies. Paths in it are relative to it.\n\n\
         ```yaml\ncontrol_plane: local          # local, k3s, kind or external\njobs: 2\nkeep: on-failure\n\
         artifacts_dir: target/nodejoin\noverlays: [test/overlay.yaml]\n```\n\n{}\n\
         ## Environment variables of flags\n\n{flags_table}\n\
         ## Other environment variables\n\n{others}",
        file_keys()
    ))
}

fn file_keys() -> String {
    let schema = schemars::schema_for!(SettingsFile).to_value();
    let keys = schema["properties"].as_object().cloned().unwrap_or_default();
    let about = |value: &Value| value["description"].as_str().unwrap_or_default().to_owned();
    table(
        ["key", "meaning"],
        keys.iter().map(|(key, value)| [code(key), about(value)]),
    )
}

/// Flags by the environment variables that set them.
fn collect(flags: &mut BTreeMap<String, String>, command: &Command, name: &str) {
    for arg in command.get_arguments() {
        if let (Some(variable), Some(long)) = (arg.get_env(), arg.get_long()) {
            let flag = format!("`--{long}` of `{}`", format!("nodejoin {name}").trim());
            let listed = flags.entry(variable.to_string_lossy().into_owned()).or_default();
            let is_global = arg.is_global_set() && !listed.is_empty();
            if !is_global {
                let separator = if listed.is_empty() { "" } else { ", " };
                listed.push_str(&format!("{separator}{flag}"));
            }
        }
    }
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        collect(flags, sub, format!("{name} {}", sub.get_name()).trim());
    }
}

/// The constants of a source file, by the names that they hold, with their doc comments.
fn constants(source: &str) -> Vec<(String, String)> {
    let mut about = Vec::new();
    let mut found = Vec::new();
    for line in source.lines() {
        if let Some(text) = line.strip_prefix("/// ") {
            about.push(text);
            continue;
        }
        let name = line
            .strip_prefix("pub const ")
            .and_then(|rest| rest.split_once(": &str = \""))
            .and_then(|(_, value)| value.strip_suffix("\";"));
        if let Some(name) = name {
            found.push((name.to_owned(), about.join(" ").replace(['[', ']'], "")));
        }
        about.clear();
    }
    found
}
