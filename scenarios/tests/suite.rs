//! The tests of this folder, and the runner that they share.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use libtest_mimic::{Failed, Trial};
use nodejoin_core::compare::differences;
use nodejoin_core::input::files::Disk;
use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::plan::{Plan, ProviderName};
use nodejoin_core::run::env;
use nodejoin_core::run::event::RunEvent;
use nodejoin_core::run::matrix::Matrix;
use nodejoin_core::run::recorded_times::ShardSelection;
use nodejoin_core::run::require::Require;
use nodejoin_core::run::settings::KeepWhen;
use nodejoin_core::run::shard::InvalidShard;
use nodejoin_core::scenario;
use nodejoin_docker::{Engine, ImageSettings};
use nodejoin_engine::merge::shard_selection;
use nodejoin_engine::report::text;
use nodejoin_engine::{Events, ExternalSettings, ProbeEnd, Runner, Settings, new_run_id};
use nodejoin_import::ImportDisk;
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::broken::{self, Broken};
use crate::{evidence, shards};

/// The scenario whose evidence is checked.
const FIRST: &str = "first-join";

/// The scenarios in which everything has a part that a control plane does: tokens, a refusal, the Node's first state,
/// serving certificates, and a way to a pod.
const CORE: [&str; 4] = [
    FIRST,
    "refused/role-not-in-aws-auth",
    "al2/labels-and-taints",
    "al2/pod-answers",
];

/// All tests, and the run that they share.
pub(crate) struct Suite {
    plans: Vec<Plan>,
    broken: Vec<Broken>,
    shard: Option<ShardSelection>,
    shared: Arc<SharedRun>,
}

/// Started by the first test that runs.
struct SharedRun {
    runtime: Runtime,
    /// Or why there is none: every test says so, in full only the first.
    runner: OnceCell<Result<Runner, String>>,
    cancel: CancellationToken,
}

impl Suite {
    /// Reads every scenario. Fails where one cannot be read: a test that is not listed would never be missed.
    pub(crate) fn load() -> Result<Self, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let disk = ImportDisk::new(Disk::with_variables(std::env::vars()));
        let found = scenario::discover(&[folder.to_owned()], &disk).map_err(|error| error.with_hints())?;
        let plans = scenario::load_all(&found, &disk).map_err(|error| error.with_hints())?;
        let matrix = matrix()?;
        let broken = broken::load(&folder.join("../fixtures/broken.yaml"), &plans, &disk)?;
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        let cancel = CancellationToken::new();
        let shared = SharedRun {
            runtime,
            runner: OnceCell::new(),
            cancel,
        };
        Ok(Self {
            plans: matrix.spread(&plans),
            // A script that is broken on purpose is caught on one version as on another.
            broken: broken.into_iter().map(|broken| broken.on(&matrix)).collect(),
            shard: shard()?,
            shared: Arc::new(shared),
        })
    }

    /// One test a scenario, and one a broken script.
    pub(crate) fn trials(&self) -> Vec<Trial> {
        let joins = self.plans.iter().map(|plan| {
            let (plan, shared) = (plan.clone(), Arc::clone(&self.shared));
            Trial::test(name(&plan), move || shared.expect_pass(&plan))
        });
        let caught = self.broken.iter().map(|broken| {
            let (broken, shared) = (broken.clone(), Arc::clone(&self.shared));
            Trial::test(format!("broken::{}", broken.name), move || {
                shared.expect_caught(&broken)
            })
        });
        let first = self
            .plans
            .iter()
            .find(|plan| plan.id.as_str().split('@').next() == Some(FIRST))
            .map(evidence::failing);
        let told = first.into_iter().map(|plan| {
            let shared = Arc::clone(&self.shared);
            Trial::test("evidence::is_complete_and_holds_no_credential", move || {
                shared.expect_evidence(&plan)
            })
        });
        let cancel = self.shared.cancel.clone();
        let dealt = Trial::test("shards::deal_out_every_test_once", move || {
            // It starts this program eight times, and what the tests made is removed after it.
            if cancel.is_cancelled() {
                return Err("cancelled before it started".into());
            }
            shards::fault().map_or(Ok(()), |fault| Err(fault.into()))
        });
        let all = joins
            .chain(caught)
            .chain(told)
            .chain([dealt])
            .chain(self.on_kind());
        let all: Vec<Trial> = all.collect();
        let Some(shard) = &self.shard else { return all };
        let ids: Vec<String> = all.iter().map(|trial| self.id(trial).to_owned()).collect();
        let ours = shard.select(ids.iter().map(String::as_str));
        let dealt = all.into_iter().zip(&ids);
        let dealt = dealt.filter(|(_, id)| ours.contains(id.as_str()));
        dealt.map(|(trial, _)| trial).collect()
    }

    /// Shards select a scenario by its id, and other tests by their names. Without recorded times, that is the shard in
    /// which `nodejoin run --shard` has the scenario.
    fn id<'a>(&'a self, trial: &'a Trial) -> &'a str {
        let plan = self.plans.iter().find(|plan| name(plan) == trial.name());
        plan.map_or(trial.name(), |plan| plan.id.as_str())
    }

    /// The core of the suite once more, on one cluster of kind's: unless a provider was chosen, which all tests run on
    /// then.
    fn on_kind(&self) -> Vec<Trial> {
        let core = self.plans.iter().filter(|plan| {
            control_plane().is_none() && plan.control_plane.is_empty() && CORE.contains(&plan.id.as_str())
        });
        let trial = |plan: &Plan| {
            let mut plan = plan.clone();
            plan.control_plane = vec![ProviderName::Kind];
            let shared = Arc::clone(&self.shared);
            Trial::test(format!("kind::{}", name(&plan)), move || {
                shared.expect_pass(&plan)
            })
        };
        core.map(trial).collect()
    }

    /// Removes what the tests made; gives what could not be removed.
    pub(crate) fn tear_down(self) -> Vec<String> {
        let Some(shared) = Arc::into_inner(self.shared) else {
            return vec!["everything: a test still runs".to_owned()];
        };
        match shared.runner.into_inner() {
            Some(Ok(runner)) => shared.runtime.block_on(runner.tear_down()).left,
            _ => Vec::new(),
        }
    }
}

