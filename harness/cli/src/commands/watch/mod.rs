//! `nodejoin watch`: runs scenarios again when a file that they depend on is saved.
//!
//! ```text
//! save -> affected scenarios -> run (failing ones first) -> wait
//!            ^------ save during the run: cancelled if it affects a scenario that has not finished
//! ```

mod changes;
mod scenarios;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use nodejoin_core::input::problem::ScenarioError;
use nodejoin_core::judge::verdict::Outcome;
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::ids::ScenarioId;
use nodejoin_core::run::event::RunEvent;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::last_run::LastRun;
use nodejoin_core::run::matrix::Matrix;
use nodejoin_core::run::settings::KeepWhen;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_engine::Events;
use nodejoin_engine::report::history::VerdictHistory;
use parking_lot::Mutex;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use crate::args::{RunArgs, WatchArgs};
use crate::commands::keeper::KeeperUse;
use crate::commands::run::{self, RunRequest, RunStart};
use crate::commands::{inspect, preflight};
use crate::last_run::LastRunFile;
use crate::reports::{Github, Reports};
use crate::run_args::{Format, KeepArg, OrderArgs};
use crate::{artifacts, process, rerun};
use changes::{FileChanges, SavedPaths};
use scenarios::{WatchSelection, WatchedScenarios};

/// Runs scenarios until a signal ends the watch.
pub(crate) async fn watch(args: WatchArgs, factor: TimeFactor) -> ExitCode {
    let done = match Watch::begin(args, factor) {
        Ok(mut watch) => {
            let ended = watch.run().await;
            watch.keeper.end(factor).await;
            ended
        }
        Err(code) => Err(code),
    };
    done.unwrap_or_else(|code| code)
}

/// The state of a watch.
struct Watch {
    /// The command line, as that of a run.
    args: RunArgs,
    factor: TimeFactor,
    matrix: Matrix,
    github: Github,
    signals: CancellationToken,
    scenarios: WatchedScenarios,
    changes: FileChanges,
    history: VerdictHistory,
    keeper: KeeperUse,
    /// Scenario files that have to run, and those of them that the last save affects: they run first.
    due: BTreeSet<PathBuf>,
    urgent: BTreeSet<PathBuf>,
    /// The problems that were printed.
    shown: BTreeMap<String, ScenarioError>,
}

impl Watch {
    fn begin(args: WatchArgs, factor: TimeFactor) -> Result<Self, ExitCode> {
        if args.options.hold || matches!(args.options.keep, Some(KeepArg::OnFailure | KeepArg::Always)) {
            note!(
                "error: a watch removes the nodes of each run\n  do: use `nodejoin run` with `--hold` or `--keep`"
            );
            return Err(ExitCode::Usage);
        }
        let matrix = process::matrix(&args.options.images)?;
        inspect::foreign_files(&args.paths).map_err(|error| inspect::refuse(&error))?;
        let mut changes = FileChanges::new().map_err(|error| {
            let hint = "raise fs.inotify.max_user_instances";
            process::report_error("could not follow changes of files", &error, Some(hint.to_owned()));
            ExitCode::Host
        })?;
        let selection = WatchSelection {
            paths: args.paths.clone(),
            filter: args.filter.clone(),
            overlays: args.overlay.clone(),
            image: args.options.image.clone(),
            strict: args.options.strict,
        };
        let load = || {
            WatchedScenarios::load(selection.clone(), &process::disk())
                .map_err(|error| inspect::refuse(&error))
        };
        // Read again once changes are followed: a save between the two would be missed.
        let problems = changes.follow(load()?.folders());
        problems.iter().for_each(|problem| note!("warning: {problem}"));
        let scenarios = load()?;
        let due = match args.postpone {
            true => BTreeSet::new(),
            false => scenarios.paths(),
        };
        let watch = Self {
            args: RunArgs {
                paths: args.paths,
                filter: args.filter,
                bless: false,
                overlay: args.overlay,
                shard: None,
                times: None,
                order: OrderArgs::default(),
                options: args.options,
            },
            factor,
            matrix,
            github: Github::from_lookup(|name| std::env::var(name).ok()),
            signals: run::signals()?,
            scenarios,
            changes,
            history: VerdictHistory::default(),
            keeper: KeeperUse::default(),
            due,
            urgent: BTreeSet::new(),
            shown: BTreeMap::new(),
        };
        preflight::files(&watch.args.options, &watch.settings().artifacts)?;
        Ok(watch)
    }

    /// Runs what is due and waits for saves, until a signal.
    async fn run(&mut self) -> Result<ExitCode, ExitCode> {
        loop {
            let plans = self.due_plans();
            if !plans.is_empty() {
                self.run_plans(plans).await?;
            } else if self.wait().await.is_none() {
                return Ok(ExitCode::Cancelled);
            }
            if self.signals.is_cancelled() {
                return Ok(ExitCode::Cancelled);
            }
        }
    }

