//! `nodejoin keeper`, and runs in a keeper.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nodejoin_core::plan::Plan;
use nodejoin_core::run::event::{RunEvent, Summary};
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::Engine;
use nodejoin_engine::keeper::{
    self, BoundKeeper, Keeper, KeeperAddress, KeeperError, KeeperStatus, LeaseRequest, LeaseSettings,
    SessionRequest,
};
use nodejoin_engine::{Events, PlanRunner, Runner, Settings, TraceLog, new_run_id};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use crate::keeper_args::{KeeperArgs, KeeperCommand};
use crate::process;

/// Until a started keeper listens. It waits for one that ends.
const START_TIMEOUT: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(20);
/// Until a run whose client has received its end has ended in the keeper as well.
const OWN_RUN_END: Duration = Duration::from_secs(2);
/// Number of keepers that a run tries: the first may be about to end.
const TRIES: usize = 3;
const NEVER_ACCEPTED: &str = "several keepers ended before they accepted it";

/// Serves as a keeper, or reports or stops keepers.
pub(crate) async fn keeper(args: KeeperArgs, factor: TimeFactor) -> ExitCode {
    let done = match args.command {
        None => serve(Duration::from_secs(args.idle), factor).await,
        Some(KeeperCommand::Status) => status(factor).await,
        Some(KeeperCommand::Stop { all }) => stop(all, factor).await,
    };
    done.unwrap_or_else(|code| code)
}

async fn serve(idle: Duration, factor: TimeFactor) -> Result<ExitCode, ExitCode> {
    let cancel = process::cancel_on_signals().map_err(|error| {
        process::report_error("could not listen for signals", &error, None);
        ExitCode::Host
    })?;
    let engine = process::engine(factor).await?;
    let address = address(factor)?;
    let Some(bound) = bind(&address, factor).await? else {
        note!("a keeper of this program already runs in this folder; `nodejoin keeper status` describes it");
        return Ok(ExitCode::Passed);
    };
    note!(
        "keeping control planes for runs with --keeper in this folder; stops after {} s without a run",
        idle.as_secs()
    );
    let keeper = Keeper::new(engine, process::image_settings(), idle);
    let left = keeper.serve(bound, cancel).await;
    for object in &left {
        note!("could not remove: {object}; `nodejoin sweep` tries again");
    }
    match left.is_empty() {
        true => Ok(ExitCode::Passed),
        false => Ok(ExitCode::Environment),
    }
}

/// Listens; `None` if another keeper serves this address. Waits for one that ends.
async fn bind(address: &KeeperAddress, factor: TimeFactor) -> Result<Option<BoundKeeper>, ExitCode> {
    let until = Instant::now() + factor.scale(START_TIMEOUT);
    loop {
        if let Some(bound) = BoundKeeper::bind(address).map_err(|error| refuse(&error))? {
            return Ok(Some(bound));
        }
        let other = keeper::connect(address).await.map_err(|error| refuse(&error))?;
        if other.is_some() || Instant::now() >= until {
            return Ok(None);
        }
        tokio::time::sleep(POLL).await;
    }
}

async fn status(factor: TimeFactor) -> Result<ExitCode, ExitCode> {
    let own = address(factor)?;
    let mut found = false;
    for address in all()? {
        // A dead keeper's socket is replaced by the next one.
        if let Some(status) = keeper::status(&address).await.map_err(|error| refuse(&error))? {
            found = true;
            print(&status, address == own);
        }
    }
    if !found {
        out!("no keeper runs");
    }
    Ok(ExitCode::Passed)
}

fn print(status: &KeeperStatus, is_own: bool) {
    let whose = match is_own {
        true => "used by runs of this program in this folder",
        false => "of another program, folder or environment",
    };
    out!("keeper {} in {}, {whose}", status.pid, status.folder.display());
    out!(
        "  started {} s ago; {} active; stops after {} s without a run",
        status.seconds,
        match status.runs {
            1 => "1 run".to_owned(),
            count => format!("{count} runs"),
        },
        status.idle_seconds
    );
    for environment in &status.environments {
        out!("  waiting: {environment}");
    }
    if let Some(why) = &status.last_removal {
        out!("  last removed a control plane, because {why}");
    }
}

async fn stop(every: bool, factor: TimeFactor) -> Result<ExitCode, ExitCode> {
    let addresses = match every {
        true => all()?,
        false => vec![address(factor)?],
    };
    let mut stopped = 0;
    for address in addresses {
        stopped += usize::from(keeper::stop(&address).await.map_err(|error| refuse(&error))?);
    }
    match stopped {
        0 => out!("no keeper runs"),
        1 => out!("stopped 1 keeper"),
        count => out!("stopped {count} keepers"),
    }
    Ok(ExitCode::Passed)
}

fn address(factor: TimeFactor) -> Result<KeeperAddress, ExitCode> {
    try_address(factor).map_err(|error| refuse(&error))
}

fn try_address(factor: TimeFactor) -> Result<KeeperAddress, KeeperError> {
    KeeperAddress::of_this_process(&process::image_settings().cache, factor, lookup)
}

fn all() -> Result<Vec<KeeperAddress>, ExitCode> {
    KeeperAddress::all(&process::image_settings().cache, lookup).map_err(|error| refuse(&error))
}

