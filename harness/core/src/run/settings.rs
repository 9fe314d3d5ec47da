//! `nodejoin.yaml`: settings of a checkout.
//!
//! It is searched in the current folder and in its parents. Flags take precedence over environment variables, these
//! over this file, and this file over the defaults.
//!
//! ```yaml
//! control_plane: kind
//! jobs: 2
//! keep: on-failure
//! overlays: [test/overlay.yaml]
//! ```

use std::path::{Path, PathBuf};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::input::document;
use crate::input::files::Files;
use crate::input::problem::ScenarioError;
use crate::plan::ProviderName;

/// Name of the file.
pub const NAME: &str = "nodejoin.yaml";

/// The content of a settings file. Paths are relative to it; after loading they are absolute or relative to the
/// current folder.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SettingsFile {
    /// Provider of the control plane: `local`, `k3s`, `kind` or `external` (default: the choice of each scenario).
    pub control_plane: Option<ProviderName>,
    /// Number of scenarios that run at the same time. Default: two for each processor, at most 8, as far as the free
    /// memory holds their nodes.
    pub jobs: Option<JobCount>,
    /// When to keep nodes, network and control plane after the run. Do not set it where the GitHub action runs: the
    /// evidence that it uploads then has the kubeconfig, with its key.
    pub keep: Option<KeepWhen>,
    /// Whether runs use a keeper, which keeps control planes for later runs.
    pub keeper: Option<bool>,
    /// Folder for the evidence of runs.
    pub artifacts_dir: Option<PathBuf>,
    /// Overlay manifests for every node, applied after those of the scenario.
    pub overlays: Vec<PathBuf>,
}

/// Number of scenarios that run at the same time, at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct JobCount(#[schemars(range(min = 1))] pub usize);

/// A number of jobs that is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid number of jobs `{given}`: expected a number from 1")]
pub struct InvalidJobCount {
    given: String,
}

impl FromStr for JobCount {
    type Err = InvalidJobCount;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let count = text.parse().ok().filter(|count| *count > 0);
        count.map(Self).ok_or_else(|| InvalidJobCount {
            given: text.to_owned(),
        })
    }
}

/// When to keep nodes and control planes after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeepWhen {
    /// Keeps nothing.
    #[default]
    Never,
    /// Keeps nodes that did not pass, with their control planes.
    OnFailure,
    /// Keeps everything.
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

/// When a scenario leaves evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum EvidenceWhen {
    /// Unless it passed or was skipped, and when its nodes are kept.
    #[default]
    OnFailure,
    /// Also when it passed.
    Always,
}

/// The settings file for this folder; the defaults if there is none.
///
/// # Errors
/// All problems of the file.
pub fn find(folder: &Path, files: &dyn Files) -> Result<SettingsFile, ScenarioError> {
    let folder = files.absolute(folder);
    let nearest = folder
        .ancestors()
        .map(|folder| folder.join(NAME))
        .find(|path| files.read(path).is_ok());
    nearest.map_or_else(|| Ok(SettingsFile::default()), |path| load(&path, files))
}

/// Reads a settings file.
///
/// # Errors
/// All problems of the file.
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
    fn the_nearest_file_applies_and_its_paths_are_relative_to_it() {
        let files = Memory::default()
            .with("/checkout/nodejoin.yaml", "jobs: 3\n")
            .with(
                "/checkout/repository/nodejoin.yaml",
                "control_plane: kind\nkeep: on-failure\nkeeper: true\noverlays: [test/overlay.yaml]\nartifacts_dir: out\n",
            );
        let settings = find(Path::new("/checkout/repository/scenarios/al2"), &files).unwrap();
        assert_eq!(
            settings,
            SettingsFile {
                control_plane: Some(ProviderName::Kind),
                jobs: None,
                keep: Some(KeepWhen::OnFailure),
                keeper: Some(true),
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
