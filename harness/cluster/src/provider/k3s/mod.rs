//! The provider `k3s`: the server of k3s without its agent, in a container of the image that k3s publishes.

mod read;
mod request;

use std::collections::HashMap;
use std::net::SocketAddrV4;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use nodejoin_core::kubernetes::Minor;
use nodejoin_core::plan::ProviderName;
use nodejoin_docker::ImageRef;

use crate::ClusterError;
use crate::access::Access;
use crate::container::Container;
use crate::provider::{Provider, Running, Site};
use crate::stopwatch::Stopwatch;
use crate::wiring::Wiring;

use request::{API_SERVER_PORT, Request};

/// A server of k3s in a container of this image.
#[derive(Debug, Clone)]
pub struct K3s {
    image: ImageRef,
}

impl K3s {
    /// Of an image that `Images::k3s` found, or one that answers the same command line.
    #[must_use]
    pub fn new(image: ImageRef) -> Self {
        Self { image }
    }

    async fn run(
        &self,
        site: &Site<'_>,
        wiring: &Wiring,
        times: &mut Stopwatch,
    ) -> Result<Running, ClusterError> {
        let request = Request::new(&self.image.name, wiring, Minor::of(&self.image.kubernetes));
        let request = request.into_container(site.run);
        let started = site
            .run
            .start("control-plane", "k3s", site.network, request)
            .await;
        let started = started.map_err(ClusterError::container("start the container of k3s"))?;
        times.lap("container", false);
        let made = read::read(site.run, &started).await?;
        times.lap("certificates of k3s", true);
        // Kubelets are given one CA for everything, as on EKS.
        if made.server_ca.trim() != wiring.pki.cluster.pem().trim() {
            return Err(ClusterError::OtherAuthority {
                image: self.image.name.clone(),
            });
        }
        Ok(Running {
            access: Access::by_authority(
                format!("https://{}:{API_SERVER_PORT}", started.ip),
                made.server_ca.clone(),
                Arc::new(made.client_ca),
            )?,
            endpoint: SocketAddrV4::new(started.ip, API_SERVER_PORT),
            ca_pem: made.server_ca,
            container: Container::new(site.run.clone(), started.id),
            node_labels: HashMap::new(),
            holds: None,
            kubeadm: None,
            foreign: None,
            relay: None,
        })
    }
}

impl Provider for K3s {
    fn name(&self) -> ProviderName {
        ProviderName::K3s
    }

    fn title(&self) -> String {
        let stands_in = self.image.name.contains("k3s-stand-in");
        match stands_in {
            true => format!("k3s (stand-in image {})", self.image.name),
            false => "k3s".to_owned(),
        }
    }

    /// k3s wants to know the address that others reach it by, and looks for it at the default route.
    fn may_be_internal(&self) -> bool {
        false
    }

    fn start<'a>(
        &'a self,
        site: &'a Site<'a>,
        wiring: &'a Wiring,
        times: &'a mut Stopwatch,
    ) -> BoxFuture<'a, Result<Running, ClusterError>> {
        self.run(site, wiring, times).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_the_stand_in_for_k3s() {
        let title = |image: &str| {
            let image = ImageRef {
                name: image.to_owned(),
                kubernetes: "v1.20.2".to_owned(),
            };
            K3s::new(image).title()
        };
        assert_eq!(title("rancher/k3s:v1.32.1-k3s1"), "k3s");
        assert_eq!(
            title("nodejoin/k3s-stand-in:0123456789ab"),
            "k3s (stand-in image nodejoin/k3s-stand-in:0123456789ab)"
        );
    }
}
