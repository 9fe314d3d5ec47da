//! `nodejoin run`

use std::path::{Path, PathBuf};

use nodejoin_core::input::problem::ScenarioError;
use nodejoin_core::plan::Plan;
use nodejoin_core::run::event::{RunEvent, Summary};
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::settings::{KeepWhen, SettingsFile};
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_engine::report::github;
use nodejoin_engine::{Events, ExternalSettings, Harness, Settings, new_run_id, run_all};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::args::{ExternalArgs, Keep, Run};
use crate::commands::inspect;
use crate::edge;
use crate::reports::{Github, Reports};

/// Runs scenarios.
pub(crate) async fn run(args: Run, factor: TimeFactor) -> ExitCode {
    let github = Github::from_lookup(|name| std::env::var(name).ok());
    let asked = inspect::settings_file().and_then(|file| Ok((asked(&args, &file)?, file)));
    let (plans, file) = match asked {
        Ok(asked) => asked,
        Err(error) => {
            if let Some(checkout) = github.annotates(args.format) {
                out!("{}", github::refused(&error, checkout));
            }
            return inspect::refuse(&error);
        }
    };
    let plans = match edge::matrix(&args.images) {
        Ok(matrix) => matrix.spread(&plans),
        Err(code) => return code,
    };
    if plans.is_empty() {
        eprintln!("error: no scenario matches; `nodejoin list` prints those that are there");
        return ExitCode::Usage;
    }
    let share = share(&args, plans);
    let (events, stream) = Events::stream();
    let reports = Reports::new(&args, &github);
    if share.is_empty() {
        run_nothing(&args, &events);
        drop(events);
        return reports.follow(stream).await.err().unwrap_or(ExitCode::Passed);
    }
    let follow = || tokio::spawn(reports.follow(stream));
    match run_share(settings(&args, &file), factor, &share, events, follow).await {
        Ok(code) | Err(code) => code,
    }
}

/// Starts what the scenarios need, runs them, and waits for the reports.
async fn run_share(
    settings: Settings,
    factor: TimeFactor,
    plans: &[Plan],
    events: Events,
    follow: impl FnOnce() -> JoinHandle<Result<(), ExitCode>>,
) -> Result<ExitCode, ExitCode> {
    let cancel = edge::cancel_on_signals().map_err(|error| {
        edge::complain("could not listen for signals", &error, None);
        ExitCode::Host
    })?;
    let engine = edge::engine(factor).await?;
    let reports = follow();
    let harness = Harness::new(engine, new_run_id(), settings, events.clone());
    let told = tell_of_cancelling(&cancel, &events);
    let summary = run_all(harness, plans, &cancel).await;
    told.abort();
    drop(events);
    match reports.await {
        Ok(written) => written.map(|()| ExitCode::of(&summary)),
        Err(error) => {
            edge::complain("the report ended early", &error, None);
            Err(ExitCode::Environment)
        }
    }
}

/// Those of the scenarios that are this machine's.
fn share(args: &Run, mut plans: Vec<Plan>) -> Vec<Plan> {
    let Some(shard) = args.shard else { return plans };
    let all = plans.len();
    plans.retain(|plan| shard.holds(plan.id.as_str()));
    eprintln!("shard {shard}: {} of {all} scenarios", plans.len());
    plans
}

/// A share without scenarios is no error, since others have them: its reports say so.
fn run_nothing(args: &Run, events: &Events) {
    events.send(RunEvent::RunStarted {
        run: new_run_id(),
        scenarios: 0,
        shard: args.shard,
    });
    events.send(RunEvent::RunFinished(Summary::default()));
}

/// The plans that the command line means.
fn asked(args: &Run, file: &SettingsFile) -> Result<Vec<Plan>, ScenarioError> {
    let mut plans = inspect::load(&args.paths, file, &args.overlay)?;
    if let Some(filter) = &args.filter {
        plans
            .retain(|plan| plan.id.as_str().contains(filter.as_str()) || plan.name.contains(filter.as_str()));
    }
    Ok(plans)
}

/// Flags and environment, which clap has read, then the settings file, then the defaults.
fn settings(args: &Run, file: &SettingsFile) -> Settings {
    let keep = match (args.keep, file.keep) {
        (Some(Keep::OnFailure), _) | (None, Some(KeepWhen::OnFailure)) => nodejoin_engine::Keep::OnFailure,
        (Some(Keep::Always), _) | (None, Some(KeepWhen::Always)) => nodejoin_engine::Keep::Always,
        (Some(Keep::Never), _) | (None, Some(KeepWhen::Never) | None) => nodejoin_engine::Keep::Never,
    };
    let artifacts = args.artifacts_dir.as_ref().or(file.artifacts_dir.as_ref());
    Settings {
        images: edge::image_settings(),
        control_plane: args.control_plane.or(file.control_plane),
        require: args.require.clone(),
        external: external(&args.external),
        artifacts: edge::here().join(artifacts.map_or(Path::new(ARTIFACTS), PathBuf::as_path)),
        jobs: args.jobs.or(file.jobs.map(|jobs| jobs.0)).unwrap_or(1),
        keep,
        bless: args.bless,
        shard: args.shard,
    }
}

/// Where evidence goes when nobody says otherwise.
const ARTIFACTS: &str = "target/nodejoin";

/// Flags go before the environment.
fn external(args: &ExternalArgs) -> ExternalSettings {
    let set = ExternalSettings::from_lookup(|name| std::env::var(name).ok());
    ExternalSettings {
        kubeconfig: args.kubeconfig.clone().map_or(set.kubeconfig, |file| vec![file]),
        context: args.context.clone().or(set.context),
        allow_remote: args.allow_remote || set.allow_remote,
        wiring: args.wiring.clone().or(set.wiring),
    }
}

/// Says once that the run is ending: removing what it made can take a moment.
fn tell_of_cancelling(cancel: &CancellationToken, events: &Events) -> JoinHandle<()> {
    let (cancel, events) = (cancel.clone(), events.clone());
    tokio::spawn(async move {
        cancel.cancelled().await;
        events.send(RunEvent::Cancelling);
    })
}
