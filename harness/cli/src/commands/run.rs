//! `nodejoin run`

use std::path::PathBuf;

use nodejoin_core::input::problem::ScenarioError;
use nodejoin_core::plan::Plan;
use nodejoin_core::run::event::{RunEvent, Summary};
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::recorded_times::ShardSelection;
use nodejoin_core::run::settings::{EvidenceWhen, KeepWhen, SettingsFile};
use nodejoin_core::run::shell;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_engine::report::github;
use nodejoin_engine::{
    Caller, Events, ExternalSettings, RerunCommand, Runner, Settings, TraceLog, new_run_id, run_all,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::args::RunArgs;
use crate::artifacts;
use crate::commands::keeper::{self, KeeperUse};
use crate::commands::selection::{self, NoSelection};
use crate::commands::{inspect, preflight};
use crate::default_jobs::default_jobs;
use crate::last_run::LastRunFile;
use crate::process;
use crate::reports::{Github, Reports};
use crate::rerun;
use crate::run_args::{EvidenceArg, ExternalArgs, Format, KeepArg, OrderArgs, RunOptions};

/// What a run needs besides its plans.
pub(crate) struct RunRequest<'a> {
    /// Creates the command that runs a scenario again.
    pub(crate) rerun: &'a dyn Fn() -> RerunCommand,
    pub(crate) options: &'a RunOptions,
    pub(crate) file: &'a SettingsFile,
    pub(crate) github: &'a Github,
    pub(crate) factor: TimeFactor,
    pub(crate) bless: bool,
    pub(crate) shard: Option<ShardSelection>,
    pub(crate) order: OrderArgs,
    /// Whether the outcomes are recorded for `--rerun-failed`.
    pub(crate) recorded: bool,
    /// Receives what traced plans run.
    pub(crate) traces: TraceLog,
}

/// Runs scenarios.
pub(crate) async fn run(args: RunArgs, factor: TimeFactor) -> ExitCode {
    let github = Github::from_lookup(|name| std::env::var(name).ok());
    let selected = inspect::settings_file().and_then(|file| Ok((selected_plans(&args, &file)?, file)));
    let (plans, file) = match selected {
        Ok(selected) => selected,
        Err(error) => return refuse(&error, args.options.format, &github),
    };
    if plans.is_empty() {
        return no_match(&args.paths);
    }
    let shard = match selection::shard(args.shard, args.times.as_deref()) {
        Ok(shard) => shard,
        Err(code) => return code,
    };
    let request = RunRequest {
        rerun: &|| rerun::of_run(&args),
        options: &args.options,
        file: &file,
        github: &github,
        factor,
        bless: args.bless,
        shard,
        order: args.order.clone(),
        recorded: true,
        traces: TraceLog::default(),
    };
    run_plans(&request, &plans).await
}

/// Reports that the filter selects nothing, with the command that lists what there is.
pub(crate) fn no_match(paths: &[PathBuf]) -> ExitCode {
    let words = paths
        .iter()
        .map(|path| shell::quoted(&path.display().to_string()));
    let command = ["nodejoin list".to_owned()].into_iter().chain(words);
    let command = command.collect::<Vec<_>>().join(" ");
    note!("error: no scenario matches\n  do: run `{command}` to see all scenarios");
    ExitCode::Usage
}

/// Prints all problems of the scenarios, also as annotations.
pub(crate) fn refuse(error: &ScenarioError, format: Option<Format>, github: &Github) -> ExitCode {
    if let Some(checkout) = github.annotates(format) {
        out!("{}", github::refused(error, checkout));
    }
    inspect::refuse(error)
}

