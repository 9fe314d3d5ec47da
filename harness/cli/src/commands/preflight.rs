//! What a run checks before anything starts: files that it will write, the kubeconfig, images and versions.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nodejoin_core::input::problem::{Position, Problem, ScenarioError};
use nodejoin_core::kubernetes::VersionRequest;
use nodejoin_core::plan::provider::ProviderName;
use nodejoin_core::plan::{ImagePlan, ImageSource, Plan};
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::user_data::OtherFamily;
use nodejoin_core::vocabulary::nearest::nearest;
use nodejoin_docker::{DockerError, Engine, Images};
use nodejoin_engine::Settings;

use crate::process;
use crate::run_args::RunOptions;

/// Checks the files of the command line.
///
/// # Errors
/// The exit code for an invalid command line; the reason is printed.
pub(crate) fn files(args: &RunOptions, artifacts: &Path) -> Result<(), ExitCode> {
    reports([&args.junit, &args.summary, &args.outputs])?;
    let folder = writable_folder(artifacts);
    check(
        artifacts,
        "write to",
        folder,
        "set `--artifacts-dir` to a writable folder",
    )?;
    let Some(kubeconfig) = &args.external.kubeconfig else {
        return Ok(());
    };
    let read = fs::read(kubeconfig).map(drop);
    check(
        kubeconfig,
        "read",
        read,
        "name the kubeconfig of a running cluster",
    )
}

/// Checks that the files of the command line can be written.
///
/// # Errors
/// As of [`files`].
pub(crate) fn reports<const N: usize>(reports: [&Option<PathBuf>; N]) -> Result<(), ExitCode> {
    let mut named = reports.into_iter().flatten();
    named.try_for_each(|file| check(file, "write", writable(file), "name a file in a writable folder"))
}

fn check(path: &Path, verb: &str, result: io::Result<()>, hint: &str) -> Result<(), ExitCode> {
    result.map_err(|error| {
        let what = format!("could not {verb} `{}`", path.display());
        process::report_error(&what, &error, Some(hint.to_owned()));
        ExitCode::Usage
    })
}

/// Opens a file as a report will, without changing its content. A file that did not exist is removed again.
fn writable(file: &Path) -> io::Result<()> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.map_or(Ok(()), fs::create_dir_all)?;
    match OpenOptions::new().create_new(true).write(true).open(file) {
        Ok(_) => fs::remove_file(file),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            OpenOptions::new().append(true).open(file).map(drop)
        }
        Err(error) => Err(error),
    }
}

/// Creates the folder, and a file in it that is removed again.
fn writable_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    writable(&folder.join(format!(".writable-{}", std::process::id())))
}

/// Checks what plans request from elsewhere: that some source has each version of Kubernetes, and the container engine
/// an image of at least one plan.
///
/// # Errors
/// The exit code of an invalid command line, or of a host whose engine refuses requests; the reason is printed.
pub(crate) async fn sources(engine: &Engine, settings: &Settings, plans: &[Plan]) -> Result<(), ExitCode> {
    let images = Images::new(engine.clone(), settings.images.clone(), Arc::new(|_| ()));
    for version in versions(settings.control_plane.unwrap_or_default(), plans) {
        let checked = images.check_version(version).await;
        checked.map_err(|error| unavailable("cannot run the scenarios", &error))?;
    }
    let mut missing = None;
    for plan in plans {
        let ImageSource::Engine(name) = plan.image.source() else {
            return Ok(());
        };
        match images.check_engine_image(name).await {
            Ok(()) => return Ok(()),
            Err(error) => missing = Some(error),
        }
    }
    // One scenario of several with a missing image is an error of that scenario.
    missing.map_or(Ok(()), |error| Err(unavailable("no scenario can run", &error)))
}

/// The versions that a run of plans provides itself, each once.
fn versions(control_plane: ProviderName, plans: &[Plan]) -> Vec<&VersionRequest> {
    let is_own = matches!(control_plane, ProviderName::Local | ProviderName::Kind);
    let mut versions = Vec::new();
    for plan in plans {
        let of_control_plane = plan.requested.kubernetes.as_ref().filter(|_| is_own);
        // Another image may have a kubelet of its own.
        let is_built_in = matches!(plan.image.source(), ImageSource::BuiltIn(_));
        let of_node = plan.requested.of_kubelet().filter(|_| is_built_in);
        for version in of_control_plane.into_iter().chain(of_node) {
            if !versions.contains(&version) {
                versions.push(version);
            }
        }
    }
    versions
}

fn unavailable(what: &str, error: &DockerError) -> ExitCode {
    process::report_error(what, error, error.hint());
    match error {
        DockerError::NoKubernetes { .. } | DockerError::NodeImage { .. } => ExitCode::Usage,
        _ => ExitCode::Host,
    }
}

/// Sets the image of the command line for all plans, which keep their overlays.
pub(crate) fn replace_image(plans: &mut [Plan], image: Option<&Path>) -> Result<(), ScenarioError> {
    let Some(image) = image else {
        return Ok(());
    };
    let given = image_plan(image);
    for plan in &mut *plans {
        plan.change_image(&|image| {
            let overlay = std::mem::take(&mut image.overlay);
            *image = ImagePlan {
                overlay,
                ..given.clone()
            };
        });
    }
    images(plans)
}

/// A name, unless a file or folder with this path exists. Built-in names take precedence over a folder of that name.
fn image_plan(image: &Path) -> ImagePlan {
    let name = image.to_string_lossy();
    match !Images::node_names().iter().any(|known| *known == name) && image.exists() {
        true => ImagePlan::of_rootfs(&std::path::absolute(image).unwrap_or_else(|_| image.to_owned())),
        false => ImagePlan::named(&name),
    }
}

/// Checks that each scenario's node image exists.
pub(crate) fn images(plans: &[Plan]) -> Result<(), ScenarioError> {
    let known = Images::node_names();
    let problems: Vec<Problem> = plans
        .iter()
        .filter(|plan| match plan.image.source() {
            ImageSource::BuiltIn(name) => !known.iter().any(|image| image == name),
            // The run finds them in the engine, or has read them.
            ImageSource::Engine(_) | ImageSource::RootFs(_) => false,
        })
        .map(|plan| unknown_image(plan, &known))
        .collect();
    if problems.is_empty() {
        return Ok(());
    }
    Err(ScenarioError { problems })
}

/// Warns of user data for another AMI family than that of the image, unless the scenario expects that diagnosis.
pub(crate) fn warn_of_other_families(plans: &[Plan]) {
    for warning in plans.iter().filter_map(OtherFamily::warning) {
        note!("{warning}");
    }
}

fn unknown_image(plan: &Plan, known: &[String]) -> Problem {
    let nearest = nearest(&plan.image.name, known.iter().map(String::as_str));
    Problem {
        file: plan.file.clone(),
        position: Position::default(),
        key: "image".to_owned(),
        what: format!("unknown node image `{}`", plan.image.name),
        why: format!(
            "expected one of {}, an image of the container engine as `name:tag`, or `{{ rootfs: FILE }}`",
            known.join(", ")
        ),
        hint: nearest.map(|name| format!("did you mean `{name}`?")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_cannot_be_written_is_found_before_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("reports/junit.xml");
        writable(&file).unwrap();
        assert!(!file.exists(), "nothing remains");
        fs::write(&file, "earlier").unwrap();
        writable(&file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "earlier");
        assert!(writable(&file.join("below-a-file.xml")).is_err());
        assert!(writable_folder(&file).is_err());
        writable_folder(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
