//! `nodejoin run`

use std::io::Write as _;
use std::path::{Path, PathBuf};

use nodejoin_core::event::RunEvent;
use nodejoin_core::exit_code::ExitCode;
use nodejoin_core::plan::Plan;
use nodejoin_core::problem::ScenarioError;
use nodejoin_core::settings_file::{KeepWhen, SettingsFile};
use nodejoin_core::time_factor::TimeFactor;
use nodejoin_engine::report::console::Console;
use nodejoin_engine::report::junit::Junit;
use nodejoin_engine::{Events, Harness, Settings, new_run_id, run_all};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::args::{Format, Keep, Run};
use crate::commands::inspect;
use crate::edge;

/// Runs scenarios.
pub(crate) async fn run(args: Run, factor: TimeFactor) -> ExitCode {
    let asked = inspect::settings_file().and_then(|file| Ok((asked(&args, &file)?, file)));
    let (plans, file) = match asked {
        Ok(asked) => asked,
        Err(error) => return inspect::refuse(&error),
    };
    if plans.is_empty() {
        eprintln!("error: no scenario matches; `nodejoin list` prints those that are there");
        return ExitCode::Usage;
    }
    let cancel = match edge::cancel_on_signals() {
        Ok(cancel) => cancel,
        Err(error) => {
            edge::complain("could not listen for signals", &error, None);
            return ExitCode::Host;
        }
    };
    let engine = match edge::engine(factor).await {
        Ok(engine) => engine,
        Err(code) => return code,
    };
    let (events, stream) = Events::stream();
    let reports = tokio::spawn(report(stream, args.format, args.junit.clone()));
    let harness = Harness::new(engine, new_run_id(), settings(&args, &file), events.clone());
    let told = tell_of_cancelling(&cancel, &events);
    let summary = run_all(harness, &plans, &cancel).await;
    told.abort();
    drop(events);
    match reports.await {
        Ok(Ok(())) => ExitCode::of(&summary),
        Ok(Err(code)) => code,
        Err(error) => {
            edge::complain("the report ended early", &error, None);
            ExitCode::Environment
        }
    }
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
        images: edge::image_settings(&args.images),
        control_plane: args.control_plane.or(file.control_plane),
        require: args.require.clone(),
        artifacts: edge::here().join(artifacts.map_or(Path::new(ARTIFACTS), PathBuf::as_path)),
        jobs: args.jobs.or(file.jobs.map(|jobs| jobs.0)).unwrap_or(1),
        keep,
    }
}

/// Where evidence goes when nobody says otherwise.
const ARTIFACTS: &str = "target/nodejoin";

/// Says once that the run is ending: removing what it made can take a moment.
fn tell_of_cancelling(
    cancel: &tokio_util::sync::CancellationToken,
    events: &Events,
) -> tokio::task::JoinHandle<()> {
    let (cancel, events) = (cancel.clone(), events.clone());
    tokio::spawn(async move {
        cancel.cancelled().await;
        events.send(RunEvent::Cancelling);
    })
}

/// Feeds every report from the one stream until it ends.
async fn report(
    mut stream: UnboundedReceiver<RunEvent>,
    format: Format,
    junit_file: Option<std::path::PathBuf>,
) -> Result<(), ExitCode> {
    let mut console = Console::new();
    let mut junit = Junit::new();
    while let Some(event) = stream.recv().await {
        junit.take(&event);
        match format {
            Format::Text => console.show(&event),
            Format::Json => print_line(&event),
        }
    }
    junit_file.map_or(Ok(()), |file| write_junit(&junit, &file))
}

fn print_line(event: &RunEvent) {
    if let Ok(line) = serde_json::to_string(event) {
        // A reader that went away (`| head`) is no reason to stop reporting: the exit code and a JUnit file are still wanted.
        let _ = writeln!(std::io::stdout(), "{line}");
    }
}

fn write_junit(junit: &Junit, file: &Path) -> Result<(), ExitCode> {
    let write = |xml: String| {
        file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(file, xml)
    };
    let written = junit.to_xml().map_err(std::io::Error::other).and_then(write);
    written.map_err(|error| {
        edge::complain(&format!("could not write `{}`", file.display()), &error, None);
        ExitCode::Environment
    })
}
