//! What all scenarios of a run share: images, environments (network, fakes, control plane), and the stream of events.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use nodejoin_cluster::{ClusterError, Provider, ProviderInputs, ProviderKind};
use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::kubernetes::VersionRequest;
use nodejoin_core::plan::ids::RunId;
use nodejoin_core::plan::{Plan, ProviderName};
use nodejoin_core::run::event::RunEvent;
use nodejoin_core::run::matrix::not_for_request;
use nodejoin_docker::{Engine, ImageEvent, ImageRef, Images, Run, TearDown};
use nodejoin_node::Node;
use parking_lot::Mutex;
use tokio::sync::{OnceCell, watch};

use crate::environment::{Environment, EnvironmentKey, Ground};
use crate::environment_pool::{self, EnvironmentPool, EnvironmentStart};
use crate::error::EngineError;
use crate::events::Events;
use crate::evidence::RunFolder;
use crate::nodes_ahead::{AheadStart, NodesAhead};
use crate::registry;
use crate::settings::Settings;
use crate::trace_log::TraceLog;

/// An environment and how its start ended. A control plane that did not start is not started again: every scenario
/// would wait for the same failure.
type EnvironmentCell = OnceCell<Result<Arc<Environment>, Arc<EngineError>>>;

/// An environment, and what nodes need to start in it, which is known earlier.
#[derive(Default)]
struct EnvironmentSlot {
    cell: EnvironmentCell,
    ground: watch::Sender<Option<Arc<Ground>>>,
}

/// Where environments come from and go to.
#[derive(Clone)]
pub(crate) enum EnvironmentSource {
    /// The run creates them and removes them at its end.
    OwnRun,
    /// A keeper keeps them for later runs.
    Pool(Arc<EnvironmentPool>),
}

/// The shared part of a run. Nothing in it knows scenarios: the runner does.
pub(crate) struct RunContext {
    pub(crate) settings: Settings,
    pub(crate) run: Run,
    pub(crate) images: Images,
    pub(crate) events: Events,
    /// The folder of this run, below the artifacts folder.
    pub(crate) folder: RunFolder,
    /// Scenarios of the run that have not finished.
    pub(crate) unfinished: AtomicUsize,
    source: EnvironmentSource,
    environments: Mutex<BTreeMap<EnvironmentKey, Arc<EnvironmentSlot>>>,
    /// Environments that a scenario may have changed in a way that no check finds, with the reason.
    spent: Mutex<BTreeMap<RunId, String>>,
    /// What each traced scenario ran.
    pub(crate) traces: TraceLog,
    /// Nodes that boot before their scenarios start.
    pub(crate) ahead: NodesAhead,
}

impl RunContext {
    /// Registers a run with the container engine. Images and environments start when a scenario first needs them.
    pub(crate) fn new(
        engine: Engine,
        id: RunId,
        settings: Settings,
        events: Events,
        source: EnvironmentSource,
    ) -> Self {
        let progress = image_progress(events.clone());
        let ahead = NodesAhead::new(settings.boot_ahead);
        Self {
            images: Images::new(engine.clone(), settings.images.clone(), progress),
            folder: RunFolder::new(&settings.artifacts, &id, &settings.caller.version),
            unfinished: AtomicUsize::new(1),
            run: Run::begin(engine, id),
            events,
            settings,
            source,
            environments: Mutex::default(),
            spent: Mutex::default(),
            traces: TraceLog::default(),
            ahead,
        }
    }

    /// Shuts down this process' tasks, then removes everything that the run created, newest first. Environments of a
    /// keeper return to it, once the containers of their nodes are gone.
    pub(crate) async fn tear_down(self) -> TearDown {
        self.ahead.close().await;
        let mut left = Vec::new();
        let mut kept = Vec::new();
        for slot in self.environments.into_inner().into_values() {
            let environment = slot.cell.get().and_then(|started| started.as_ref().ok()).cloned();
            drop(slot);
            match (environment.and_then(Arc::into_inner), &self.source) {
                (Some(environment), EnvironmentSource::Pool(pool)) => kept.push((pool, environment)),
                (Some(environment), EnvironmentSource::OwnRun) => left.extend(environment.shut_down().await),
                (None, _) => {}
            }
        }
        // Fails when the folder holds evidence, which stays.
        let _ = std::fs::remove_dir(&self.folder.path);
        let mut torn_down = self.run.tear_down().await;
        let spent = self.spent.into_inner();
        for (pool, environment) in kept {
            let left = (!torn_down.left.is_empty())
                .then(|| format!("a run could not remove {}", torn_down.left.join(", ")));
            let why = spent.get(&environment.id).cloned().or(left);
            pool.give_back(environment, why);
        }
        torn_down.left.extend(left);
        torn_down
    }