    /// Waits for a save; `None` after a signal.
    async fn wait(&mut self) -> Option<()> {
        self.due.clear();
        note!("{}; Ctrl-C ends the watch", self.summary());
        let saved = tokio::select! {
            saved = self.changes.next(|path| self.scenarios.depend_on(path)) => saved,
            () = self.signals.cancelled() => return None,
        };
        self.urgent = self.update(&saved);
        self.due = self.urgent.clone();
        note!("\n{}", saved_text(&saved, self.due.len()));
        Some(())
    }

    /// Reads what a save changed. Returns the scenario files that it affects.
    fn update(&mut self, saved: &SavedPaths) -> BTreeSet<PathBuf> {
        let affected = self.scenarios.update(saved, &process::disk());
        for problem in self.changes.follow(self.scenarios.folders()) {
            note!("warning: {problem}");
        }
        affected.unwrap_or_else(|error| {
            inspect::refuse(&error);
            BTreeSet::new()
        })
    }

    /// The plans that are due: those that the last save affects first, and of these the failing ones. Prints new
    /// problems of files.
    fn due_plans(&mut self) -> Vec<(PathBuf, Plan)> {
        let (plans, problems) = self.scenarios.plans(&self.due);
        for (key, error) in &problems {
            if self.shown.get(key) != Some(error) {
                inspect::refuse(error);
            }
        }
        self.shown = problems;
        let last = LastRun::read(&LastRun::path(&self.settings().artifacts), &process::disk());
        let last = last.unwrap_or_default();
        let mut spread: Vec<(PathBuf, Plan)> = plans
            .into_iter()
            .flat_map(|(path, plan)| {
                let plans = self.matrix.spread(std::slice::from_ref(&plan));
                plans.into_iter().map(move |plan| (path.clone(), plan))
            })
            .collect();
        spread.sort_by_cached_key(|(path, plan)| {
            let fails = self.history.needs_action(&plan.id);
            let fails = fails.unwrap_or_else(|| last.needs_rerun(&plan.id));
            (!self.urgent.contains(path), !fails)
        });
        spread
    }

    /// Runs plans to their end, or until a save affects one that has not finished.
    async fn run_plans(&mut self, due: Vec<(PathBuf, Plan)>) -> Result<(), ExitCode> {
        let plans: Vec<Plan> = due.iter().map(|(_, plan)| plan.clone()).collect();
        preflight::warn_of_other_families(&plans);
        let unfinished = Arc::new(Mutex::new(due));
        let cancel = self.signals.child_token();
        let run = self.started(plans, Arc::clone(&unfinished), &cancel);
        tokio::pin!(run);
        let (mut due, mut urgent, mut texts) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        let ended = loop {
            let saved = tokio::select! {
                ended = &mut run => break ended,
                saved = self.changes.next(|path| self.scenarios.depend_on(path)) => saved,
            };
            let affected = self.update(&saved);
            texts.push(saved_text(&saved, affected.len()));
            if unfinished.lock().iter().any(|(path, _)| affected.contains(path)) {
                cancel.cancel();
            }
            due.extend(affected.iter().cloned());
            urgent = affected;
        };
        texts.iter().for_each(|text| note!("\n{text}"));
        if cancel.is_cancelled() && !self.signals.is_cancelled() {
            note!("the run before this save was cancelled");
        }
        due.extend(unfinished.lock().iter().map(|(path, _)| path.clone()));
        (self.due, self.urgent) = (due, urgent);
        ended
    }

    /// Starts a run, which borrows nothing of the watch.
    fn started(
        &self,
        plans: Vec<Plan>,
        unfinished: Arc<Mutex<Vec<(PathBuf, Plan)>>>,
        cancel: &CancellationToken,
    ) -> impl Future<Output = Result<(), ExitCode>> + use<> {
        let settings = self.settings();
        artifacts::ignore(&settings.artifacts);
        let options = &self.args.options;
        let last_run = LastRunFile::open(&settings.artifacts, &plans);
        let reports = Reports::new(options, &self.github, Some(last_run), rerun::of_run(&self.args))
            .compared_with(self.history.clone());
        let (events, stream) = Events::stream();
        let (shown, to_reports) = Events::stream();
        let tap = EventTap {
            unfinished,
            restart: cancel.clone(),
            signals: self.signals.clone(),
            is_complete: options.format == Some(Format::Json),
        };
        let wish = self.scenarios.settings().keeper.unwrap_or(true);
        let in_keeper = options.keeper.is_on(Some(wish), |name| std::env::var(name).ok());
        let start = RunStart {
            settings,
            factor: self.factor,
            keeper: in_keeper.then(|| self.keeper.clone()),
            cancel: cancel.clone(),
            signals: self.signals.clone(),
            traces: nodejoin_engine::TraceLog::default(),
        };
        async move {
            let follow = || {
                tokio::spawn(tap.follow(stream, shown));
                tokio::spawn(reports.follow(to_reports))
            };
            // The outcomes are in the report.
            start.run(&plans, events, follow).await.map(drop)
        }
    }