/// Printed past any capturing: a skip without its reason would look like a pass.
fn skipped(plan: &Plan, reason: String) -> Result<(), Failed> {
    let _ = writeln!(std::io::stderr(), "skipped {}: {reason}", plan.id);
    match std::env::var_os("NODEJOIN_NO_SKIPS") {
        Some(_) => Err(reason.into()),
        None => Ok(()),
    }
}

/// The versions that the environment asks for, as `nodejoin run` reads them.
fn matrix() -> Result<Matrix, String> {
    let set = |name: &str| std::env::var(name).unwrap_or_default();
    let matrix = Matrix::read(&set(env::KUBERNETES.name), &set(env::KUBELET.name));
    matrix.map_err(|error| format!("{error}; {}", error.hint()))
}

/// `managed-node-group/joins` becomes `managed-node-group::joins`: filters of test runners know `::`.
fn name(plan: &Plan) -> String {
    plan.id.as_str().replace('/', "::")
}

impl SharedRun {
    fn expect_pass(&self, plan: &Plan) -> Result<(), Failed> {
        let (verdict, seconds) = self.run(plan)?;
        match verdict.outcome {
            Outcome::Passed => Ok(()),
            Outcome::Skipped(reason) => skipped(plan, reason),
            _ => Err(self.failure(plan, &verdict, seconds)),
        }
    }

    /// The scenario must fail on the broken script, and at the checks or with the cause that the model names.
    fn expect_caught(&self, broken: &Broken) -> Result<(), Failed> {
        if let Some(probes) = broken.probes() {
            return self.expect_different(broken, &probes);
        }
        let (verdict, seconds) = self.run(&broken.plan)?;
        if let Outcome::Skipped(reason) = verdict.outcome {
            return skipped(&broken.plan, reason);
        }
        let missed = broken.missed(&verdict);
        if missed.is_empty() {
            return Ok(());
        }
        let shown = text::scenario(&broken.plan.name, &verdict, seconds, None);
        Err(format!(
            "the broken script was not caught as it should be: {}\n{shown}",
            missed.join("; ")
        )
        .into())
    }

    /// The machine of the broken script must differ from that of the sound one where the model names it.
    fn expect_different(&self, broken: &Broken, probes: &[Plan; 2]) -> Result<(), Failed> {
        let mut states = Vec::new();
        for plan in probes {
            let probe = self.on_its_own_thread(|| {
                self.runtime
                    .block_on(async { Ok(self.runner().await?.probe(plan, &self.cancel).await) })
            })?;
            match probe {
                ProbeEnd::Machine(probed) => states.push(probed.state),
                ProbeEnd::NotRun(reason) => return skipped(&broken.plan, reason),
                ProbeEnd::Cancelled => return Err("the run was ended".into()),
            }
        }
        let missed = broken.missed_parts(&differences(&states[0], &states[1], None));
        if missed.is_empty() {
            return Ok(());
        }
        Err(missed.join("; ").into())
    }

