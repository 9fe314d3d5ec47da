//! Images of the fake registry: the pause image and a test image, both made of the node image's static busybox, and the
//! images that the scenario lists.

use std::fs::File;
use std::path::Path;

use nodejoin_core::image_archive::{ImageArchive, NotAnImage};
use nodejoin_core::input::problem::{Problem, ScenarioError};
use nodejoin_core::plan::Plan;
use nodejoin_core::plan::architecture::Architecture;
use nodejoin_core::plan::aws::StoredImage;
use nodejoin_docker::{Engine, ImageRef, Run, TOOLS};
use nodejoin_fake_aws::{RegistryImage, busybox_images};

use crate::error::EngineError;

/// Path in Debian's package busybox-static.
const BUSYBOX: &str = "/bin/busybox";

/// The images of every scenario. Copies busybox out of the node image once, into the cache folder under that image's
/// name.
pub(crate) async fn images(
    run: &Run,
    node: &ImageRef,
    cache: &Path,
) -> Result<Vec<RegistryImage>, EngineError> {
    let kept = cache.join("busybox").join(node.name.replace(['/', ':'], "-"));
    let busybox = match std::fs::read(&kept) {
        Ok(bytes) => bytes,
        Err(_) => {
            let (base64, busybox) = match node.facts {
                None => ("base64".to_owned(), BUSYBOX.to_owned()),
                // The programs of the harness: the image may lack them.
                Some(_) => (format!("{TOOLS}/base64"), format!("{TOOLS}/busybox")),
            };
            let bytes = run
                .engine()
                .read_image_file(&node.name, &base64, &busybox)
                .await?;
            keep(&kept, &bytes)?;
            bytes
        }
    };
    busybox_images(&busybox).map_err(EngineError::Fakes)
}

/// Writes a temporary file and renames it: another run may read the path at the same time.
fn keep(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    let beside = path.with_extension(std::process::id().to_string());
    let write = || {
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(&beside, bytes)?;
        std::fs::rename(&beside, path)
    };
    write().map_err(|source| EngineError::Write {
        path: path.to_owned(),
        source,
    })
}

/// Whether the plan lists an image of the container engine.
#[must_use]
pub fn needs_engine(plan: &Plan) -> bool {
    let repositories = plan.aws.repositories.iter();
    repositories
        .flat_map(|repository| &repository.images)
        .any(|image| image.engine.is_some())
}

/// The images that the plan lists. `engine` is needed only when [`needs_engine`] returns true.
pub(crate) async fn listed(plan: &Plan, engine: Option<&Engine>) -> Result<Vec<RegistryImage>, EngineError> {
    let mut images = Vec::new();
    for (number, repository) in plan.aws.repositories.iter().enumerate() {
        for (index, image) in repository.images.iter().enumerate() {
            let key = format!("aws.repositories[{number}].images[{index}]");
            let (archive, file) = stored(plan, image, &key, engine).await?;
            let tags = image.tags.clone();
            images.push(RegistryImage::stored(&repository.name, tags, archive, file));
        }
    }
    Ok(images)
}

async fn stored(
    plan: &Plan,
    image: &StoredImage,
    key: &str,
    engine: Option<&Engine>,
) -> Result<(ImageArchive, File), EngineError> {
    let (key, name, file) = match (&image.archive, &image.engine) {
        (Some(path), _) => {
            let key = format!("{key}.archive");
            let opened = File::open(path).map_err(|error| {
                let what = format!("missing file `{path}`: it was removed after the scenario was read");
                problem(plan, &key, what, error.to_string(), String::new())
            });
            (key, path.as_str(), opened?)
        }
        (None, name) => {
            let (key, name) = (format!("{key}.engine"), name.as_deref().unwrap_or_default());
            let file = of_engine(plan, &key, name, engine).await?;
            (key, name, file)
        }
    };
    let (read, file) = tokio::task::spawn_blocking(move || (read(&file), file))
        .await
        .expect("reading an archive does not panic, and the task is not cancelled");
    let archive = read.map_err(|error| {
        let what = format!("`{name}` does not contain an image that the registry can serve");
        problem(plan, &key, what, error.to_string(), error.hint())
    })?;
    Ok((archive, file))
}

fn read(file: &File) -> Result<ImageArchive, NotAnImage> {
    // An unsupported host has its own check; the archive needs only some architecture.
    let here = std::env::consts::ARCH.parse().unwrap_or(Architecture::X86_64);
    ImageArchive::read(file, here)
}

async fn of_engine(plan: &Plan, key: &str, name: &str, engine: Option<&Engine>) -> Result<File, EngineError> {
    let found = match engine {
        Some(engine) => engine.save_image(name).await?,
        None => None,
    };
    found.ok_or_else(|| {
        let what = format!("the container engine has no image `{name}`");
        let hint = format!(
            "create it with `docker pull {name}` or `docker build --tag {name} FOLDER`, or set `archive`"
        );
        problem(plan, key, what, String::new(), hint)
    })
}

fn problem(plan: &Plan, key: &str, what: String, why: String, hint: String) -> EngineError {
    EngineError::Image(ScenarioError {
        problems: vec![Problem {
            file: plan.file.clone(),
            position: plan.sources.images.get(key).copied().unwrap_or_default(),
            key: key.to_owned(),
            what,
            why,
            hint: Some(hint).filter(|hint| !hint.is_empty()),
        }],
    })
}