    fn settings(&self) -> nodejoin_engine::Settings {
        let request = RunRequest {
            rerun: &|| rerun::of_run(&self.args),
            options: &self.args.options,
            file: &self.scenarios.settings(),
            github: &self.github,
            factor: self.factor,
            bless: false,
            shard: None,
            order: OrderArgs::default(),
            recorded: true,
            traces: nodejoin_engine::TraceLog::default(),
        };
        nodejoin_engine::Settings {
            keep: KeepWhen::Never,
            ..run::settings(&request)
        }
    }

    /// How many scenarios are watched, and their last verdicts.
    fn summary(&self) -> String {
        let (plans, problems) = self.scenarios.plans(&self.scenarios.paths());
        let plans: Vec<Plan> = plans.into_iter().map(|(_, plan)| plan).collect();
        let mut counts = [0; 3];
        for plan in self.matrix.spread(&plans) {
            let index = match self.history.needs_action(&plan.id) {
                Some(false) => 0,
                Some(true) => 1,
                None => 2,
            };
            counts[index] += 1;
        }
        counted(counts, problems.len())
    }
}

/// The line while the watch waits, from the numbers of scenarios that are fine, not fine and did not run.
fn counted(counts: [usize; 3], invalid: usize) -> String {
    let number = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let words = ["ok", "not ok", "not run yet"];
    let mut parts: Vec<String> = counts
        .iter()
        .zip(words)
        .filter(|(count, _)| **count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if invalid > 0 {
        parts.push(number(invalid, "invalid file"));
    }
    let all = number(counts.iter().sum(), "scenario");
    match parts.is_empty() {
        true => format!("watching {all}"),
        false => format!("watching {all}: {}", parts.join(", ")),
    }
}

/// What a save changed, and how many scenarios it affects.
fn saved_text(saved: &SavedPaths, affected: usize) -> String {
    /// Number of files that are named.
    const NAMED: usize = 3;
    let here = process::current_dir();
    let name = |path: &PathBuf| path.strip_prefix(&here).unwrap_or(path).display().to_string();
    let mut names: Vec<String> = saved.paths.iter().take(NAMED).map(name).collect();
    if let more @ 1.. = saved.paths.len().saturating_sub(NAMED) {
        names.push(format!("{more} more"));
    }
    if saved.is_incomplete {
        names.push("unknown files".to_owned());
    }
    let scenarios = match affected {
        1 => "1 scenario".to_owned(),
        count => format!("{count} scenarios"),
    };
    format!("saved {}: affects {scenarios}", names.join(", "))
}

/// Passes events on and notes which scenarios have finished.
struct EventTap {
    unfinished: Arc<Mutex<Vec<(PathBuf, Plan)>>>,
    restart: CancellationToken,
    signals: CancellationToken,
    /// Whether the report has all events, also those of a run that starts again.
    is_complete: bool,
}

impl EventTap {
    async fn follow(self, mut events: UnboundedReceiver<RunEvent>, shown: Events) {
        while let Some(event) = events.recv().await {
            if let RunEvent::ScenarioFinished {
                scenario, verdict, ..
            } = &event
                && verdict.outcome != Outcome::Cancelled
            {
                self.finish(scenario);
            }
            let is_restart = self.restart.is_cancelled() && !self.signals.is_cancelled();
            if self.is_complete || !is_restart || !is_of_a_restart(&event) {
                shown.send(event);
            }
        }
    }

    fn finish(&self, scenario: &ScenarioId) {
        self.unfinished.lock().retain(|(_, plan)| plan.id != *scenario);
    }
}

/// Whether an event of a cancelled run says nothing to a person who sees the run start again.
fn is_of_a_restart(event: &RunEvent) -> bool {
    match event {
        RunEvent::ScenarioFinished { verdict, .. } => verdict.outcome == Outcome::Cancelled,
        RunEvent::RunFinished(summary) => summary.left_behind.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_waiting_line_has_what_there_is() {
        assert_eq!(
            counted([2, 1, 0], 1),
            "watching 3 scenarios: 2 ok, 1 not ok, 1 invalid file"
        );
        assert_eq!(counted([0, 0, 1], 0), "watching 1 scenario: 1 not run yet");
        assert_eq!(counted([0, 0, 0], 2), "watching 0 scenarios: 2 invalid files");
    }
}