    fn expect_evidence(&self, plan: &Plan) -> Result<(), Failed> {
        let (verdict, seconds) = self.run(plan)?;
        let Some(Ok(runner)) = self.runner.get() else {
            return Err("the run was ended".into());
        };
        let faults = evidence::faults(&runner.evidence_folder(plan), &verdict);
        if faults.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{}\n{}",
            faults.join("\n"),
            text::scenario(&plan.name, &verdict, seconds, None)
        )
        .into())
    }

    fn failure(&self, plan: &Plan, verdict: &Verdict, seconds: f64) -> Failed {
        // nextest lifts a line that starts like this into the message of its reports.
        eprintln!("Error: {}: {}", plan.id, text::summary(verdict));
        text::scenario(
            &plan.name,
            verdict,
            seconds,
            Some(&artifacts().display().to_string()),
        )
        .into()
    }

    fn run(&self, plan: &Plan) -> Result<(Verdict, f64), Failed> {
        self.on_its_own_thread(|| {
            self.runtime.block_on(async {
                let runner = self.runner().await?;
                let begun = Instant::now();
                let verdict = runner.run(plan, &self.cancel).await;
                Ok((verdict, begun.elapsed().as_secs_f64()))
            })
        })
    }

    /// A debug build uses most of the stack that a test has.
    fn on_its_own_thread<T: Send>(
        &self,
        run: impl FnOnce() -> Result<T, Failed> + Send,
    ) -> Result<T, Failed> {
        const STACK: usize = 8 << 20;
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new()
                .stack_size(STACK)
                .spawn_scoped(scope, run)?;
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    async fn runner(&self) -> Result<&Runner, Failed> {
        let runner = self.runner.get_or_init(|| self.start()).await;
        runner.as_ref().map_err(Failed::from)
    }

    /// Connects to the engine at the first test.
    async fn start(&self) -> Result<Runner, String> {
        let engine = Engine::connect().await.map_err(|error| {
            eprintln!(
                "Error: {error}\n  do: {}",
                error.hint().unwrap_or_else(|| "run `nodejoin doctor`".to_owned())
            );
            format!("{error} (the hint is printed once, above)")
        })?;
        let (events, stream) = Events::stream();
        tokio::spawn(show_images(stream));
        self.end_on_signals();
        Ok(Runner::new(engine, new_run_id(), settings(), events))
    }

    /// Test runners end tests by a signal; what they made goes all the same.
    fn end_on_signals(&self) {
        let cancel = self.cancel.clone();
        tokio::spawn(async move {
            use tokio::signal::unix::{SignalKind, signal};
            let (Ok(mut interrupt), Ok(mut terminate)) =
                (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
            else {
                return;
            };
            tokio::select! { _ = interrupt.recv() => {} _ = terminate.recv() => {} }
            cancel.cancel();
        });
    }
}

fn settings() -> Settings {
    Settings {
        images: ImageSettings::from_lookup(|name| std::env::var(name).ok()),
        control_plane: control_plane(),
        require: require(),
        external: ExternalSettings::from_lookup(|name| std::env::var(name).ok()),
        artifacts: artifacts(),
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

/// The share of the tests that is this machine's, as the command reads it.
fn shard() -> Result<Option<ShardSelection>, String> {
    let given = std::env::var("NODEJOIN_SHARD").ok();
    let shard = given.map(|word| word.parse()).transpose();
    let shard = shard.map_err(|error: InvalidShard| format!("NODEJOIN_SHARD: {error}"))?;
    let times = std::env::var_os("NODEJOIN_TIMES");
    shard_selection(shard, times.as_ref().map(Path::new))
        .map_err(|error| format!("NODEJOIN_TIMES: {error}\n  do: {}", error.hint()))
}

/// Parses the variable as the command does. An unknown provider ends the tests, which would prove nothing.
fn control_plane() -> Option<ProviderName> {
    let word = std::env::var("NODEJOIN_CONTROL_PLANE").ok()?;
    Some(
        word.parse()
            .unwrap_or_else(|error| panic!("NODEJOIN_CONTROL_PLANE: {error}")),
    )
}

/// As the command reads it.
fn require() -> Require {
    let words = std::env::var("NODEJOIN_REQUIRE").unwrap_or_default();
    words
        .parse()
        .unwrap_or_else(|error| panic!("NODEJOIN_REQUIRE: {error}"))
}

fn artifacts() -> PathBuf {
    std::env::var_os("NODEJOIN_ARTIFACTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/nodejoin"),
        PathBuf::from,
    )
}

/// Prints the progress of image builds, which take minutes.
async fn show_images(mut stream: tokio::sync::mpsc::UnboundedReceiver<RunEvent>) {
    while let Some(event) = stream.recv().await {
        match event {
            RunEvent::ImageStarted { image, log } => eprintln!("building image {image} (output in {log})"),
            RunEvent::ImageInspected { facts, .. } => {
                eprintln!("node image {}: {}", facts.source, facts.summary());
            }
            RunEvent::ImageReady { image, seconds } => eprintln!("built image {image} in {seconds:.0} s"),
            RunEvent::Warning { text } => eprintln!("warning: {text}"),
            _ => {}
        }
    }
}
