//! The provider `kind`: the program `kind` creates a cluster of one node, whose API server gets the wiring.
//!
//! ```text
//! definition ─┐
//! CA, wiring ─┼─> kind create cluster ──docker shim──> node container ──> kubeadm ──> API server :6443
//! node image ─┘     own network, own kubeconfig          the run's labels and kind's
//! ```
//!
//! | file | question |
//! | --- | --- |
//! | `program` | which kind, and is it new enough? |
//! | `definition` | what is in the cluster definition? |
//! | `folder` | which files does the cluster need on this machine? |
//! | `shim` | how does kind call docker? |
//! | `command` | how does kind start and end? |

mod command;
mod definition;
mod folder;
mod program;
mod shim;

use std::collections::HashMap;
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::DeleteParams;
use kube::{Api, Client};
use nodejoin_core::kubernetes::Minor;
use nodejoin_core::plan::ProviderName;
use nodejoin_docker::{ImageRef, Run, StartedContainer};

use super::definition::{Capabilities, ProviderInputs, ProviderKind};
use super::{Provider, StartContext, StartedApiServer, Starting};
use crate::ClusterError;
use crate::api_server::access::{Access, READYZ};
use crate::api_server::container::ApiServerContainer;
use crate::api_server::objects::deleted;
use crate::client_certificates::kubeadm::Kubeadm;
use crate::install::{Install, OwnInstall};
use crate::pki::api_server_names;
use crate::wiring::ApiServerWiring;
use command::{KindCommand, KindTimeouts};
use definition::{ClusterDefinition, WIRING};
use folder::{ClusterFolder, remove_old_logs};
use program::KindProgram;
use shim::{Shim, end_runs};

pub(super) const KIND: ProviderKind = ProviderKind {
    name: ProviderName::Kind,
    capabilities: Capabilities {
        // kind reads the published port, and an internal network publishes none.
        internal_network: false,
        restarts_api_server: false,
        nodes_start_before: false,
        client_certificates: true,
    },
    build: |inputs| build(inputs).boxed(),
};

/// Pods of kubeadm and published node images that are not part of a control plane.
const FOR_NODES: [(&str, &str); 2] = [
    ("kube-system", "coredns"),
    ("local-path-storage", "local-path-provisioner"),
];

/// Confines the node to its network: the gateway of this default route does not exist.
const CONFINE: [&str; 9] = [
    "ip",
    "route",
    "replace",
    "default",
    "via",
    nodejoin_core::plan::link_local::UNREACHABLE,
    "dev",
    "eth0",
    "onlink",
];

const DOCKER: &str = "bin/docker";
/// Each `docker run` of kind has a file here. [`ClusterFolder`] creates the folder.
const RUNS: &str = "runs";
const DEFINITION: &str = "cluster.yaml";
const KUBECONFIG: &str = "kubeconfig";

/// Port of kind's API servers.
const SECURE_PORT: u16 = 6443;
/// Until kind has created the cluster, also on a slow disk or a busy machine.
const CREATE_TIMEOUT: Duration = Duration::from_secs(300);
/// Until the engine has created a container.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(60);

async fn build(inputs: ProviderInputs<'_>) -> Result<Box<dyn Provider>, ClusterError> {
    // Before the image: without the program, its build would be for nothing.
    let program = KindProgram::find(inputs.settings, inputs.time_factor).await?;
    let image = inputs.image(KIND.name).await?;
    Ok(Box::new(KindProvider {
        program,
        image,
        cache: inputs.settings.cache.join("kind"),
    }))
}

/// A kind cluster with one node of this image.
#[derive(Debug, Clone)]
struct KindProvider {
    program: KindProgram,
    image: ImageRef,
    /// Folder for the files of clusters and the output of kind.
    cache: PathBuf,
}

impl KindProvider {
    async fn run(&self, context: StartContext<'_>) -> Result<StartedApiServer, ClusterError> {
        let StartContext {
            run,
            network,
            wiring,
            endpoint,
            times,
        } = context;
        let cluster = network.name.as_str();
        let folder = ClusterFolder::create(self.cache.join(cluster), wiring)?;
        if let Err(error) = remove_old_logs(&self.cache) {
            tracing::warn!(%error, cache = %self.cache.display(), "could not remove old logs of kind");
        }
        let log = self.cache.join(format!("{cluster}.log"));
        self.write_files(run, wiring, endpoint, &folder).await?;
        let node = format!("{cluster}-control-plane");
        run.track_external(&node, network)
            .map_err(ClusterError::container("create the cluster's node"))?;
        times.lap("files of the cluster", false);
        let factor = run.engine().time_factor();
        let timeouts = KindTimeouts {
            create: factor.scale(CREATE_TIMEOUT),
            settle: factor.scale(SETTLE_TIMEOUT),
        };
        let command = self.command(run, cluster, &folder, &log);
        let runs = folder.file(RUNS);
        let settled = async move {
            if let Err(error) = end_runs(&runs).await {
                tracing::warn!(%error, "could not wait for the engine, which may still create the cluster's node");
            }
        };
        // kind uses the folder as long as it runs.
        let work = |ending| async move { (command.run(timeouts, ending, settled).await, folder) };
        let (created, folder) = run.run_uncancelled(work).await;
        if let Err(error) = created {
            // Removes what kind left of the node. The run's own removal then finds nothing.
            let _ = run.remove(&node).await;
            return Err(error);
        }
        let _ = std::fs::remove_file(&log);
        times.lap("kind create cluster", true);
        let started = run.tracked_container(&node, network).await;
        let started = started.map_err(ClusterError::container("find the cluster's node"))?;
        self.started(run, cluster, wiring, folder, started).await
    }