    /// Notes a scenario that ran in an environment: later runs do not use the environment if it may be broken.
    pub(crate) fn note_use(&self, environment: &Environment, plan: &Plan, outcome: &Outcome) {
        if let Some(why) = environment_pool::why_spent(plan, outcome) {
            self.spent.lock().insert(environment.id.clone(), why);
        }
    }

    /// The environment for a plan, started by the first scenario that needs it.
    pub(crate) async fn environment(
        &self,
        plan: &Plan,
        provider: ProviderName,
    ) -> Result<Arc<Environment>, Arc<EngineError>> {
        let key = environment_key(plan, provider);
        let slot = self.slot(&key);
        let started = slot.cell.get_or_init(|| async {
            let started = self.start_environment(plan, &key, &slot.ground).await;
            let environment = started.map_err(Arc::new)?;
            slot.ground.send_replace(Some(Arc::new(environment.ground())));
            Ok(environment)
        });
        started.await.clone()
    }

    fn slot(&self, key: &EnvironmentKey) -> Arc<EnvironmentSlot> {
        Arc::clone(self.environments.lock().entry(key.clone()).or_default())
    }

    /// Boots the node of a plan up to its gate while its environment starts. With an environment that has started, the
    /// scenario boots its node itself.
    pub(crate) fn boot_beside_start(&self, plan: &Plan, provider: ProviderName) {
        let slot = self.slot(&environment_key(plan, provider));
        if slot.cell.get().is_none() {
            self.ahead.boot(plan, self.ahead_start(plan, &slot));
        }
    }

    /// Boots the nodes of the next plans up to their gates. Call it when a node has booted.
    pub(crate) fn boot_next(&self) {
        self.ahead.fill(|plan| {
            let provider = ProviderName::choose(self.settings.control_plane, &plan.control_plane).ok()?;
            let runs = not_for_request(plan).is_none();
            runs.then(|| self.ahead_start(plan, &self.slot(&environment_key(plan, provider))))
        });
    }

    fn ahead_start(&self, plan: &Plan, slot: &EnvironmentSlot) -> AheadStart {
        AheadStart {
            run: self.run.clone(),
            images: self.images_of(plan.requested.of_kubelet()),
            ground: slot.ground.subscribe(),
        }
    }

    /// Keeps a node and its control plane after the run. Returns the commands that lead into them.
    pub(crate) async fn keep(
        &self,
        environment: &Environment,
        node: &Node,
    ) -> Result<Vec<String>, EngineError> {
        let name = self.run.keep(&node.id).await?;
        if let Some(container) = environment.control_plane.container_id() {
            self.run.keep(container).await?;
            environment.control_plane.keep_files();
        }
        let kubeconfig = self.write_kubeconfig(environment)?;
        Ok(vec![
            format!("docker exec -it {name} bash"),
            format!("KUBECONFIG={} kubectl get nodes", kubeconfig.display()),
            "the fake AWS ends with this process, and with it metadata and tokens; `--hold` keeps them"
                .to_owned(),
            "`nodejoin sweep --kept` removes all of it".to_owned(),
        ])
    }

    /// Writes the kubeconfig of an administrator, and returns its path.
    pub(crate) fn write_kubeconfig(&self, environment: &Environment) -> Result<PathBuf, EngineError> {
        let path = self.folder.kubeconfig();
        write_private(&path, &environment.control_plane.kubeconfig())?;
        Ok(path)
    }

    /// Images of the requested version, or those of the settings.
    pub(crate) fn images_of(&self, version: Option<&VersionRequest>) -> Images {
        version.map_or_else(
            || self.images.clone(),
            |version| self.images.with_kubernetes(Some(version)),
        )
    }

