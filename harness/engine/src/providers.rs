//! Providers that are not made from images of our own alone: what they need, and what is said where it cannot be had.

use nodejoin_cluster::{External, K3s, Provider};
use nodejoin_core::kubernetes::VersionAsk;
use nodejoin_core::plan::ProviderName;
use nodejoin_docker::{DockerError, ImageRef};

use crate::error::EngineError;
use crate::harness::Harness;

impl Harness {
    /// k3s of the version that is asked for, else of the kubelet's: a control plane that is newer is another question.
    pub(crate) async fn k3s(
        &self,
        asked: Option<&VersionAsk>,
        node: &ImageRef,
    ) -> Result<Box<dyn Provider>, EngineError> {
        let images = self.images_of(asked);
        let asked = asked.map(ToString::to_string);
        let wanted = asked.as_deref().or(self.settings.images.kubernetes.as_deref());
        let image = images.k3s(wanted.unwrap_or(&node.kubernetes)).await;
        let image = image.map_err(|error| unavailable(ProviderName::K3s, error))?;
        Ok(Box::new(K3s::new(image)))
    }

    /// The cluster of the user's kubeconfig.
    pub(crate) fn external(&self) -> Result<Box<dyn Provider>, EngineError> {
        let settings = self.settings.external.clone();
        if settings.kubeconfig.is_empty() {
            return Err(EngineError::Unavailable {
                name: ProviderName::External,
                reason: "no kubeconfig was given".to_owned(),
                hint: "name a file with `--kubeconfig` or KUBECONFIG".to_owned(),
            });
        }
        Ok(Box::new(External::new(settings)?))
    }
}

/// An image that others publish and that is not here is no fault of this host.
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
    fn an_image_that_cannot_be_pulled_is_a_provider_that_is_not_here() {
        let error = DockerError::NotPulled {
            image: "rancher/k3s:v1.32.1-k3s1".to_owned(),
            reason: "no such host".to_owned(),
        };
        let error = unavailable(ProviderName::K3s, error);
        assert_eq!(
            error.to_string(),
            "the control plane `k3s` cannot be had here: image `rancher/k3s:v1.32.1-k3s1` is missing and could not be pulled: \
             no such host"
        );
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.contains("NODEJOIN_K3S_IMAGE"))
        );
    }
}
