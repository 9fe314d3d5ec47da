//! The provider `kind`: the program `kind` makes a cluster of one node, whose API server is told of the harness.
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
//! | `definition` | what is the cluster told? |
//! | `folder` | which files lie on this machine as long as it is there? |
//! | `shim` | what is docker told of the node's container? |
//! | `command` | how is kind started and ended? |

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
use futures::future::BoxFuture;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::DeleteParams;
use kube::{Api, Client};
use nodejoin_core::kubernetes::Minor;
use nodejoin_core::plan::ProviderName;
use nodejoin_docker::{ImageRef, Run, StartedContainer};

use crate::ClusterError;
use crate::access::Access;
use crate::container::Container;
use crate::kubeadm::Kubeadm;
use crate::pki::api_server_names;
use crate::provider::{Provider, Running, Site};
use crate::stopwatch::Stopwatch;
use crate::wiring::Wiring;
use command::KindCommand;
use definition::{Definition, WIRING};
use folder::{Folder, forget_old_logs};
use shim::Shim;

pub use program::KindProgram;

/// A cluster of kind's, with one node of this image.
#[derive(Debug, Clone)]
pub struct Kind {
    program: KindProgram,
    image: ImageRef,
    /// Where the files of clusters and the output of kind go.
    cache: PathBuf,
}

impl Kind {
    /// By this program, of an image that `Images::kind_node` gave. Files go below the cache folder.
    #[must_use]
    pub fn new(program: KindProgram, image: ImageRef, cache: impl AsRef<Path>) -> Self {
        Self {
            program,
            image,
            cache: cache.as_ref().join("kind"),
        }
    }

    async fn run(
        &self,
        site: &Site<'_>,
        wiring: &Wiring,
        times: &mut Stopwatch,
    ) -> Result<Running, ClusterError> {
        let cluster = site.network.name.as_str();
        let folder = Folder::make(self.cache.join(cluster), wiring)?;
        if let Err(error) = forget_old_logs(&self.cache) {
            tracing::warn!(%error, cache = %self.cache.display(), "old logs of kind stay");
        }
        let log = self.cache.join(format!("{cluster}.log"));
        self.prepare(site, wiring, &folder).await?;
        let node = format!("{cluster}-control-plane");
        site.run
            .track_external(&node, site.network)
            .map_err(ClusterError::container("make the cluster's node"))?;
        times.lap("files of the cluster", false);
        let limit = site.run.engine().time_factor().limit(CREATED_WITHIN);
        let command = self.create(site, &folder, &log);
        let settled = settled(site.run.clone(), node.clone());
        // The folder is kind's as long as kind runs.
        let work = |ending| async move { (command.run(limit, ending, settled).await, folder) };
        let (created, folder) = site.run.run_uncancelled(work).await;
        if let Err(error) = created {
            // What kind left of the node; the run removes it again at its end, in vain.
            let _ = site.run.remove(&node).await;
            return Err(error);
        }
        let _ = std::fs::remove_file(&log);
        times.lap("kind create cluster", true);
        let started = site.run.tracked_container(&node, site.network).await;
        let started = started.map_err(ClusterError::container("find the cluster's node"))?;
        self.running(site, wiring, folder, started).await
    }

    /// Writes the definition, and the `docker` that kind is to find.
    async fn prepare(&self, site: &Site<'_>, wiring: &Wiring, folder: &Folder) -> Result<(), ClusterError> {
        let engine = site.run.engine();
        let privileges = engine.privileges(&self.image.name).await;
        let mut labels = site.run.labels("control-plane");
        labels.extend([site.run.folder_label(folder.path())]);
        let shim = Shim {
            labels,
            volume_labels: site.run.labels("volume"),
            privileges: privileges.map_err(ClusterError::container("ask what containers may do"))?,
        };
        let minor = Minor::of(&self.image.kubernetes);
        let definition = Definition {
            image: self.image.name.clone(),
            minor,
            folder: folder.path().display().to_string(),
            api_server: wiring.api_server_flags(WIRING, minor),
            names: api_server_names(),
            cgroup_v1: engine.facts().cgroup_version == 1,
        };
        folder.write_program(DOCKER, &shim.script(&self.program.docker))?;
        folder.write(DEFINITION, &definition.render())?;
        Ok(())
    }

