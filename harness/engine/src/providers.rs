//! Providers of control planes that need more than images of this repository, and the errors when that is not
//! available.

use nodejoin_cluster::{External, K3s, Provider};
use nodejoin_core::kubernetes::VersionRequest;
use nodejoin_core::plan::ProviderName;
use nodejoin_docker::{DockerError, ImageRef};

use crate::context::RunContext;
use crate::error::EngineError;

impl RunContext {
    /// k3s of the requested version, else of the settings', else of the kubelet's: a newer control plane would test
    /// something else.
    pub(crate) async fn k3s(
        &self,
        requested: Option<&VersionRequest>,
        node: &ImageRef,
    ) -> Result<Box<dyn Provider>, EngineError> {
        let images = self.images_of(requested);
        let requested = requested.map(ToString::to_string);
        let version = requested
            .as_deref()
            .or(self.settings.images.kubernetes.as_deref());
        let image = images.k3s(version.unwrap_or(&node.kubernetes)).await;
        let image = image.map_err(|error| unavailable(ProviderName::K3s, error))?;
        Ok(Box::new(K3s::new(image)))
    }

    /// The cluster of the kubeconfig in the settings.
    pub(crate) fn external(&self) -> Result<Box<dyn Provider>, EngineError> {
        let settings = self.settings.external.clone();
        if settings.kubeconfig.is_empty() {
            return Err(EngineError::Unavailable {
                name: ProviderName::External,
                reason: "missing kubeconfig".to_owned(),
                hint: "pass a file with `--kubeconfig` or KUBECONFIG".to_owned(),
            });
        }
        Ok(Box::new(External::new(settings)?))
    }
}

/// A missing image of another publisher makes the control plane unavailable; it is not an error of the container
/// engine.
fn unavailable(name: ProviderName, error: DockerError) -> EngineError {
    match error {
        DockerError::NotPulled { .. } => EngineError::Unavailable {
            name,
            reason: error.to_string(),
            hint: error.hint().unwrap_or_default(),
        },
        other => EngineError::Docker(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_cannot_be_pulled_makes_the_control_plane_unavailable() {
        let error = DockerError::NotPulled {
            image: "rancher/k3s:v1.32.1-k3s1".to_owned(),
            reason: "no such host".to_owned(),
        };
        let error = unavailable(ProviderName::K3s, error);
        let text = error.to_string();
        assert!(
            text.starts_with("the control plane `k3s` is not available: image `rancher/k3s:v1.32.1-k3s1`"),
            "{text}"
        );
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.contains("NODEJOIN_K3S_IMAGE"))
        );
    }
}
