//! Pulling an image from wherever its name leads.

use std::time::Duration;

use bollard::body_full;
use bollard::query_parameters::CreateImageOptionsBuilder;
use futures::StreamExt as _;
use tokio::time::timeout;

use crate::engine::Engine;

/// How long a pull that has begun may be silent.
const IDLE: Duration = Duration::from_secs(60);

impl Engine {
    /// Pulls an image, and tells what the engine says of it. A registry that says nothing at all for `limit` counts as none.
    pub(crate) async fn pull(
        &self,
        wanted: &str,
        limit: Duration,
        mut say: impl FnMut(&str) + Send,
    ) -> Result<(), String> {
        let (name, tag) = split(wanted);
        let options = CreateImageOptionsBuilder::new().from_image(name).tag(tag).build();
        let body = body_full(bytes::Bytes::new());
        let mut output = self.docker().create_image(Some(options), Some(body), None);
        let factor = self.time_factor();
        let mut limit = factor.limit(limit);
        let failed = loop {
            match timeout(limit, output.next()).await {
                Err(_) => {
                    break format!(
                        "the registry of `{wanted}` was silent for {} s",
                        limit.as_secs_f32()
                    );
                }
                Ok(None) => return Ok(()),
                Ok(Some(Ok(info))) => say(&format!(
                    "{} {}\n",
                    info.id.unwrap_or_default(),
                    info.status.unwrap_or_default()
                )),
                Ok(Some(Err(error))) => break format!("pulling `{wanted}`: {error}"),
            }
            limit = factor.limit(IDLE);
        };
        say(&format!("{failed}\n"));
        Err(failed)
    }
}

/// Name and tag. A colon before the last slash is a port of the registry.
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
    fn a_port_is_no_tag() {
        assert_eq!(split("rancher/k3s:v1.32.1-k3s1"), ("rancher/k3s", "v1.32.1-k3s1"));
        assert_eq!(split("localhost:5000/k3s"), ("localhost:5000/k3s", "latest"));
    }
}
