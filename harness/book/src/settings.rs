//! Settings: flags with environment variables, other environment variables, and keys of `nodejoin.yaml`.

use std::collections::BTreeMap;

use clap::Command;
use nodejoin_core::run::env;
use nodejoin_core::run::settings::SettingsFile;
use serde_json::Value;

use crate::markdown::{code, table};

pub(crate) fn page() -> String {
    let mut command = nodejoin::command();
    command.build();
    let mut flags = BTreeMap::new();
    collect(&mut flags, &command, "");
    let rows = flags.iter().map(|(name, flag)| [code(name), flag.clone()]);
    let flags_table = table(["variable", "flag"], rows);
    let others = env::ALL
        .iter()
        .filter(|variable| !flags.contains_key(variable.name));
    let others = table(
        ["variable", "flag", "meaning"],
        others.map(|variable| {
            let flag = variable.flag.map(code).unwrap_or_default();
            [code(variable.name), flag, variable.doc.to_owned()]
        }),
    );
    format!(
        "# Settings\n\nA flag takes precedence over its environment variable, the variable over `nodejoin.yaml`, and the file over the\n\
         default. An empty variable counts as not set.\n\n\
         ## nodejoin.yaml\n\nThe nearest `nodejoin.yaml` in the current folder or above it applies. Paths in it are relative to it.\n\n\
         ```yaml\ncontrol_plane: local          # local, k3s, kind or external\njobs: 2\n\
         artifacts_dir: target/nodejoin\noverlays: [test/overlay.yaml]\n```\n\n{}\n\
         ## Environment variables of flags\n\n{flags_table}\n\
         ## Other environment variables\n\n{others}",
        file_keys()
    )
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
