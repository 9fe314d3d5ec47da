//! The settings of a harness, and its start.

use std::path::PathBuf;
use std::sync::Arc;

use nodejoin_core::plan::ProviderName;
use nodejoin_core::run::env;
use nodejoin_core::run::matrix::Matrix;
use nodejoin_core::run::require::Require;
use nodejoin_core::run::settings::{EvidenceWhen, KeepWhen};
use nodejoin_docker::{Engine, ImageSettings};
use nodejoin_engine::{Caller, Events, ExternalSettings, Runner, Settings, new_run_id};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::error::LibraryError;
use super::harness::{Nodejoin, RunningHarness, on_a_thread};
use super::kept::KeptRuns;
use super::progress;
use crate::{artifacts, process};

/// Settings of a [`Nodejoin`]. What is not set comes from the environment variables of `nodejoin run`, otherwise from
/// its defaults.
#[derive(Debug, Clone, Default)]
#[must_use = "it starts with `start`"]
pub struct NodejoinBuilder {
    control_plane: Option<ProviderName>,
    artifacts: Option<PathBuf>,
    evidence: EvidenceWhen,
    is_kept: bool,
}

impl Nodejoin {
    /// Settings with the defaults of `nodejoin run`, from the same environment variables.
    pub fn builder() -> NodejoinBuilder {
        NodejoinBuilder::default()
    }
}

impl NodejoinBuilder {
    /// Runs scenarios in a keeper. Only for programs that serve as one when [`super::kept::is_keeper`] recognizes their
    /// arguments.
    pub(super) fn in_keeper(mut self, is_kept: bool) -> Self {
        self.is_kept = is_kept;
        self
    }

    /// The provider of all control planes. By default `NODEJOIN_CONTROL_PLANE`, otherwise each scenario chooses.
    pub fn control_plane(mut self, provider: ProviderName) -> Self {
        self.control_plane = Some(provider);
        self
    }

    /// The folder in which the run creates the folder of its evidence. By default `NODEJOIN_ARTIFACTS`, otherwise
    /// `target/nodejoin` of a cargo project, otherwise `.nodejoin`.
    pub fn artifacts(mut self, folder: impl Into<PathBuf>) -> Self {
        self.artifacts = Some(folder.into());
        self
    }

    /// When scenarios leave evidence. By default if they do not pass.
    pub fn evidence(mut self, when: EvidenceWhen) -> Self {
        self.evidence = when;
        self
    }

    /// Connects to the container engine. Images and the control plane start with the first scenario.
    ///
    /// # Errors
    /// When the engine is not available, or an environment variable has an invalid value.
    pub async fn start(self) -> Result<Nodejoin, LibraryError> {
        on_a_thread(move || self.start_and_wait()).await
    }

    /// As [`NodejoinBuilder::start`], for a thread without a runtime.
    pub(super) fn start_and_wait(self) -> Result<Nodejoin, LibraryError> {
        let settings = self.settings()?;
        let runtime = process::runtime().map_err(|source| LibraryError::Host {
            what: "start the runtime",
            source,
        })?;
        let engine = runtime.block_on(Engine::connect())?;
        let (events, stream) = Events::stream();
        runtime.spawn(progress::follow(stream));
        artifacts::ignore(&settings.artifacts);
        let kept = self.is_kept.then(|| KeptRuns {
            settings: settings.clone(),
            factor: engine.time_factor(),
        });
        // The runner connects to the engine as it starts.
        let guard = runtime.enter();
        let runner = Runner::new(engine, new_run_id(), settings, events);
        drop(guard);
        Ok(Nodejoin {
            running: Some(RunningHarness {
                runtime,
                runner: Arc::new(runner),
                kept: kept.map(Arc::new),
                cancel: CancellationToken::new(),
                runs: TaskTracker::new(),
            }),
        })
    }

    fn settings(&self) -> Result<Settings, LibraryError> {
        let lookup = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let invalid = |name: &str, why: String| LibraryError::Setting {
            what: format!("`{name}`"),
            why,
        };
        let control_plane = match lookup(env::CONTROL_PLANE.name) {
            _ if self.control_plane.is_some() => self.control_plane,
            None => None,
            Some(word) => {
                let provider = word.parse();
                Some(provider.map_err(|error| invalid(env::CONTROL_PLANE.name, format!("{error}")))?)
            }
        };
        let require: Result<Require, _> = lookup(env::REQUIRE.name).unwrap_or_default().parse();
        let require = require.map_err(|error| invalid(env::REQUIRE.name, format!("{error}")))?;
        let artifacts = self.artifacts.clone();
        let artifacts = artifacts.or_else(|| lookup(env::ARTIFACTS.name).map(PathBuf::from));
        Ok(Settings {
            images: ImageSettings::from_lookup(lookup),
            control_plane,
            require: require.with(self.control_plane),
            external: ExternalSettings::from_lookup(lookup),
            artifacts: artifacts.unwrap_or_else(|| artifacts::default_folder(&process::current_dir())),
            jobs: 1,
            evidence: self.evidence,
            caller: Caller {
                version: env!("NODEJOIN_VERSION").to_owned(),
                ..Caller::default()
            },
            keep: KeepWhen::Never,
            hold: false,
            boot_ahead: false,
            bless: false,
            fail_fast: false,
            shard: None,
        })
    }
}

/// The versions that the environment asks for, as `nodejoin run` reads them.
pub(super) fn matrix() -> Result<Matrix, LibraryError> {
    let set = |name: &str| std::env::var(name).unwrap_or_default();
    let matrix = Matrix::read(&set(env::KUBERNETES.name), &set(env::KUBELET.name));
    matrix.map_err(|error| LibraryError::Setting {
        what: "invalid versions".to_owned(),
        why: format!("{error}; {}", error.hint()),
    })
}
