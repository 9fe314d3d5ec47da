//! What the commands that probe machines share.

mod parameters;
pub(super) mod written;

use std::collections::BTreeSet;
use std::path::Path;

use nodejoin_core::compare::ScriptInputs;
use nodejoin_core::plan::Plan;
use nodejoin_core::run::event::RunEvent;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::settings::{EvidenceWhen, JobCount, KeepWhen, SettingsFile};
use nodejoin_engine::{Caller, ExternalSettings, Settings};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::default_jobs::default_jobs;
use crate::probing_args::ProbingArgs;
use crate::{artifacts, process};

/// What the files of overlays accept and tell apart.
pub(super) fn inputs(plan: &Plan) -> ScriptInputs {
    parameters::of(plan)
}

/// The settings of a run that probes machines.
pub(super) fn settings(folder: Option<&Path>, jobs: Option<JobCount>, file: &SettingsFile) -> Settings {
    let here = process::current_dir();
    let folder = folder.or(file.artifacts_dir.as_deref());
    Settings {
        images: process::image_settings(),
        control_plane: None,
        require: Default::default(),
        external: ExternalSettings::default(),
        artifacts: folder.map_or_else(|| artifacts::default_folder(&here), |folder| here.join(folder)),
        jobs: jobs.or(file.jobs).map_or_else(default_jobs, |jobs| jobs.0),
        keep: KeepWhen::Never,
        evidence: EvidenceWhen::OnFailure,
        caller: Caller {
            version: env!("NODEJOIN_VERSION").to_owned(),
            ..Caller::default()
        },
        hold: false,
        boot_ahead: false,
        bless: false,
        fail_fast: false,
        shard: None,
    }
}

/// These plans if the command line, the variables or the file choose a keeper for them.
pub(super) fn kept<'a>(args: &ProbingArgs, file: &SettingsFile, plans: &'a [Plan]) -> Option<&'a [Plan]> {
    let in_keeper = args.keeper.is_on(file.keeper, |name| std::env::var(name).ok());
    in_keeper.then_some(plans)
}

/// Prints what takes long, and warnings.
pub(super) async fn tell(mut stream: UnboundedReceiver<RunEvent>) {
    while let Some(event) = stream.recv().await {
        match event {
            RunEvent::ImageWaiting { image } => note!("waiting for another process that builds {image}"),
            RunEvent::ImageStarted { image, log } => note!("building {image}; log: {log}"),
            RunEvent::ImageReady { image, seconds } => note!("built {image} in {seconds:.0} s"),
            RunEvent::Warning { text } => note!("warning: {text}"),
            RunEvent::RunStarted { .. }
            | RunEvent::ImageStep { .. }
            | RunEvent::ImageDownload { .. }
            | RunEvent::ImageInspected { .. }
            | RunEvent::ControlPlaneStarting { .. }
            | RunEvent::ControlPlaneReady { .. }
            | RunEvent::ScenarioStarted { .. }
            | RunEvent::PhaseReached { .. }
            | RunEvent::Held { .. }
            | RunEvent::ScenarioFinished { .. }
            | RunEvent::SnapshotWritten { .. }
            | RunEvent::Cancelling
            | RunEvent::RunFinished(_) => {}
        }
    }
}

/// Writes the Markdown to the file of the command line, or adds it to that of GitHub Actions.
pub(super) fn write_summary(file: Option<&Path>, text: &str) -> Result<(), ExitCode> {
    use std::io::Write as _;
    let of_github = || std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty());
    let (path, written) = match (file, of_github()) {
        (Some(path), _) => (path.to_owned(), std::fs::write(path, text)),
        (None, Some(path)) => {
            let file = std::fs::OpenOptions::new().append(true).create(true).open(&path);
            (
                path.into(),
                file.and_then(|mut file| file.write_all(text.as_bytes())),
            )
        }
        (None, None) => return Ok(()),
    };
    written.map_err(|error| {
        process::report_error(&format!("could not write `{}`", path.display()), &error, None);
        ExitCode::Environment
    })
}

/// The ids of a file of approved differences or findings, which a command printed.
pub(super) fn approved(file: Option<&Path>, command: &str) -> Result<BTreeSet<String>, ExitCode> {
    let Some(file) = file else {
        return Ok(BTreeSet::new());
    };
    let text = std::fs::read_to_string(file).map_err(|error| {
        let hint = "create it with the ids that are intended, one in each line";
        process::report_error(
            &format!("could not read `{}`", file.display()),
            &error,
            Some(hint.to_owned()),
        );
        ExitCode::Usage
    })?;
    let mut ids = BTreeSet::new();
    for (index, line) in text.lines().enumerate() {
        let Some(id) = line
            .split_whitespace()
            .next()
            .filter(|word| !word.starts_with('#'))
        else {
            continue;
        };
        if id.len() != 10 || !id.chars().all(|c| c.is_ascii_hexdigit()) {
            note!(
                "error: {}:{}: `{id}` is not an id: expected ten hexadecimal digits, as `nodejoin {command}` prints",
                file.display(),
                index + 1
            );
            return Err(ExitCode::Usage);
        }
        ids.insert(id.to_owned());
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approved_ids_are_the_first_words_of_lines() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("approved");
        std::fs::write(
            &file,
            "# remark\n0123456789  China has its own account\n\nabcdefabcd\n",
        )
        .unwrap();
        let ids = approved(Some(&file), "diff").unwrap();
        assert_eq!(ids.into_iter().collect::<Vec<_>>(), ["0123456789", "abcdefabcd"]);
        assert_eq!(approved(None, "diff"), Ok(BTreeSet::new()));
    }
}
