//! `nodejoin.yaml`: what a checkout always wants, so that nobody has to type it.
//!
//! It is looked for in the current folder and in those above it. A flag wins over an environment variable, that over this
//! file, and this file over the default.
//!
//! ```yaml
//! control_plane: kind
//! jobs: 2
//! keep: on-failure
//! overlays: [test/overlay.yaml]
//! ```

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::input::document;
use crate::input::files::Files;
use crate::input::problem::ScenarioError;
use crate::plan::ProviderName;

/// The file's name.
pub const NAME: &str = "nodejoin.yaml";

/// What a settings file says. Paths are relative to it, and absolute or relative to the current folder once it was read.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SettingsFile {
    /// Who runs the API server: `local`, `k3s`, `kind` or `external`; where absent, each scenario says.
    pub control_plane: Option<ProviderName>,
    /// How many scenarios run at once.
    pub jobs: Option<JobCount>,
    /// When nodes, network and control plane stay after the run.
    pub keep: Option<KeepWhen>,
    /// Folder for the evidence of runs.
    pub artifacts_dir: Option<PathBuf>,
    /// Overlay manifests that are laid over every node, after the scenario's own.
    pub overlays: Vec<PathBuf>,
}

/// How many scenarios run at once: 1 at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct JobCount(#[schemars(range(min = 1))] pub usize);

/// When nodes and control planes remain after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeepWhen {
    /// Nothing remains.
    #[default]
    Never,
    /// Nodes that did not pass remain, with their control planes.
    OnFailure,
    /// Everything remains.
    Always,
}

impl KeepWhen {
    /// Whether a node of a scenario that passed, or did not, remains.
    #[must_use]
    pub fn keeps(self, passed: bool) -> bool {
        match self {
            Self::Never => false,
            Self::OnFailure => !passed,
            Self::Always => true,
        }
    }
}

/// The settings file that counts in this folder; the default where there is none.
///
/// # Errors
/// Everything that is wrong with it.
pub fn find(folder: &Path, files: &dyn Files) -> Result<SettingsFile, ScenarioError> {
    let folder = files.absolute(folder);
    let there = folder
        .ancestors()
        .map(|folder| folder.join(NAME))
        .find(|path| files.read(path).is_ok());
    there.map_or_else(|| Ok(SettingsFile::default()), |path| load(&path, files))
}

/// Reads a settings file.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load(path: &Path, files: &dyn Files) -> Result<SettingsFile, ScenarioError> {
    let mut settings = document::read::<SettingsFile>(path, "a settings file", files)?.value;
    let folder = path.parent().unwrap_or(Path::new(""));
    for given in settings.overlays.iter_mut().chain(&mut settings.artifacts_dir) {
        *given = folder.join(&*given);
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::files::Memory;

    #[test]
    fn the_nearest_file_counts_and_its_paths_are_relative_to_it() {
        let files = Memory::default()
            .with("/checkout/nodejoin.yaml", "jobs: 3\n")
            .with(
                "/checkout/repository/nodejoin.yaml",
                "control_plane: kind\nkeep: on-failure\noverlays: [test/overlay.yaml]\nartifacts_dir: out\n",
            );
        let settings = find(Path::new("/checkout/repository/scenarios/al2"), &files).unwrap();
        assert_eq!(
            settings,
            SettingsFile {
                control_plane: Some(ProviderName::Kind),
                jobs: None,
                keep: Some(KeepWhen::OnFailure),
                artifacts_dir: Some("/checkout/repository/out".into()),
                overlays: vec!["/checkout/repository/test/overlay.yaml".into()],
            }
        );
        assert_eq!(find(Path::new("/elsewhere"), &files), Ok(SettingsFile::default()));
    }

    #[test]
    fn a_wrong_key_and_a_wrong_value_have_their_positions() {
        let text = "control_plan: kind\njobs: 0\nkeep: sometimes\n";
        let files = Memory::default().with("/w/nodejoin.yaml", text);
        let error = find(Path::new("/w"), &files).unwrap_err();
        insta::assert_snapshot!(error.with_hints());
    }
}
