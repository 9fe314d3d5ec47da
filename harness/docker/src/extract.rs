//! Content of images: a single file, or the whole image as an archive.

use std::fs::File;
use std::io::{Seek as _, Write as _};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures::StreamExt as _;

use crate::engine::Engine;
use crate::error::{DockerError, status};
use crate::probe::Probe;

impl Engine {
    /// Reads one file of an image with its program `base64`, that of coreutils or of busybox.
    ///
    /// # Errors
    /// When no container starts from the image, or the image has no such file.
    pub async fn read_image_file(
        &self,
        image: &str,
        base64: &str,
        path: &str,
    ) -> Result<Vec<u8>, DockerError> {
        // Base64, because the output of a probe is read as text.
        let (code, text) = Probe::of(image)
            .with_command(&[base64, "-w0", path])
            .run(self)
            .await?;
        let bytes = BASE64_STANDARD.decode(text.trim()).ok().filter(|_| code == 0);
        bytes.ok_or_else(|| DockerError::Unexpected {
            object: format!("image `{image}`"),
            problem: format!(
                "has no readable file `{path}`: {}",
                text.lines().next().unwrap_or_default()
            ),
        })
    }

    /// Saves an image in the format of `docker save` to an unnamed file in the cache folder, which is deleted when it
    /// is closed; `None` if the engine has no image of this name.
    ///
    /// # Errors
    /// When the engine does not export the image, or the file cannot be written.
    pub async fn save_image(&self, image: &str) -> Result<Option<File>, DockerError> {
        let folder = self.cache();
        std::fs::create_dir_all(folder).map_err(DockerError::io("create folder", folder))?;
        let written = |source| DockerError::io("write a file in", folder)(source);
        let mut file = tempfile::tempfile_in(folder).map_err(written)?;
        if let Err(error) = self.docker().inspect_image(image).await {
            return match status(&error) {
                Some(404) => Ok(None),
                _ => Err(DockerError::engine("inspect image", image)(error)),
            };
        }
        let mut archive = std::pin::pin!(self.docker().export_image(image));
        while let Some(chunk) = archive.next().await {
            let chunk = chunk.map_err(DockerError::engine("save image", image))?;
            file.write_all(&chunk).map_err(written)?;
        }
        file.rewind().map_err(written)?;
        Ok(Some(file))
    }
}
