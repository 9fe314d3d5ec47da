//! The provider `k3s`: the server of k3s without its agent, in a container of the image that k3s publishes.

mod container;
mod read;

use std::collections::HashMap;
use std::net::SocketAddrV4;
use std::sync::Arc;

use futures::FutureExt as _;
use nodejoin_core::kubernetes::Minor;
use nodejoin_core::plan::ProviderName;
use nodejoin_docker::{DockerError, ImageRef};

use super::definition::{Capabilities, ProviderInputs, ProviderKind};
use super::{Provider, StartContext, StartedApiServer, Starting};
use crate::ClusterError;
use crate::api_server::access::{Access, READYZ};
use crate::api_server::container::ApiServerContainer;
use crate::install::{Install, OwnInstall};

use container::{API_SERVER_PORT, K3sContainer};

pub(super) const KIND: ProviderKind = ProviderKind {
    name: ProviderName::K3s,
    capabilities: Capabilities {
        // k3s reads its own address from the default route.
        internal_network: false,
        restarts_api_server: false,
        nodes_start_before: false,
        client_certificates: false,
    },
    build: |inputs| build(inputs).boxed(),
};

async fn build(inputs: ProviderInputs<'_>) -> Result<Box<dyn Provider>, ClusterError> {
    let image = inputs.image(KIND.name).await.map_err(unavailable)?;
    Ok(Box::new(K3sProvider { image }))
}

/// A missing image that others publish makes the provider unavailable; other errors are this host's.
fn unavailable(error: ClusterError) -> ClusterError {
    match &error {
        ClusterError::Image(DockerError::NotPulled { .. }) => ClusterError::Unavailable {
            name: KIND.name,
            reason: error.to_string(),
            hint: error.hint().unwrap_or_default(),
        },
        _ => error,
    }
}

/// A k3s server in a container of this image.
#[derive(Debug, Clone)]
struct K3sProvider {
    image: ImageRef,
}

impl K3sProvider {
    async fn run(&self, context: StartContext<'_>) -> Result<StartedApiServer, ClusterError> {
        let request = K3sContainer::new(
            &self.image.name,
            context.wiring,
            Minor::of(&self.image.kubernetes),
        );
        let request = request.into_request(context.run);
        let started = context
            .run
            .start("control-plane", "k3s", context.network, request)
            .await;
        let started = started.map_err(ClusterError::container("start the container of k3s"))?;
        context.times.lap("container", false);
        let authorities = read::authorities(context.run, &started).await?;
        context.times.lap("certificates of k3s", true);
        // Like on EKS, kubelets get one CA for all purposes.
        if authorities.server_ca.trim() != context.wiring.pki.cluster.pem().trim() {
            return Err(ClusterError::OtherAuthority {
                image: self.image.name.clone(),
            });
        }
        Ok(StartedApiServer {
            access: Access::by_client_certificates(
                format!("https://{}:{API_SERVER_PORT}", started.ip),
                authorities.server_ca.clone(),
                Arc::new(authorities.client_ca),
            )?,
            endpoint: SocketAddrV4::new(started.ip, API_SERVER_PORT),
            ca_pem: authorities.server_ca,
            node_labels: HashMap::new(),
            install: Install::Own(OwnInstall {
                container: ApiServerContainer::new(context.run.clone(), started.id),
                kubeadm: None,
                files: None,
                readyz: READYZ,
            }),
        })
    }
}

impl Provider for K3sProvider {
    fn name(&self) -> ProviderName {
        KIND.name
    }

    fn image(&self) -> Option<&str> {
        Some(&self.image.name)
    }

    fn title(&self) -> String {
        let is_stand_in = self.image.name.contains("k3s-stand-in");
        match is_stand_in {
            true => format!("{} (stand-in image {})", KIND.name, self.image.name),
            false => KIND.name.to_string(),
        }
    }

    fn start<'a>(&'a self, context: StartContext<'a>) -> Starting<'a> {
        self.run(context).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_names_a_stand_in_image() {
        let title = |image: &str| {
            let image = ImageRef::own(image, "v1.20.2");
            K3sProvider { image }.title()
        };
        assert_eq!(title("rancher/k3s:v1.32.1-k3s1"), "k3s");
        assert_eq!(
            title("nodejoin/k3s-stand-in:0123456789ab"),
            "k3s (stand-in image nodejoin/k3s-stand-in:0123456789ab)"
        );
    }

    #[test]
    fn a_missing_image_makes_k3s_unavailable() {
        let error = unavailable(ClusterError::Image(DockerError::NotPulled {
            image: "rancher/k3s:v1.32.1-k3s1".to_owned(),
            reason: "no such host".to_owned(),
        }));
        let text = error.to_string();
        assert!(
            text.starts_with("the control plane `k3s` is not available here: ")
                && text.contains("no such host"),
            "{text}"
        );
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.contains("NODEJOIN_K3S_IMAGE"))
        );
    }
}
