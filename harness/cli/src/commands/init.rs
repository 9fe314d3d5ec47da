//! `nodejoin init`: the first files of a repository of bootstrap scripts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_script::line_of_call;

use crate::args::InitArgs;
use crate::commands::try_file::{TryError, refuse, save};

/// The script that a node image runs.
const SCRIPT: &str = "bootstrap.sh";
/// Its path in a node.
const PLACE: &str = "/etc/eks/bootstrap.sh";
/// The path of a script of this name that calls the one of the AMI.
const PLACE_OF_CALLER: &str = "/opt/bootstrap.sh";
/// Levels of folders that are searched for it.
const DEPTH: usize = 6;
/// Folders of other people's code.
const SKIPPED: [&str; 3] = ["node_modules", "vendor", "target"];

const SCENARIO: &str = "\
name: a node joins with the script of this repository
user_data: |
  #!/bin/bash
  set -o errexit
  /etc/eks/bootstrap.sh {{ cluster.name }} --kubelet-extra-args '--node-labels=team=web'
expect:
  phase: ready
  node:
    labels_at_creation: { team: web }
";

const SCENARIO_OF_CALLER: &str = "\
name: a node joins with the script of this repository
user_data: |
  #!/bin/bash
  set -o errexit
  /opt/bootstrap.sh {{ cluster.name }}
expect:
  phase: ready
";

const SETTINGS: &str = "\
# Settings of `nodejoin`. Flags and environment variables take precedence.
overlays: [test/overlay.yaml]
";

const WORKFLOW: &str = "\
# Put the owner of nodejoin and the commit that you trust after `uses:`.
name: nodes join

on:
  push:
    branches: [main]
  pull_request:

permissions:
  contents: read

jobs:
  join:
    runs-on: ubuntu-24.04
    timeout-minutes: 60
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with:
          persist-credentials: false
      - uses: your-organization/nodejoin/ci/action@0000000000000000000000000000000000000000 # the commit you trust
        with:
          paths: test/scenarios
";

/// Writes the files. Overwrites nothing.
pub(crate) fn init(args: &InitArgs) -> ExitCode {
    match files(&args.folder).and_then(|files| save(&args.folder, &files)) {
        Ok(written) => {
            written.iter().for_each(|path| out!("{path}"));
            out!("run the scenario with: nodejoin run test/scenarios");
            ExitCode::Passed
        }
        Err(error) => refuse(&error),
    }
}

fn files(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, TryError> {
    let script = script(folder, folder, DEPTH).ok_or_else(|| {
        TryError::new(
            format!("there is no `{SCRIPT}` in `{}`", folder.display()),
            "name the folder with your bootstrap script; for user data alone run `nodejoin try FILE`",
        )
    })?;
    let from = serde_json::Value::from(script.display().to_string());
    let text = std::fs::read(folder.join(&script)).unwrap_or_default();
    let (place, scenario) = match line_of_call(&String::from_utf8_lossy(&text), PLACE) {
        Some(line) => {
            note!(
                "note: line {line} of {} calls {PLACE}, so it does not take its place: it is {PLACE_OF_CALLER} in the node; complete \
                 its call in test/scenarios/joins.yaml",
                script.display()
            );
            (PLACE_OF_CALLER, SCENARIO_OF_CALLER)
        }
        None => (PLACE, SCENARIO),
    };
    let overlay = format!("root: ..\nfiles:\n  - {{ from: {from}, to: {place}, mode: \"0755\" }}\n");
    let file = |path: &str, text: &str| (PathBuf::from(path), text.as_bytes().to_vec());
    Ok(BTreeMap::from([
        file("nodejoin.yaml", SETTINGS),
        file("test/overlay.yaml", &overlay),
        file("test/scenarios/joins.yaml", scenario),
        file(".github/workflows/nodejoin.yml", WORKFLOW),
    ]))
}

/// The path of the script below `root`, the nearest one first.
fn script(root: &Path, folder: &Path, depth: usize) -> Option<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    let is_script = |path: &&PathBuf| path.is_file() && path.file_name().is_some_and(|name| name == SCRIPT);
    if let Some(found) = paths.iter().find(is_script) {
        return found.strip_prefix(root).ok().map(Path::to_owned);
    }
    let depth = depth.checked_sub(1)?;
    let is_searched = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.is_dir() && !path.is_symlink() && !name.starts_with('.') && !SKIPPED.contains(&&*name)
    };
    paths
        .iter()
        .filter(is_searched)
        .find_map(|path| script(root, path, depth))
}
