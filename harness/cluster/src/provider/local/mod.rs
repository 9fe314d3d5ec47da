//! The provider `local`: etcd, kube-apiserver and kube-controller-manager in one container of the harness's own.

mod settings;

use std::collections::HashMap;
use std::net::SocketAddrV4;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use nodejoin_core::kubernetes::Minor;
use nodejoin_core::plan::ProviderName;
use nodejoin_docker::ImageRef;
use testcontainers::core::Mount;
use testcontainers::{ContainerRequest, GenericImage, ImageExt as _};

use crate::ClusterError;
use crate::access::Access;
use crate::container::Container;
use crate::kubeadm::Kubeadm;
use crate::pki::CLUSTER_ENDPOINT;
use crate::provider::{Provider, Running, Site};
use crate::stopwatch::Stopwatch;
use crate::wiring::Wiring;

/// A control plane in a container of this image.
#[derive(Debug, Clone)]
pub struct Local {
    image: ImageRef,
}

impl Local {
    /// Of an image that `Images::control_plane` made.
    #[must_use]
    pub fn new(image: ImageRef) -> Self {
        Self { image }
    }

    /// What the container gets beside its image and network.
    fn request(&self, wiring: &Wiring) -> Result<ContainerRequest<GenericImage>, ClusterError> {
        let files = settings::files(wiring, Minor::of(&self.image.kubernetes));
        let archive = settings::archive(&files).map_err(ClusterError::container("pack the settings"))?;
        let (name, tag) = self
            .image
            .name
            .rsplit_once(':')
            .unwrap_or((&self.image.name, "latest"));
        Ok(GenericImage::new(name, tag)
            .with_mount(Mount::tmpfs_mount("/var/lib/etcd"))
            // Redirections to the containers of nodes are set from inside.
            .with_cap_add("NET_ADMIN")
            .with_copy_to(settings::ARCHIVE, archive))
    }

    async fn run(
        &self,
        site: &Site<'_>,
        wiring: &Wiring,
        times: &mut Stopwatch,
    ) -> Result<Running, ClusterError> {
        let request = self.request(wiring)?;
        let started = site
            .run
            .start("control-plane", "control-plane", site.network, request)
            .await;
        let started = started.map_err(ClusterError::container("start the control plane's container"))?;
        times.lap("container", false);
        Ok(Running {
            access: Access::by_authority(
                format!("https://{}:{}", started.ip, settings::SECURE_PORT),
                wiring.pki.cluster.pem().to_owned(),
                Arc::clone(&wiring.pki.cluster),
            )?,
            endpoint: SocketAddrV4::new(started.ip, settings::SECURE_PORT),
            ca_pem: wiring.pki.cluster.pem().to_owned(),
            container: Container::new(site.run.clone(), started.id),
            node_labels: HashMap::new(),
            holds: None,
            foreign: None,
            relay: None,
            kubeadm: Some(Kubeadm {
                host: CLUSTER_ENDPOINT.to_owned(),
                port: settings::SECURE_PORT,
                is_real: false,
            }),
        })
    }
}

impl Provider for Local {
    fn name(&self) -> ProviderName {
        ProviderName::Local
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