    fn create(&self, site: &Site<'_>, folder: &Folder, log: &Path) -> KindCommand {
        let cluster = site.network.name.as_str();
        let (definition, kubeconfig) = (folder.file(DEFINITION), folder.file(KUBECONFIG));
        let command = KindCommand::new(&self.program.kind, cluster, log.to_owned())
            .args(["create", "cluster", "--name", cluster])
            .args(["--config", &definition.to_string_lossy()])
            // Never the user's own.
            .args(["--kubeconfig", &kubeconfig.to_string_lossy()])
            .env("KUBECONFIG", &kubeconfig)
            .env("KIND_EXPERIMENTAL_DOCKER_NETWORK", cluster)
            .env("PATH", path_with(&folder.file("bin")));
        // On such an engine a published node image takes the snapshotter of the same name, which it has not got; its volume is
        // no overlay.
        match site.run.engine().facts().storage_driver.as_str() {
            "fuse-overlayfs" => command.env("KIND_EXPERIMENTAL_CONTAINERD_SNAPSHOTTER", "overlayfs"),
            _ => command,
        }
    }

    async fn running(
        &self,
        site: &Site<'_>,
        wiring: &Wiring,
        folder: Folder,
        node: StartedContainer,
    ) -> Result<Running, ClusterError> {
        let container = Container::new(site.run.clone(), node.id);
        container.run(&CONFINE).await?;
        let ca_pem = wiring.pki.cluster.pem().to_owned();
        let endpoint = SocketAddrV4::new(node.ip, SECURE_PORT);
        let access = Access::by_authority(
            format!("https://{endpoint}"),
            ca_pem.clone(),
            Arc::clone(&wiring.pki.cluster),
        )?;
        nothing_for_nodes(access.admin().await?).await?;
        let node_name = format!("{}-control-plane", site.network.name);
        Ok(Running {
            access,
            endpoint,
            ca_pem,
            container,
            node_labels: HashMap::from([
                ("io.x-k8s.kind.cluster".to_owned(), site.network.name.clone()),
                ("io.x-k8s.kind.role".to_owned(), "worker".to_owned()),
            ]),
            holds: Some(Box::new(folder)),
            foreign: None,
            relay: None,
            kubeadm: Some(Kubeadm {
                host: node_name,
                port: SECURE_PORT,
                is_real: true,
            }),
        })
    }
}

impl Provider for Kind {
    fn name(&self) -> ProviderName {
        ProviderName::Kind
    }

    /// kind reads the port that is published to this machine, and an internal network publishes none.
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

/// Waits while the engine makes the container: it is not there yet, or it runs.
async fn settled(run: Run, node: String) {
    let docker = run.engine().docker();
    while let Ok(seen) = docker.inspect_container(&node, None).await {
        if seen.state.and_then(|state| state.running).unwrap_or_default() {
            return;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Takes away what would run on the nodes under test: on EKS that is said by whoever owns the cluster.
async fn nothing_for_nodes(client: Client) -> Result<(), ClusterError> {
    for (namespace, name) in FOR_NODES {
        let api = Api::<Deployment>::namespaced(client.clone(), namespace);
        match api.delete(name, &DeleteParams::background()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(ClusterError::api(format!("delete deployment `{name}`"))(error)),
            Ok(_) => {}
        }
    }
    Ok(())
}

/// PATH with a folder in front.
fn path_with(folder: &Path) -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    // A folder with a colon in its name cannot be on PATH at all: then kind finds the real docker, and says what that says.
    std::env::join_paths(folders).unwrap_or(path)
}

/// What kubeadm and published node images bring that is no part of a control plane.
const FOR_NODES: [(&str, &str); 2] = [
    ("kube-system", "coredns"),
    ("local-path-storage", "local-path-provisioner"),
];

/// The node reaches what is on its network and nothing past it: the neighbour that its default route names is not there.
const CONFINE: [&str; 9] = [
    "ip",
    "route",
    "replace",
    "default",
    "via",
    "169.254.171.254",
    "dev",
    "eth0",
    "onlink",
];

const DOCKER: &str = "bin/docker";
const DEFINITION: &str = "cluster.yaml";
const KUBECONFIG: &str = "kubeconfig";

const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Where kind's API servers listen.
const SECURE_PORT: u16 = 6443;
/// How long kind may take: a slow disk unpacks a node's images, and a busy machine starts five programs.
const CREATED_WITHIN: Duration = Duration::from_secs(300);
