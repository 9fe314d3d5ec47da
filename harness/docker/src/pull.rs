//! Pulls of images from their registries.

use std::time::Duration;

use bollard::body_full;
use bollard::query_parameters::CreateImageOptionsBuilder;
use futures::StreamExt as _;
use tokio::time::timeout;

use crate::engine::Engine;

/// Timeout between two messages of a pull in progress.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

impl Engine {
    /// Pulls an image and passes the engine's progress messages to `on_output`. Fails if the registry sends no message
    /// for `first_timeout`.
    pub(crate) async fn pull(
        &self,
        image: &str,
        first_timeout: Duration,
        mut on_output: impl FnMut(&str) + Send,
    ) -> Result<(), String> {
        let (name, tag) = split(image);
        let options = CreateImageOptionsBuilder::new().from_image(name).tag(tag).build();
        let body = body_full(bytes::Bytes::new());
        let mut output = self.docker().create_image(Some(options), Some(body), None);
        let factor = self.time_factor();
        let mut limit = factor.scale(first_timeout);
        let failed = loop {
            match timeout(limit, output.next()).await {
                Err(_) => {
                    break format!(
                        "the registry of `{image}` did not respond for {} s",
                        limit.as_secs_f32()
                    );
                }
                Ok(None) => return Ok(()),
                Ok(Some(Ok(info))) => on_output(&format!(
                    "{} {}\n",
                    info.id.unwrap_or_default(),
                    info.status.unwrap_or_default()
                )),
                Ok(Some(Err(error))) => break format!("could not pull `{image}`: {error}"),
            }
            limit = factor.scale(IDLE_TIMEOUT);
        };
        on_output(&format!("{failed}\n"));
        Err(failed)
    }
}

/// Splits an image into name and tag. A colon before the last slash separates the port of the registry.
fn split(image: &str) -> (&str, &str) {
    image
        .rsplit_once(':')
        .filter(|(_, tag)| !tag.contains('/'))
        .unwrap_or((image, "latest"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_port_is_not_a_tag() {
        assert_eq!(split("rancher/k3s:v1.32.1-k3s1"), ("rancher/k3s", "v1.32.1-k3s1"));
        assert_eq!(split("localhost:5000/k3s"), ("localhost:5000/k3s", "latest"));
    }
}
