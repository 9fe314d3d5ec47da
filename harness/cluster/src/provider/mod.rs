//! Who runs the API server. Each provider starts one, told of the harness by the same files and flags ([`Wiring`]), and hands
//! back the same things ([`Running`]); everything else is the same for all of them.
//!
//! | provider | where its API server runs |
//! | --- | --- |
//! | [`Local`] | in a container of the harness's own |
//! | [`K3s`] | in a container of k3s |
//! | [`Kind`] | in the node of a cluster that the program `kind` makes |
//! | [`External`] | wherever the user's kubeconfig leads |

mod external;
mod k3s;
mod kind;
mod local;

use std::collections::HashMap;
use std::net::SocketAddrV4;

use futures::future::BoxFuture;
use nodejoin_core::plan::ProviderName;
use nodejoin_docker::{Run, RunNetwork};

use crate::ClusterError;
use crate::access::Access;
use crate::container::Container;
use crate::foreign::Foreign;
use crate::kubeadm::Kubeadm;
use crate::relay::Relay;
use crate::stopwatch::Stopwatch;
use crate::wiring::Wiring;
use crate::wiring_folder::WiringFolder;

pub use external::{External, ExternalSettings};
pub use k3s::K3s;
pub use kind::{Kind, KindProgram};
pub use local::Local;

/// Starts API servers.
pub trait Provider: std::fmt::Debug + Send + Sync {
    /// The name by which a user chooses it.
    fn name(&self) -> ProviderName;

    /// What reports call it: its name, and what a reader must know beside.
    fn title(&self) -> String {
        self.name().to_string()
    }

    /// Whether its network may be one that reaches nothing else. Nodes are confined in either case, by their own rules.
    fn may_be_internal(&self) -> bool {
        true
    }

    /// The files that its API server was given before, where the harness does not start it; the webhooks listen where they say.
    fn webhooks(&self) -> Option<&WiringFolder> {
        None
    }

    /// Starts an API server that is told what the wiring says. It need not answer yet when this returns.
    ///
    /// Everything that is made is recorded in the run of the site before it exists, so that the run's end removes it.
    fn start<'a>(
        &'a self,
        site: &'a Site<'a>,
        wiring: &'a Wiring,
        times: &'a mut Stopwatch,
    ) -> BoxFuture<'a, Result<Running, ClusterError>>;
}

/// Where an API server is started.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The run that owns what is made.
    pub run: &'a Run,
    /// The network that nodes, fakes and the API server stand on; the webhooks listen on its gateway address.
    pub network: &'a RunNetwork,
}

/// What a provider has on this machine beside its containers. Dropped, it goes.
pub(crate) trait Holding: Send + Sync {
    /// Lets it stay when it is dropped, because a container that needs it is kept; a sweep removes it with that.
    fn keep(&self);
}

/// An API server that was started.
pub struct Running {
    /// Ways in, for the harness's own users.
    pub(crate) access: Access,
    /// Where nodes reach it. They ask for port 443 of the endpoint's name, and are led here.
    pub(crate) endpoint: SocketAddrV4,
    /// The CA that its certificate and those of kubelets chain to.
    pub(crate) ca_pem: String,
    /// The container that it runs in.
    pub(crate) container: Container,
    /// Labels by which the provider's own tools know the containers of nodes for its own.
    pub(crate) node_labels: HashMap<String, String>,
    /// What must stay as long as it runs.
    pub(crate) holds: Option<Box<dyn Holding>>,
    /// Where it is the user's: what is made there must go again.
    pub(crate) foreign: Option<Foreign>,
    /// Where nodes do not reach it by themselves.
    pub(crate) relay: Option<Relay>,
    /// How `kubeadm join` knows it, where that can work: kube-controller-manager signs `cluster-info`, and nothing is the user's.
    pub(crate) kubeadm: Option<Kubeadm>,
}

impl Running {
    /// A kubeconfig with every right. It holds a key.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        self.access.kubeconfig()
    }
}
