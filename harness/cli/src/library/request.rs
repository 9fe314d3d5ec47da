//! A scenario, or user data, that is about to run.

use std::fs;
use std::path::PathBuf;

use nodejoin_core::plan::Plan;
use nodejoin_core::run::settings::SettingsFile;

use super::builder;
use super::error::LibraryError;
use super::harness::Nodejoin;
use super::report::ScenarioReport;
use crate::commands::inspect;

/// Names of the files of a scenario that has no file of its own.
const SCENARIO: &str = "user-data.yaml";
const USER_DATA: &str = "user-data";

/// A scenario that [`ScenarioRequest::run`] runs.
#[must_use = "it runs with `run`"]
pub struct ScenarioRequest<'a> {
    nodejoin: &'a Nodejoin,
    source: ScenarioSource,
    overlays: Vec<PathBuf>,
    keys: Vec<(String, String)>,
}

enum ScenarioSource {
    File(PathBuf),
    UserData(Vec<u8>),
}

impl Nodejoin {
    /// A scenario file.
    pub fn scenario(&self, file: impl Into<PathBuf>) -> ScenarioRequest<'_> {
        ScenarioRequest::new(self, ScenarioSource::File(file.into()))
    }

    /// User data of a node that must become ready. `{{ cluster.name }}` and the other values of scenario files are
    /// filled in.
    pub fn user_data(&self, user_data: impl Into<Vec<u8>>) -> ScenarioRequest<'_> {
        ScenarioRequest::new(self, ScenarioSource::UserData(user_data.into()))
    }
}

impl<'a> ScenarioRequest<'a> {
    fn new(nodejoin: &'a Nodejoin, source: ScenarioSource) -> Self {
        Self {
            nodejoin,
            source,
            overlays: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Adds the files of an overlay to the node's image, as `--overlay` does. Later ones replace files of earlier ones.
    pub fn overlay(mut self, manifest: impl Into<PathBuf>) -> Self {
        self.overlays.push(manifest.into());
        self
    }

    /// Sets a top-level key of the scenario to a value in YAML, such as `expect` to `{ phase: registered }`. Only for
    /// [`Nodejoin::user_data`]: a scenario file has its keys.
    pub fn key(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.keys.push((key.into(), value.into()));
        self
    }

    /// Runs it. Dropping the future cancels the run and removes its node.
    ///
    /// # Errors
    /// When the scenario is invalid. What happens to the node is in the report.
    pub async fn run(self) -> Result<ScenarioReport, LibraryError> {
        let plan = self.plan()?;
        Ok(self.nodejoin.run(plan).await)
    }

    fn plan(&self) -> Result<Plan, LibraryError> {
        let host = |what| move |source| LibraryError::Host { what, source };
        let folder;
        let file = match &self.source {
            ScenarioSource::File(file) if self.keys.is_empty() => file.clone(),
            ScenarioSource::File(file) => {
                return Err(LibraryError::Setting {
                    what: "`key`".to_owned(),
                    why: format!("the scenario `{}` has its keys in its file", file.display()),
                });
            }
            ScenarioSource::UserData(user_data) => {
                folder = tempfile::tempdir().map_err(host("create a folder for the user data"))?;
                let file = folder.path().join(SCENARIO);
                let written = fs::write(folder.path().join(USER_DATA), user_data)
                    .and_then(|()| fs::write(&file, self.text()));
                written.map_err(host("write the user data"))?;
                file
            }
        };
        let plans = inspect::load(
            std::slice::from_ref(&file),
            &SettingsFile::default(),
            &self.overlays,
        )?;
        // Of several versions in the environment, the first.
        builder::matrix()?
            .spread(&plans)
            .into_iter()
            .next()
            .ok_or_else(|| LibraryError::Setting {
                what: format!("`{}`", file.display()),
                why: "there is no scenario in it".to_owned(),
            })
    }

    /// The scenario file of user data. Keys that it sets itself can be set otherwise.
    fn text(&self) -> String {
        let own = [
            ("name", "user data of a test"),
            ("user_data", "{ file: user-data }"),
        ];
        let own = own
            .iter()
            .filter(|(key, _)| !self.keys.iter().any(|(set, _)| set == key))
            .map(|(key, value)| format!("{key}: {value}\n"));
        let set = self.keys.iter().map(|(key, value)| format!("{key}: {value}\n"));
        own.chain(set).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_replace_those_of_the_scenario() {
        let nodejoin = Nodejoin { running: None };
        let user_data = nodejoin.user_data("#!/bin/sh");
        assert_eq!(
            user_data.text(),
            "name: user data of a test\nuser_data: { file: user-data }\n"
        );
        let named = user_data
            .key("name", "web")
            .key("expect", "{ phase: registered }");
        assert_eq!(
            named.text(),
            "user_data: { file: user-data }\nname: web\nexpect: { phase: registered }\n"
        );
        assert_eq!(named.plan().unwrap().name, "web");
    }

    #[test]
    fn an_invalid_request_is_an_error_with_its_reason() {
        let nodejoin = Nodejoin { running: None };
        let missing = nodejoin.scenario("no-such.yaml").plan().unwrap_err().to_string();
        assert!(missing.contains("no-such.yaml"), "{missing}");
        let keyed = nodejoin.scenario("a.yaml").key("name", "b").plan().unwrap_err();
        assert_eq!(
            keyed.to_string(),
            "`key`: the scenario `a.yaml` has its keys in its file"
        );
        let unknown = nodejoin
            .user_data("")
            .key("nam", "x")
            .plan()
            .unwrap_err()
            .to_string();
        assert!(unknown.contains("name"), "the nearest key: {unknown}");
    }
}
