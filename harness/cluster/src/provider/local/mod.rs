//! The provider `local`: etcd, kube-apiserver and kube-controller-manager in one container of the harness.

mod settings;

use std::collections::HashMap;
use std::net::SocketAddrV4;
use std::sync::Arc;

use futures::FutureExt as _;
use nodejoin_core::kubernetes::Minor;
use nodejoin_core::plan::ProviderName;
use nodejoin_docker::ImageRef;
use testcontainers::core::Mount;
use testcontainers::{ContainerRequest, GenericImage, ImageExt as _};

use super::definition::{Capabilities, ProviderInputs, ProviderKind};
use super::{Provider, StartContext, StartedApiServer, Starting};
use crate::ClusterError;
use crate::api_server::access::Access;
use crate::api_server::container::ApiServerContainer;
use crate::client_certificates::kubeadm::Kubeadm;
use crate::install::{Install, OwnInstall};
use crate::pki::CLUSTER_ENDPOINT;
use crate::wiring::ApiServerWiring;

pub(super) const KIND: ProviderKind = ProviderKind {
    name: ProviderName::Local,
    capabilities: Capabilities {
        internal_network: true,
        restarts_api_server: true,
        nodes_start_before: true,
        client_certificates: true,
    },
    build: |inputs| build(inputs).boxed(),
};

async fn build(inputs: ProviderInputs<'_>) -> Result<Box<dyn Provider>, ClusterError> {
    let image = inputs.image(KIND.name).await?;
    Ok(Box::new(LocalProvider { image }))
}

/// A control plane in a container of this image.
#[derive(Debug, Clone)]
struct LocalProvider {
    image: ImageRef,
}

impl LocalProvider {
    fn container(&self, wiring: &ApiServerWiring) -> Result<ContainerRequest<GenericImage>, ClusterError> {
        let files = settings::files(wiring, Minor::of(&self.image.kubernetes));
        let archive = settings::archive(&files).map_err(ClusterError::container("pack the settings"))?;
        let (name, tag) = self
            .image
            .name
            .rsplit_once(':')
            .unwrap_or((&self.image.name, "latest"));
        Ok(GenericImage::new(name, tag)
            .with_mount(Mount::tmpfs_mount("/var/lib/etcd"))
            // Sets redirections to the containers of nodes.
            .with_cap_add("NET_ADMIN")
            .with_copy_to(settings::ARCHIVE, archive))
    }

    async fn run(&self, context: StartContext<'_>) -> Result<StartedApiServer, ClusterError> {
        let request = self.container(context.wiring)?;
        let started = context
            .run
            .start("control-plane", "control-plane", context.network, request)
            .await;
        let started = started.map_err(ClusterError::container("start the control plane's container"))?;
        context.times.lap("container", false);
        let cluster_ca = &context.wiring.pki.cluster;
        Ok(StartedApiServer {
            access: Access::by_client_certificates(
                format!("https://{}:{}", started.ip, settings::SECURE_PORT),
                cluster_ca.pem().to_owned(),
                Arc::clone(cluster_ca),
            )?,
            endpoint: SocketAddrV4::new(started.ip, settings::SECURE_PORT),
            ca_pem: cluster_ca.pem().to_owned(),
            node_labels: HashMap::new(),
            install: Install::Own(OwnInstall {
                container: ApiServerContainer::new(context.run.clone(), started.id),
                kubeadm: Some(Kubeadm {
                    host: CLUSTER_ENDPOINT.to_owned(),
                    port: settings::SECURE_PORT,
                    created_by_kubeadm: false,
                }),
                files: None,
                readyz: settings::READYZ,
            }),
        })
    }
}

impl Provider for LocalProvider {
    fn image(&self) -> Option<&str> {
        Some(&self.image.name)
    }

    fn name(&self) -> ProviderName {
        KIND.name
    }

    fn start<'a>(&'a self, context: StartContext<'a>) -> Starting<'a> {
        self.run(context).boxed()
    }
}