fn lookup(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn refuse(error: &KeeperError) -> ExitCode {
    process::report_error("could not use a keeper", error, Some(error.hint()));
    ExitCode::Environment
}

/// Runs the scenarios in a keeper. `None` if there is none and none can be started: a warning says why, and the caller
/// runs them itself.
pub(crate) async fn run(
    settings: &Settings,
    factor: TimeFactor,
    plans: &[Plan],
    events: &Events,
    traces: &TraceLog,
    cancel: &CancellationToken,
    used: &KeeperUse,
) -> Option<Result<Summary, ExitCode>> {
    let settings = match LeaseSettings::of(settings, plans) {
        Ok(settings) => settings,
        Err(why) => {
            warn(events, why);
            return None;
        }
    };
    for _ in 0..TRIES {
        let (address, stream) = match connected(factor, used).await {
            Ok(connected) => connected,
            Err(why) => {
                warn(events, &why);
                return None;
            }
        };
        let request = LeaseRequest {
            run: new_run_id(),
            settings: settings.clone(),
            plans: plans.to_vec(),
        };
        match keeper::lease(&address, stream, request, events, traces, cancel).await {
            Ok(summary) => return Some(Ok(summary)),
            Err(KeeperError::NotAccepted) => {}
            Err(error) => {
                process::report_error("the run ended early", &error, Some(error.hint()));
                return Some(Err(ExitCode::Environment));
            }
        }
    }
    warn(events, NEVER_ACCEPTED);
    None
}

/// Runs plans that derive from these one by one: in a keeper if it can run them, else in a run of this process, as
/// without `plans`.
pub(crate) async fn plan_runner(
    engine: Engine,
    settings: Settings,
    factor: TimeFactor,
    plans: Option<&[Plan]>,
    events: Events,
    traces: TraceLog,
) -> PlanRunner {
    if let Some(plans) = plans
        && let Some(runner) = in_session(&settings, factor, plans, &events, &traces).await
    {
        return runner;
    }
    let runner = Runner::new(engine, new_run_id(), settings, events);
    runner.with_traces(traces).into()
}

/// `None` if there is no keeper and none can be started, with a warning.
async fn in_session(
    settings: &Settings,
    factor: TimeFactor,
    plans: &[Plan],
    events: &Events,
    traces: &TraceLog,
) -> Option<PlanRunner> {
    let lease = match LeaseSettings::of(settings, plans) {
        Ok(lease) => lease,
        Err(why) => {
            warn(events, why);
            return None;
        }
    };
    for _ in 0..TRIES {
        let (address, stream) = match connected(factor, &KeeperUse::default()).await {
            Ok(connected) => connected,
            Err(why) => {
                warn(events, &why);
                return None;
            }
        };
        let request = SessionRequest {
            run: new_run_id(),
            settings: lease.clone(),
        };
        match keeper::begin_session(&address, stream, request, events.clone(), traces.clone()).await {
            Ok(session) => {
                return Some(PlanRunner::Keeper {
                    session,
                    artifacts: settings.artifacts.clone(),
                });
            }
            Err(KeeperError::NotAccepted) => {}
            Err(error) => {
                warn(events, &format!("{error}; {}", error.hint()));
                return None;
            }
        }
    }
    warn(events, NEVER_ACCEPTED);
    None
}

fn warn(events: &Events, why: &str) {
    events.send(RunEvent::Warning {
        text: format!("this run uses no keeper: {why}"),
    });
}

/// How this process uses a keeper.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeeperUse {
    /// Whether this process started it.
    is_started: Arc<AtomicBool>,
}

impl KeeperUse {
    /// Stops the keeper if this process started it and no other client has a run in it. It removes everything first.
    pub(crate) async fn end(&self, factor: TimeFactor) {
        if !self.is_started.load(Ordering::Relaxed) {
            return;
        }
        let until = Instant::now() + factor.scale(OWN_RUN_END);
        loop {
            let stopped = match try_address(factor) {
                Ok(address) => keeper::stop_if_unused(&address).await,
                Err(error) => Err(error),
            };
            match stopped {
                // The run of this process may be about to end in the keeper.
                Ok(false) if Instant::now() < until => tokio::time::sleep(POLL).await,
                Ok(_) => return,
                Err(error) => {
                    refuse(&error);
                    return;
                }
            }
        }
    }
}

/// A connection to the keeper of this program and folder, which is started if necessary.
async fn connected(factor: TimeFactor, used: &KeeperUse) -> Result<(KeeperAddress, UnixStream), String> {
    let text = |error: KeeperError| format!("{error}; {}", error.hint());
    let address = try_address(factor).map_err(text)?;
    if let Some(stream) = keeper::connect(&address).await.map_err(text)? {
        return Ok((address, stream));
    }
    let log = address.log();
    let mut child =
        spawn(&address, factor).map_err(|error| format!("could not start `nodejoin keeper`: {error}"))?;
    used.is_started.store(true, Ordering::Relaxed);
    let until = Instant::now() + factor.scale(START_TIMEOUT);
    loop {
        if let Some(stream) = keeper::connect(&address).await.map_err(text)? {
            return Ok((address, stream));
        }
        let ended = child.try_wait().ok().flatten();
        if ended.is_some_and(|status| !status.success()) || Instant::now() >= until {
            return Err(format!(
                "`nodejoin keeper` did not start; its log is `{}`",
                log.display()
            ));
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Starts a keeper in a process group of its own, so that an interrupt on the terminal ends the run alone.
fn spawn(address: &KeeperAddress, factor: TimeFactor) -> io::Result<Child> {
    let log = OpenOptions::new().create(true).append(true).open(address.log())?;
    log.set_len(0)?;
    // Not its path: the file may have been replaced by a newer build.
    Command::new("/proc/self/exe")
        .arg0("nodejoin")
        .args(["--time-factor", &factor.to_string(), "keeper"])
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
}
