//! One run of the engine for a test of this folder.

use std::path::Path;

use bollard::query_parameters::KillContainerOptionsBuilder;
use futures::future::join_all;
use nodejoin_core::input::files::Disk;
use nodejoin_core::judge::verdict::Verdict;
use nodejoin_core::plan::{Plan, ProviderName};
use nodejoin_core::run::event::RunEvent;
use nodejoin_core::run::settings::KeepWhen;
use nodejoin_core::scenario;
use nodejoin_docker::{Engine, ImageSettings};
use nodejoin_engine::{Events, Runner, Settings, new_run_id};
use nodejoin_import::ImportDisk;
use tokio_util::sync::CancellationToken;

/// What a run came to.
pub(crate) struct Ran {
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) events: Vec<RunEvent>,
    pub(crate) left: Vec<String>,
}

/// Settings of a run on this provider.
pub(crate) fn settings(provider: ProviderName) -> Settings {
    Settings {
        images: ImageSettings::from_lookup(|name| std::env::var(name).ok()),
        control_plane: Some(provider),
        require: Default::default(),
        external: Default::default(),
        artifacts: Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/nodejoin"),
        jobs: 1,
        keep: KeepWhen::Never,
        evidence: Default::default(),
        caller: Default::default(),
        hold: false,
        boot_ahead: false,
        bless: false,
        fail_fast: false,
        shard: None,
    }
}

/// A scenario of this folder, by its id.
pub(crate) fn plan(id: &str) -> Plan {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let disk = ImportDisk::new(Disk::with_variables(std::env::vars()));
    let found = scenario::discover(&[folder.to_owned()], &disk).unwrap();
    let mut plans = scenario::load_all(&found, &disk).unwrap();
    plans.retain(|plan| plan.id.as_str() == id);
    plans.pop().unwrap_or_else(|| panic!("no scenario `{id}`"))
}

/// Runs one plan, and kills the control plane's container as soon as the plan's node starts.
pub(crate) async fn run_without_control_plane(settings: Settings, plan: &Plan) -> Ran {
    let engine = Engine::connect().await.unwrap();
    let (events, mut stream) = Events::stream();
    let id = new_run_id();
    let runner = Runner::new(engine.clone(), id.clone(), settings, events);
    let cancel = CancellationToken::new();
    let kill = async {
        while let Some(event) = stream.recv().await {
            if matches!(event, RunEvent::ScenarioStarted { .. }) {
                // Numbers count what the run made; the network is the first.
                let names = (1..5).map(|number| format!("nodejoin-{id}-control-plane-{number}"));
                let mut killed = 0;
                for name in names {
                    // By the engine: a `kill` that runs inside may end with its container before it has said how it
                    // went.
                    let options = KillContainerOptionsBuilder::new().signal("TERM").build();
                    let ended = engine.docker().kill_container(&name, Some(options)).await;
                    killed += usize::from(ended.is_ok());
                }
                assert_eq!(killed, 1, "there is one control plane");
                break;
            }
        }
    };
    let (verdict, ()) = tokio::join!(runner.run(plan, &cancel), kill);
    Ran {
        verdicts: vec![verdict],
        events: Vec::new(),
        left: runner.tear_down().await.left,
    }
}

/// Runs the plans at once, as far as they do not claim the same names, and removes everything.
pub(crate) async fn run(settings: Settings, plans: &[Plan]) -> Ran {
    let engine = Engine::connect().await.unwrap();
    let (events, mut stream) = Events::stream();
    let runner = Runner::new(engine, new_run_id(), settings, events);
    let cancel = CancellationToken::new();
    let verdicts = join_all(plans.iter().map(|plan| runner.run(plan, &cancel))).await;
    let left = runner.tear_down().await.left;
    let mut events = Vec::new();
    while let Ok(event) = stream.try_recv() {
        events.push(event);
    }
    Ran {
        verdicts,
        events,
        left,
    }
}
