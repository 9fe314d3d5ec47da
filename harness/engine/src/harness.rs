//! What all scenarios of a run share: images, networks, the fakes, control planes. Each starts when it is first needed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use nodejoin_cluster::{Kind, KindProgram, Local, Provider};
use nodejoin_core::judge::blame;
use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::kubernetes::VersionRequest;
use nodejoin_core::plan::ids::RunId;
use nodejoin_core::plan::{Plan, ProviderName};
use nodejoin_core::run::event::RunEvent;
use nodejoin_docker::{Engine, ImageEvent, ImageRef, Images, Run, TearDown};
use nodejoin_node::Node;
use rand::Rng as _;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::claims::Claims;
use crate::error::EngineError;
use crate::events::Events;
use crate::evidence::Evidence;
use crate::ground::{Ground, GroundKey};
use crate::settings::Settings;
use crate::{registry, scenario};

/// A ground that was asked for, and how its start ended. A control plane that did not start is not tried again: every scenario
/// would wait for the same end.
type Started = OnceCell<Result<Arc<Ground>, Arc<EngineError>>>;

/// The shared part of a run.
pub struct Harness {
    pub(crate) settings: Settings,
    pub(crate) run: Run,
    pub(crate) images: Images,
    pub(crate) events: Events,
    /// The folder of this run, below the artifacts folder.
    pub(crate) folder: PathBuf,
    claims: Claims,
    grounds: Mutex<BTreeMap<GroundKey, Arc<Started>>>,
}

impl Harness {
    /// A run on this engine. Nothing is started yet.
    #[must_use]
    pub fn new(engine: Engine, id: RunId, settings: Settings, events: Events) -> Self {
        let progress = image_progress(events.clone());
        Self {
            images: Images::new(engine.clone(), settings.images.clone(), progress),
            folder: settings.artifacts.join(id.as_str()),
            run: Run::begin(engine, id),
            events,
            settings,
            claims: Claims::default(),
            grounds: Mutex::default(),
        }
    }

    /// Runs one scenario and reports its end. A cancelled one gives back what it took, too.
    pub async fn run(&self, plan: &Plan, cancel: &CancellationToken) -> Verdict {
        let _claim = tokio::select! {
            claim = self.claims.hold(plan) => claim,
            () = cancel.cancelled() => return self.finish(plan, bare(Outcome::Cancelled), Instant::now(), None, Vec::new()),
        };
        let begun = Instant::now();
        let plan = &self.run.engine().time_factor().plan(plan);
        let ended = match scenario::run(self, plan, cancel).await {
            Ok(ended) => ended,
            Err(error) => {
                let verdict = bare(Outcome::Errored(with_hint(&error)));
                return self.finish(plan, verdict, begun, None, Vec::new());
            }
        };
        self.finish(plan, ended.verdict, begun, ended.evidence, ended.kept)
    }

    /// Where the evidence of a plan goes when it does not pass.
    #[must_use]
    pub fn evidence_folder(&self, plan: &Plan) -> PathBuf {
        Evidence::folder_of(&self.folder, plan)
    }

    /// Ends this process' tasks, then removes everything the run made, in reverse.
    pub async fn tear_down(self) -> TearDown {
        let mut left = Vec::new();
        let grounds = self.grounds.into_inner().unwrap_or_else(PoisonError::into_inner);
        for started in grounds.into_values() {
            let ground = started.get().and_then(|started| started.as_ref().ok()).cloned();
            drop(started);
            if let Some(ground) = ground.and_then(Arc::into_inner) {
                left.extend(ground.shut_down().await);
            }
        }
        // Only where it is empty: where every scenario passed, or none kept evidence.
        let _ = std::fs::remove_dir(&self.folder);
        let mut torn_down = self.run.tear_down().await;
        torn_down.left.extend(left);
        torn_down
    }

    /// The network and the control plane that the plan wants, with everything on them.
    pub(crate) async fn ground(
        &self,
        plan: &Plan,
        provider: ProviderName,
    ) -> Result<Arc<Ground>, Arc<EngineError>> {
        let key = GroundKey {
            provider,
            network: plan.network,
            kubernetes: plan.asked.kubernetes.as_ref().map(ToString::to_string),
        };
        let started = {
            let mut grounds = self.grounds.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(grounds.entry(key.clone()).or_default())
        };
        let started = started.get_or_init(|| async { self.start_ground(plan, &key).await.map_err(Arc::new) });
        started.await.clone()
    }

