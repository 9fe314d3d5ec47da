//! What the fake registry serves: the pause image and a test image, both made of the node image's own static busybox.

use std::path::Path;

use nodejoin_docker::{ImageRef, Run};
use nodejoin_fake_aws::{RegistryImage, busybox_images};

use crate::error::EngineError;

/// Where Debian's busybox-static puts it.
const BUSYBOX: &str = "/bin/busybox";

/// The images. The busybox is taken out of the node image once, and kept in the cache folder under that image's name.
pub(crate) async fn images(
    run: &Run,
    node: &ImageRef,
    cache: &Path,
) -> Result<Vec<RegistryImage>, EngineError> {
    let kept = cache.join("busybox").join(node.name.replace(['/', ':'], "-"));
    let busybox = match std::fs::read(&kept) {
        Ok(bytes) => bytes,
        Err(_) => {
            let bytes = run.engine().file_of_image(&node.name, BUSYBOX).await?;
            keep(&kept, &bytes)?;
            bytes
        }
    };
    busybox_images(&busybox).map_err(EngineError::Fakes)
}

/// Written beside and renamed: another run may look at the same time.
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
