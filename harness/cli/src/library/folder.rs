//! A folder of scenarios as tests of `cargo test` and nextest.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use libtest_mimic::{Arguments, Failed, Trial};
use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::plan::Plan;
use nodejoin_core::run::env::{self, EnvVar};
use nodejoin_core::run::recorded_times::ShardSelection;
use nodejoin_core::run::settings::{self, SettingsFile};
use nodejoin_core::run::shard::InvalidShard;
use nodejoin_engine::merge::shard_selection;

use super::error::LibraryError;
use super::harness::Nodejoin;
use super::report::ScenarioReport;
use super::{builder, kept};
use crate::commands::{inspect, selection};
use crate::keeper_args::KeeperChoice;
use crate::process;

/// Turns the scenarios below a folder into tests, one each, named after its id with `::` for `/`. It is the `main` of a
/// test target without the harness of the standard library:
///
/// ```toml
/// [[test]]
/// name = "nodes"
/// harness = false
/// ```
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     nodejoin::scenario_tests("nodes")
/// }
/// ```
///
/// A path is relative to the package. A `nodejoin.yaml` there, or above, applies. The tests of one process share a
/// control plane, which starts with the first test that runs and is removed at the end. A skipped scenario prints its
/// reason; with `NODEJOIN_NO_SKIPS` it fails.
///
/// With `NODEJOIN_KEEPER=true` or `keeper: true` in the settings file, the tests run in a keeper: this program, started
/// once more, which keeps control planes for later processes, such as those of nextest.
pub fn scenario_tests(folder: impl Into<PathBuf>) -> ExitCode {
    if kept::is_keeper(std::env::args_os()) {
        return crate::run();
    }
    let mut arguments = Arguments::from_args();
    let folder = folder.into();
    let found = settings::find(&folder, &process::disk())
        .map_err(LibraryError::from)
        .and_then(|file| Ok((shard()?, plans(&folder, &file)?, is_kept(&file))));
    let (plans, is_kept) = match found {
        Ok((None, plans, is_kept)) => (plans, is_kept),
        Ok((Some(shard), mut plans, is_kept)) => {
            selection::keep_shard(&shard, &mut plans);
            (plans, is_kept)
        }
        // A test that is not listed would never be missed.
        Err(error) => {
            note!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    if is_kept {
        arguments.test_threads = arguments.test_threads.or_else(kept_tests_at_a_time);
    }
    let shared = Arc::new(SharedHarness {
        is_kept,
        ..SharedHarness::default()
    });
    let trials = plans.into_iter().map(|plan| {
        let shared = Arc::clone(&shared);
        let name = plan.id.as_str().replace('/', "::");
        Trial::test(name, move || shared.expect_pass(plan))
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    let left = match Arc::into_inner(shared) {
        Some(shared) => shared.stop(),
        None => vec!["everything: a test still runs".to_owned()],
    };
    for object in &left {
        note!("could not remove: {object}; `nodejoin sweep` tries again");
    }
    match conclusion.has_failed() || !left.is_empty() {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

fn is_kept(file: &SettingsFile) -> bool {
    KeeperChoice::default().is_on(file.keeper, |name| std::env::var(name).ok())
}

/// Each test in a keeper has a control plane of its own.
fn kept_tests_at_a_time() -> Option<usize> {
    const MOST: usize = 3;
    let processors = std::thread::available_parallelism().ok()?;
    Some(processors.get().min(MOST))
}

fn plans(folder: &Path, file: &SettingsFile) -> Result<Vec<Plan>, LibraryError> {
    let plans = inspect::load(&[folder.to_owned()], file, &[])?;
    Ok(builder::matrix()?.spread(&plans))
}

/// The part of the tests that this process runs, as the command reads it.
fn shard() -> Result<Option<ShardSelection>, LibraryError> {
    let set = std::env::var(env::SHARD.name)
        .ok()
        .filter(|word| !word.is_empty());
    let shard = set.map(|word| word.parse()).transpose();
    let shard = shard.map_err(|error: InvalidShard| invalid(&env::SHARD, error.to_string()))?;
    let times = std::env::var_os(env::TIMES.name);
    shard_selection(shard, times.as_ref().map(Path::new))
        .map_err(|error| invalid(&env::TIMES, format!("{error}\n  do: {}", error.hint())))
}

fn invalid(variable: &EnvVar, why: String) -> LibraryError {
    LibraryError::Setting {
        what: format!("`{}`", variable.name),
        why,
    }
}

/// Started by the first test that runs.
#[derive(Default)]
struct SharedHarness {
    nodejoin: OnceLock<Result<Nodejoin, String>>,
    is_kept: bool,
}

impl SharedHarness {
    fn expect_pass(&self, plan: Plan) -> Result<(), Failed> {
        let nodejoin = self
            .nodejoin
            .get_or_init(|| start(self.is_kept).map_err(|error| error.to_string()));
        let nodejoin = nodejoin.as_ref().map_err(Failed::from)?;
        let id = plan.id.clone();
        let report = nodejoin.run_and_wait(plan);
        match &report.verdict().outcome {
            Outcome::Passed => Ok(()),
            Outcome::Skipped(reason) => skipped(id.as_str(), reason),
            _ => Err(failure(id.as_str(), &report)),
        }
    }

    /// Removes what the tests created. Returns what could not be removed.
    fn stop(self) -> Vec<String> {
        match self.nodejoin.into_inner() {
            Some(Ok(nodejoin)) => nodejoin.stop_and_wait(),
            _ => Vec::new(),
        }
    }
}

/// Test runners end tests by a signal: what they created is removed all the same.
fn start(is_kept: bool) -> Result<Nodejoin, LibraryError> {
    let nodejoin = Nodejoin::builder().in_keeper(is_kept).start_and_wait()?;
    nodejoin.cancel_on_signals()?;
    Ok(nodejoin)
}

/// Prints the reason past any capturing: a skip without it would look like a pass.
fn skipped(id: &str, reason: &str) -> Result<(), Failed> {
    let _ = writeln!(std::io::stderr(), "skipped {id}: {reason}");
    match std::env::var_os(env::NO_SKIPS.name) {
        Some(_) => Err(reason.into()),
        None => Ok(()),
    }
}

fn failure(id: &str, report: &ScenarioReport) -> Failed {
    // nextest takes a line with this beginning as the message of its reports.
    note!("Error: {id}: {}", report.summary());
    report.to_string().into()
}
