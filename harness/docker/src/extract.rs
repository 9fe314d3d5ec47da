//! A file out of an image.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::engine::Engine;
use crate::error::DockerError;
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
}