    /// Writes the cluster definition and the docker shim.
    async fn write_files(
        &self,
        run: &Run,
        wiring: &ApiServerWiring,
        endpoint: Option<&str>,
        folder: &ClusterFolder,
    ) -> Result<(), ClusterError> {
        let engine = run.engine();
        let privileges = engine.privileges(&self.image.name, "cat").await;
        let mut labels = run.labels("control-plane");
        labels.extend([run.folder_label(folder.path())]);
        let shim = Shim {
            runs: folder.file(RUNS),
            labels,
            volume_labels: run.labels("volume"),
            privileges: privileges.map_err(ClusterError::container("check the privileges of containers"))?,
        };
        let minor = Minor::of(&self.image.kubernetes);
        let definition = ClusterDefinition {
            image: self.image.name.clone(),
            minor,
            folder: folder.path().display().to_string(),
            api_server: wiring.api_server_flags(WIRING, minor),
            names: api_server_names(endpoint),
            cgroup_v1: engine.facts().cgroup_version == 1,
        };
        folder.write_program(DOCKER, &shim.script(&self.program.docker))?;
        folder.write(DEFINITION, &definition.render())?;
        Ok(())
    }

    fn command(&self, run: &Run, cluster: &str, folder: &ClusterFolder, log: &Path) -> KindCommand {
        let (definition, kubeconfig) = (folder.file(DEFINITION), folder.file(KUBECONFIG));
        let command = KindCommand::new(&self.program.kind, cluster, log.to_owned())
            .args(["create", "cluster", "--name", cluster])
            .args(["--config", &definition.to_string_lossy()])
            // Never the user's kubeconfig.
            .args(["--kubeconfig", &kubeconfig.to_string_lossy()])
            .env("KUBECONFIG", &kubeconfig)
            .env("KIND_EXPERIMENTAL_DOCKER_NETWORK", cluster)
            .env("PATH", path_with(&folder.file("bin")));
        // With this storage driver a published node image uses the snapshotter of the same name, which it does not
        // have. Its volume is not on an overlay, so overlayfs works.
        match run.engine().facts().storage_driver.as_str() {
            "fuse-overlayfs" => command.env("KIND_EXPERIMENTAL_CONTAINERD_SNAPSHOTTER", "overlayfs"),
            _ => command,
        }
    }

    async fn started(
        &self,
        run: &Run,
        cluster: &str,
        wiring: &ApiServerWiring,
        folder: ClusterFolder,
        node: StartedContainer,
    ) -> Result<StartedApiServer, ClusterError> {
        let container = ApiServerContainer::new(run.clone(), node.id);
        container.run(&CONFINE).await?;
        let ca_pem = wiring.pki.cluster.pem().to_owned();
        let endpoint = SocketAddrV4::new(node.ip, SECURE_PORT);
        let access = Access::by_client_certificates(
            format!("https://{endpoint}"),
            ca_pem.clone(),
            Arc::clone(&wiring.pki.cluster),
        )?;
        remove_workloads(access.admin().await?).await?;
        Ok(StartedApiServer {
            access,
            endpoint,
            ca_pem,
            node_labels: HashMap::from([
                ("io.x-k8s.kind.cluster".to_owned(), cluster.to_owned()),
                ("io.x-k8s.kind.role".to_owned(), "worker".to_owned()),
            ]),
            install: Install::Own(OwnInstall {
                container,
                kubeadm: Some(Kubeadm {
                    host: format!("{cluster}-control-plane"),
                    port: SECURE_PORT,
                    created_by_kubeadm: true,
                }),
                files: Some(Box::new(folder)),
                readyz: READYZ,
            }),
        })
    }
}

impl Provider for KindProvider {
    fn name(&self) -> ProviderName {
        KIND.name
    }

    fn start<'a>(&'a self, context: StartContext<'a>) -> Starting<'a> {
        self.run(context).boxed()
    }

    fn image(&self) -> Option<&str> {
        Some(&self.image.name)
    }
}

/// Removes Deployments that would run on the nodes under test. On EKS the cluster's owner installs them.
async fn remove_workloads(client: Client) -> Result<(), ClusterError> {
    for (namespace, name) in FOR_NODES {
        let api = Api::<Deployment>::namespaced(client.clone(), namespace);
        let result = api.delete(name, &DeleteParams::background()).await;
        deleted(result, "Deployment", name)?;
    }
    Ok(())
}

/// PATH with this folder first.
fn path_with(folder: &Path) -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    // A folder with a colon in its name cannot be on PATH. kind then finds the real docker, which reports the error.
    std::env::join_paths(folders).unwrap_or(path)
}