/// Runs plans for all requested versions and writes the reports.
pub(crate) async fn run_plans(request: &RunRequest<'_>, plans: &[Plan]) -> ExitCode {
    let plans = match process::matrix(&request.options.images) {
        Ok(matrix) => matrix.spread(plans),
        Err(code) => return code,
    };
    if plans.is_empty() {
        return no_match(&[]);
    }
    let plans = of_shard(request.shard.as_ref(), plans);
    let settings = settings(request);
    let plans = match selection::select(&request.order, plans, &settings.artifacts) {
        Ok(plans) => plans,
        Err(error) => return refuse_selection(&error),
    };
    if let Err(code) = preflight::files(request.options, &settings.artifacts) {
        return code;
    }
    preflight::warn_of_other_families(&plans);
    artifacts::ignore(&settings.artifacts);
    let last_run = request
        .recorded
        .then(|| LastRunFile::open(&settings.artifacts, &plans));
    let (events, stream) = Events::stream();
    let reports = Reports::new(request.options, request.github, last_run, (request.rerun)());
    if plans.is_empty() {
        report_empty_run(request, &events);
        drop(events);
        return reports.follow(stream).await.err().unwrap_or(ExitCode::Passed);
    }
    let follow = || tokio::spawn(reports.follow(stream));
    let keeper = request.options.keeper;
    let in_keeper = keeper.is_on(request.file.keeper, |name| std::env::var(name).ok());
    let signals = match signals() {
        Ok(signals) => signals,
        Err(code) => return code,
    };
    let start = RunStart {
        settings,
        factor: request.factor,
        keeper: in_keeper.then(KeeperUse::default),
        cancel: signals.clone(),
        signals,
        traces: request.traces.clone(),
    };
    match start.run(&plans, events, follow).await {
        // Other shards have scenarios.
        Ok(ExitCode::NothingRan) if request.shard.is_some() => ExitCode::Passed,
        Ok(code) | Err(code) => code,
    }
}

/// A token that is cancelled at the first signal.
pub(crate) fn signals() -> Result<CancellationToken, ExitCode> {
    process::cancel_on_signals().map_err(|error| {
        process::report_error("could not listen for signals", &error, None);
        ExitCode::Host
    })
}

fn refuse_selection(error: &NoSelection) -> ExitCode {
    match error {
        NoSelection::NoRecord(reason) => {
            note!(
                "error: --rerun-failed needs the record of an earlier run: {reason}\n  run without --rerun-failed first"
            );
            ExitCode::Usage
        }
        NoSelection::NothingFailed => {
            note!("nothing to run: no selected scenario failed in its last run");
            ExitCode::NothingRan
        }
    }
}

/// How plans run.
pub(crate) struct RunStart {
    pub(crate) settings: Settings,
    pub(crate) factor: TimeFactor,
    /// `None` for a run without a keeper.
    pub(crate) keeper: Option<KeeperUse>,
    /// Ends the run.
    pub(crate) cancel: CancellationToken,
    /// Fires when a signal ends the run, which the console reports.
    pub(crate) signals: CancellationToken,
    /// Receives what traced plans run.
    pub(crate) traces: TraceLog,
}

impl RunStart {
    /// Connects to the container engine, runs the scenarios, and waits for the reports.
    pub(crate) async fn run(
        self,
        plans: &[Plan],
        events: Events,
        follow: impl FnOnce() -> JoinHandle<Result<(), ExitCode>>,
    ) -> Result<ExitCode, ExitCode> {
        let engine = process::engine(self.factor).await?;
        preflight::sources(&engine, &self.settings, plans).await?;
        let reports = follow();
        let notice = announce_cancellation(&self.signals, &events);
        let leased = match &self.keeper {
            Some(used) => {
                let (settings, traces) = (&self.settings, &self.traces);
                keeper::run(settings, self.factor, plans, &events, traces, &self.cancel, used).await
            }
            None => None,
        };
        let summary = match leased {
            Some(ended) => ended,
            None => {
                let runner = Runner::new(engine, new_run_id(), self.settings, events.clone());
                let runner = runner.with_traces(self.traces);
                Ok(run_all(runner, plans, &self.cancel).await)
            }
        };
        notice.abort();
        drop(events);
        match reports.await {
            Ok(written) => written.and(summary.map(|summary| ExitCode::of(&summary))),
            Err(error) => {
                process::report_error("the reports stopped early", &error, None);
                Err(ExitCode::Environment)
            }
        }
    }
}

