//! `nodejoin images`

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nodejoin_core::kubernetes::VersionRequest;
use nodejoin_core::plan::ProviderName;
use nodejoin_core::run::error_chain::chain;
use nodejoin_core::run::exit_code::ExitCode;
use nodejoin_core::run::matrix::Matrix;
use nodejoin_core::run::time_factor::TimeFactor;
use nodejoin_docker::{DockerError, ImageProgress, ImageRef, Images};
use nodejoin_engine::report::console::{Console, Verbosity};
use nodejoin_engine::run_event;
use parking_lot::Mutex;

use crate::args::{ImagesArgs, ImagesCommand};
use crate::commands::inspect;
use crate::{process, rerun};

/// Builds, lists or removes images.
pub(crate) async fn images(args: ImagesArgs, factor: TimeFactor) -> ExitCode {
    let matrix = match &args.command {
        ImagesCommand::Build { images, .. } => process::matrix(images),
        ImagesCommand::Import { .. } | ImagesCommand::List | ImagesCommand::Prune => Ok(Matrix::default()),
    };
    let matrix = match matrix {
        Ok(matrix) => matrix,
        Err(code) => return code,
    };
    let file = match inspect::settings_file() {
        Ok(file) => file,
        Err(error) => return inspect::refuse(&error),
    };
    let engine = match process::engine(factor).await {
        Ok(engine) => engine,
        Err(code) => return code,
    };
    let console = Arc::new(Mutex::new(Console::new(
        Verbosity::Normal,
        rerun::of_this_process(),
    )));
    let images = Images::new(engine, process::image_settings(), shown_on(&console));
    let ticks = tokio::spawn(tick(console.clone()));
    let done = match args.command {
        ImagesCommand::Build {
            control_plane, nodes, ..
        } => {
            let provider = control_plane.or(file.control_plane).unwrap_or_default();
            build(&images, &matrix, provider, &nodes).await
        }
        ImagesCommand::Import { file } => import(&images, &file).await,
        ImagesCommand::List => list(&images).await,
        ImagesCommand::Prune => prune(&images).await,
    };
    ticks.abort();
    console.lock().end();
    match done {
        Ok(()) => ExitCode::Passed,
        Err(error) => {
            note!("error: {}", chain(&error));
            if let Some(hint) = error.hint() {
                note!("  do: {hint}");
            }
            match error {
                DockerError::NodeImage { .. } => ExitCode::Usage,
                _ => ExitCode::Environment,
            }
        }
    }
}

async fn build(
    images: &Images,
    matrix: &Matrix,
    provider: ProviderName,
    nodes: &[String],
) -> Result<(), DockerError> {
    for versions in matrix.each() {
        let of = |version: Option<&VersionRequest>| {
            version.map_or_else(|| images.clone(), |version| images.with_kubernetes(Some(version)))
        };
        let of_nodes = of(versions.of_kubelet());
        let mut kubelet = String::new();
        for name in nodes {
            let node = of_nodes.node(name).await?;
            print(&node);
            kubelet = node.kubernetes;
        }
        let control_plane_version = versions.kubernetes.as_ref().map_or(kubelet, ToString::to_string);
        let images = of(versions.kubernetes.as_ref());
        if let Some(image) = images.of_control_plane(provider, &control_plane_version).await? {
            print(&image);
        }
    }
    Ok(())
}

async fn import(images: &Images, file: &Path) -> Result<(), DockerError> {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    print(&images.import(&file).await?);
    Ok(())
}

fn print(image: &ImageRef) {
    out!("{} (Kubernetes {})", image.name, image.kubernetes);
}

async fn list(images: &Images) -> Result<(), DockerError> {
    let listed = images.list().await?;
    if listed.is_empty() {
        note!("no images: the first run builds those that it needs, or `nodejoin images build` now");
        return Ok(());
    }
    out!("{}", row(["IMAGE", "ROLE", "KUBERNETES", "STATE", "SIZE", "AGE"]));
    for image in &listed {
        let state = if image.is_current { "current" } else { "stale" };
        let (size, hours) = (image.size as f64 / 1e6, image.age.as_secs() / 3600);
        let (size, age) = (format!("{size:.0} MB"), format!("{hours} h"));
        let kubernetes = image.kubernetes.as_deref().unwrap_or("-");
        out!(
            "{}",
            row([&image.name, &image.role, kubernetes, state, &size, &age])
        );
    }
    if listed.iter().any(|image| !image.is_current) {
        note!(
            "stale: this nodejoin would build or import it anew, and does not use it; `nodejoin images prune` removes it"
        );
    }
    Ok(())
}

fn row([name, role, kubernetes, state, size, age]: [&str; 6]) -> String {
    format!("{name:<40}{role:<15}{kubernetes:<12}{state:<9}{size:>10}{age:>8}")
}

async fn prune(images: &Images) -> Result<(), DockerError> {
    let pruned = images.prune().await?;
    pruned.removed.iter().for_each(|name| out!("removed {name}"));
    pruned
        .left
        .iter()
        .for_each(|name| note!("could not remove: {name}"));
    out!(
        "removed {} images with a total size of {:.0} MB",
        pruned.removed.len(),
        pruned.bytes as f64 / 1e6
    );
    Ok(())
}

/// Shows the progress of builds on a console.
fn shown_on(console: &Arc<Mutex<Console>>) -> ImageProgress {
    let console = console.clone();
    Arc::new(move |event| console.lock().show(&run_event(event)))
}

/// Shows the passing of time until it is dropped.
async fn tick(console: Arc<Mutex<Console>>) {
    let mut second = tokio::time::interval(Duration::from_secs(1));
    loop {
        let now = second.tick().await;
        console.lock().tick(now.into_std());
    }
}
