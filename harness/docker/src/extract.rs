//! What is taken out of an image: a file of it, or the whole as an archive.

use std::fs::File;
use std::io::{Seek as _, Write as _};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures::StreamExt as _;

use crate::engine::Engine;
use crate::error::{DockerError, status};
use crate::probe::Probe;

impl Engine {
    /// The bytes of one file of an image that has a shell and coreutils.
    ///
    /// # Errors
    /// When the image cannot be started, or has no such file.
    pub async fn file_of_image(&self, image: &str, path: &str) -> Result<Vec<u8>, DockerError> {
        // As text: a probe's output is read as such.
        let (code, text) = Probe::of(image)
            .with_command(&["base64", "-w0", path])
            .run(self)
            .await?;
        let bytes = BASE64_STANDARD.decode(text.trim()).ok().filter(|_| code == 0);
        bytes.ok_or_else(|| DockerError::Unexpected {
            object: format!("image `{image}`"),
            wrong: format!(
                "has no file `{path}` that could be read: {}",
                text.lines().next().unwrap_or_default()
            ),
        })
    }

    /// An image as `docker save` writes it, in a file of the cache folder that nobody else sees and that goes when it is closed;
    /// `None` where the engine has no image of this name.
    ///
    /// # Errors
    /// When the engine does not hand it out, or it cannot be written.
    pub async fn archive_of_image(&self, image: &str) -> Result<Option<File>, DockerError> {
        let folder = self.cache();
        std::fs::create_dir_all(folder).map_err(DockerError::io("make folder", folder))?;
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