/// The scenarios of this shard.
fn of_shard(selection: Option<&ShardSelection>, mut plans: Vec<Plan>) -> Vec<Plan> {
    let Some(selection) = selection else { return plans };
    let all = plans.len();
    let balanced = selection.times.as_ref().map_or_else(String::new, |times| {
        let known = plans.iter().filter(|plan| times.has(plan.id.as_str())).count();
        format!("; balanced by the recorded times of {known}")
    });
    selection::keep_shard(selection, &mut plans);
    note!(
        "shard {}: {} of {all} scenarios{balanced}",
        selection.shard,
        plans.len()
    );
    plans
}

/// Reports an empty run: a shard without scenarios is not an error, because other shards have them.
fn report_empty_run(request: &RunRequest<'_>, events: &Events) {
    events.send(RunEvent::RunStarted {
        run: new_run_id(),
        scenarios: 0,
        shard: request.shard.as_ref().map(|selection| selection.shard),
    });
    events.send(RunEvent::RunFinished(Summary::default()));
}

/// The plans that the command line selects.
pub(crate) fn selected_plans(args: &RunArgs, file: &SettingsFile) -> Result<Vec<Plan>, ScenarioError> {
    let mut plans = inspect::load(&args.paths, file, &args.overlay)?;
    preflight::replace_image(&mut plans, args.options.image.as_deref())?;
    if let Some(filter) = &args.filter {
        plans.retain(|plan| filter.selects(plan));
    }
    if args.options.strict {
        plans.iter_mut().for_each(Plan::require_clean);
    }
    Ok(plans)
}

/// Flags and environment take precedence over the settings file, and that over the defaults.
pub(crate) fn settings(request: &RunRequest<'_>) -> Settings {
    let (args, file) = (request.options, request.file);
    let keep = args.keep.map(|keep| match keep {
        KeepArg::Never => KeepWhen::Never,
        KeepArg::OnFailure => KeepWhen::OnFailure,
        KeepArg::Always => KeepWhen::Always,
    });
    let evidence = args.evidence.map(|evidence| match evidence {
        EvidenceArg::OnFailure => EvidenceWhen::OnFailure,
        EvidenceArg::Always => EvidenceWhen::Always,
    });
    let artifacts = args.artifacts_dir.as_ref().or(file.artifacts_dir.as_ref());
    let here = process::current_dir();
    Settings {
        images: process::image_settings(),
        control_plane: args.control_plane.or(file.control_plane),
        require: args.require.clone().with(args.control_plane),
        external: external(&args.external),
        artifacts: artifacts.map_or_else(|| artifacts::default_folder(&here), |folder| here.join(folder)),
        jobs: args.jobs.or(file.jobs).map_or_else(default_jobs, |jobs| jobs.0),
        keep: keep.or(file.keep).unwrap_or_default(),
        evidence: evidence.unwrap_or_default(),
        caller: Caller {
            version: env!("NODEJOIN_VERSION").to_owned(),
            rerun: (request.rerun)(),
        },
        hold: args.hold,
        boot_ahead: args.boot_ahead,
        bless: request.bless,
        fail_fast: request.order.fail_fast,
        shard: request.shard.as_ref().map(|selection| selection.shard),
    }
}

/// Settings of the external cluster. Flags take precedence over the environment.
fn external(args: &ExternalArgs) -> ExternalSettings {
    let set = ExternalSettings::from_lookup(|name| std::env::var(name).ok());
    ExternalSettings {
        kubeconfig: args.kubeconfig.clone().map_or(set.kubeconfig, |file| vec![file]),
        context: args.context.clone().or(set.context),
        allow_remote: args.allow_remote || set.allow_remote,
        wiring: args.wiring.clone().or(set.wiring),
    }
}

/// Reports once that the run is ending: removing its objects can take a moment.
fn announce_cancellation(cancel: &CancellationToken, events: &Events) -> JoinHandle<()> {
    let (cancel, events) = (cancel.clone(), events.clone());
    tokio::spawn(async move {
        cancel.cancelled().await;
        events.send(RunEvent::Cancelling);
    })
}