    /// Lets a node and what it stands on stay after the run, and says how to get in.
    pub(crate) async fn keep(&self, ground: &Ground, node: &Node) -> Result<Vec<String>, EngineError> {
        let name = self.run.keep(&node.id).await?;
        if let Some(container) = ground.control_plane.container_id() {
            self.run.keep(container).await?;
            ground.control_plane.keep_files();
        }
        let kubeconfig = self.folder.join("kubeconfig");
        write_private(&kubeconfig, &ground.control_plane.kubeconfig())?;
        Ok(vec![
            format!("docker exec -it {name} bash"),
            format!("KUBECONFIG={} kubectl get nodes", kubeconfig.display()),
            "the fake AWS ends with this process: tokens are refused from then on".to_owned(),
            "`nodejoin sweep --kept` removes all of it".to_owned(),
        ])
    }

    /// Images of a version; of what can be had, or the settings say, where none is asked for.
    pub(crate) fn images_of(&self, asked: Option<&VersionRequest>) -> Images {
        asked.map_or_else(
            || self.images.clone(),
            |asked| self.images.with_kubernetes(Some(asked)),
        )
    }

    async fn start_ground(&self, plan: &Plan, key: &GroundKey) -> Result<Arc<Ground>, EngineError> {
        let node = self
            .images_of(plan.asked.of_kubelet())
            .node(&plan.image.name)
            .await?;
        let asked = plan.asked.kubernetes.as_ref();
        let provider = self.provider(key.provider, asked, &node).await?;
        let registry = registry::images(&self.run, &node, &self.settings.images.cache).await?;
        let ground = Ground::start(&self.run, key, &*provider, registry, &self.events).await?;
        Ok(Arc::new(ground))
    }

    /// The provider of this name, with what it starts from.
    async fn provider(
        &self,
        name: ProviderName,
        asked: Option<&VersionRequest>,
        node: &ImageRef,
    ) -> Result<Box<dyn Provider>, EngineError> {
        match name {
            ProviderName::Local => {
                let image = self.images_of(asked).control_plane().await?;
                Ok(Box::new(Local::new(image)))
            }
            ProviderName::K3s => self.k3s(asked, node).await,
            ProviderName::Kind => {
                let settings = &self.settings.images;
                // Before any image: without the program those minutes are for nothing.
                let program = KindProgram::find(settings).await?;
                let image = self.images_of(asked).kind_node().await?;
                Ok(Box::new(Kind::new(program, image, &settings.cache)))
            }
            ProviderName::External => self.external(),
        }
    }

    fn finish(
        &self,
        plan: &Plan,
        verdict: Verdict,
        begun: Instant,
        evidence: Option<Evidence>,
        kept: Vec<String>,
    ) -> Verdict {
        self.events.send(RunEvent::ScenarioFinished {
            scenario: plan.id.clone(),
            name: plan.name.clone(),
            file: plan.file.clone(),
            source: blame::locate(plan, &verdict),
            verdict: Box::new(verdict.clone()),
            seconds: begun.elapsed().as_secs_f64(),
            evidence: evidence.map(|evidence| evidence.folder.display().to_string()),
            kept,
        });
        verdict
    }
}

/// A file that holds a key: nobody but its owner reads it.
fn write_private(path: &Path, text: &str) -> Result<(), EngineError> {
    nodejoin_docker::write_private(path, text).map_err(|source| EngineError::Write {
        path: path.to_owned(),
        source,
    })
}

/// A verdict about which nothing was seen.
pub(crate) fn bare(outcome: Outcome) -> Verdict {
    let (phases, checks, deviations) = Default::default();
    Verdict {
        outcome,
        versions: None,
        phases,
        diagnosis: None,
        checks,
        deviations,
        parts: Vec::new(),
    }
}

/// The chain of an error and the way out, as one text.
pub(crate) fn with_hint(error: &EngineError) -> String {
    match error.hint() {
        Some(hint) => format!("{}\n{hint}", error.chain()),
        None => error.chain(),
    }
}

fn image_progress(events: Events) -> Arc<dyn Fn(ImageEvent) + Send + Sync> {
    Arc::new(move |event| {
        events.send(match event {
            ImageEvent::Started { image, log } => RunEvent::ImageStarted {
                image,
                log: log.display().to_string(),
            },
            ImageEvent::Step { image, text } => RunEvent::ImageStep { image, text },
            ImageEvent::Done { image, seconds } => RunEvent::ImageReady { image, seconds },
        });
    })
}

/// An id for a run: short enough to read, long enough that runs side by side differ.
#[must_use]
pub fn new_run_id() -> RunId {
    const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut random = rand::rng();
    let id: String = (0..10)
        .map(|_| char::from(LETTERS[random.random_range(0..LETTERS.len())]))
        .collect();
    id.parse()
        .expect("ten lower-case letters and digits are a run id")
}