    async fn start_environment(
        &self,
        plan: &Plan,
        key: &EnvironmentKey,
        ground: &watch::Sender<Option<Arc<Ground>>>,
    ) -> Result<Arc<Environment>, EngineError> {
        let node = self
            .images_of(plan.requested.of_kubelet())
            .of_plan(&plan.image)
            .await?;
        let version = plan.requested.kubernetes.as_ref();
        let provider = self.provider(key.provider, version, &node).await?;
        let registry = registry::images(&self.run, &node, &self.settings.images.cache).await?;
        let environment = match &self.source {
            EnvironmentSource::OwnRun => {
                let publish = |known| drop(ground.send_replace(Some(Arc::new(known))));
                Environment::start(&self.run, key, &*provider, registry, &self.events, publish).await?
            }
            EnvironmentSource::Pool(pool) => {
                let engine = self.run.engine().clone();
                let start =
                    EnvironmentStart::new(engine, key.clone(), provider, registry, self.events.clone());
                pool.take(start).await?
            }
        };
        Ok(Arc::new(environment))
    }

    /// The provider of this name with the image or program that it starts from.
    async fn provider(
        &self,
        name: ProviderName,
        version: Option<&VersionRequest>,
        node: &ImageRef,
    ) -> Result<Box<dyn Provider>, EngineError> {
        let images = self.images_of(version);
        // A published image of the kubelet's version by default: a newer control plane would test something else.
        let published = version.map(ToString::to_string);
        let published = published
            .as_deref()
            .or(self.settings.images.kubernetes.as_deref());
        let inputs = ProviderInputs {
            images: &images,
            settings: &self.settings.images,
            kubernetes: published.unwrap_or(&node.kubernetes),
            external: &self.settings.external,
            time_factor: self.run.engine().time_factor(),
        };
        let provider = ProviderKind::of(name).build(inputs).await;
        provider.map_err(|error| match error {
            ClusterError::Unavailable { name, reason, hint } => {
                EngineError::Unavailable { name, reason, hint }
            }
            ClusterError::Image(error) => EngineError::Docker(error),
            other => EngineError::Cluster(other),
        })
    }
}

/// The environment in which a plan runs.
fn environment_key(plan: &Plan, provider: ProviderName) -> EnvironmentKey {
    EnvironmentKey {
        provider,
        network: plan.network,
        kubernetes: plan.requested.kubernetes.as_ref().map(ToString::to_string),
        endpoint: plan.cluster.endpoint.clone(),
    }
}

/// Writes a file that holds a key: only its owner can read it.
fn write_private(path: &Path, text: &str) -> Result<(), EngineError> {
    let write = || {
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        nodejoin_docker::write_private(path, text)
    };
    write().map_err(|source| EngineError::Write {
        path: path.to_owned(),
        source,
    })
}

fn image_progress(events: Events) -> Arc<dyn Fn(ImageEvent) + Send + Sync> {
    Arc::new(move |event| events.send(run_event(event)))
}

/// The event of a run about the progress of an image.
#[must_use]
pub fn run_event(event: ImageEvent) -> RunEvent {
    match event {
        ImageEvent::Waiting { image } => RunEvent::ImageWaiting { image },
        ImageEvent::Started { image, log } => RunEvent::ImageStarted {
            image,
            log: log.display().to_string(),
        },
        ImageEvent::Step { image, text } => RunEvent::ImageStep { image, text },
        ImageEvent::Download { image, progress } => RunEvent::ImageDownload {
            image,
            file: progress.file,
            bytes: progress.bytes,
            total: progress.total,
        },
        ImageEvent::Inspected { image, facts } => RunEvent::ImageInspected { image, facts },
        ImageEvent::Done { image, seconds } => RunEvent::ImageReady { image, seconds },
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_the_owner_can_read_a_file_with_a_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run").join("kubeconfig");
        write_private(&path, "key").unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "key");
    }

    #[test]
    fn image_events_become_run_events() {
        let (events, mut stream) = Events::stream();
        let progress = image_progress(events);
        progress(ImageEvent::Waiting {
            image: "node".to_owned(),
        });
        progress(ImageEvent::Started {
            image: "node".to_owned(),
            log: "/cache/log".into(),
        });
        progress(ImageEvent::Step {
            image: "node".to_owned(),
            text: "Step 1/2".to_owned(),
        });
        progress(ImageEvent::Done {
            image: "node".to_owned(),
            seconds: 2.0,
        });
        let mut kinds = Vec::new();
        while let Ok(event) = stream.try_recv() {
            kinds.push(event);
        }
        assert!(
            matches!(
                kinds.as_slice(),
                [
                    RunEvent::ImageWaiting { .. },
                    RunEvent::ImageStarted { .. },
                    RunEvent::ImageStep { .. },
                    RunEvent::ImageReady { .. }
                ]
            ),
            "{kinds:?}"
        );
    }
}
