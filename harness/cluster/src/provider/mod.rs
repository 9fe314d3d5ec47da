//! Who runs the API server? Each provider starts one with the same files and flags ([`ApiServerWiring`]) and returns
//! the same data ([`StartedApiServer`]). Everything after that is shared.
//!
//! | provider | location of its API server |
//! | --- | --- |
//! | `local` | a container of the harness |
//! | `k3s` | a container of k3s |
//! | `kind` | the node of a cluster that the program `kind` creates |
//! | `external` | a user's cluster, by its kubeconfig |
//!
//! To add a provider: a variant of `ProviderName` (core), a module here with its `KIND`, and its arm in
//! [`ProviderKind::of`]. If it needs an image: its row in `images/control_plane.rs` and the function that gets the
//! image (docker). The compiler and the tests of these tables name what is missing.

mod definition;
mod external;
mod k3s;
mod kind;
mod local;
mod registry;

use std::collections::HashMap;
use std::net::SocketAddrV4;

use futures::future::BoxFuture;
use nodejoin_core::plan::ProviderName;
use nodejoin_docker::{Run, RunNetwork};

use crate::ClusterError;
use crate::api_server::access::Access;
use crate::install::Install;
use crate::stopwatch::Stopwatch;
use crate::wiring::{ApiServerWiring, WiringFolder};

pub use definition::{Capabilities, ProviderInputs, ProviderKind};
pub use external::settings::ExternalSettings;
pub use external::{Permission, required_permissions};

/// Starts API servers.
pub trait Provider: std::fmt::Debug + Send + Sync {
    fn name(&self) -> ProviderName;

    /// Its name in reports, with a remark if necessary.
    fn title(&self) -> String {
        self.name().to_string()
    }

    /// The image that it starts; `None` for a user's cluster.
    fn image(&self) -> Option<&str> {
        None
    }

    /// The wiring of an API server that the harness does not start. The webhooks listen on its address.
    fn wiring_folder(&self) -> Option<&WiringFolder> {
        None
    }

    /// Starts an API server with the wiring. It may return before the API server answers.
    ///
    /// It records everything in the run before it creates it, so that the run can remove it.
    fn start<'a>(&'a self, context: StartContext<'a>) -> Starting<'a>;
}

/// An API server that is being started.
pub type Starting<'a> = BoxFuture<'a, Result<StartedApiServer, ClusterError>>;

/// The environment of an API server.
pub struct StartContext<'a> {
    /// The run that owns everything that the provider creates.
    pub run: &'a Run,
    /// The network of nodes, fakes and the API server. The webhooks listen on its gateway address.
    pub network: &'a RunNetwork,
    pub wiring: &'a ApiServerWiring,
    /// Host name of an endpoint that the certificate of the API server must cover besides those of EKS.
    pub endpoint: Option<&'a str>,
    pub times: &'a mut Stopwatch,
}

/// A started API server.
pub struct StartedApiServer {
    pub(crate) access: Access,
    /// The address for nodes. They connect to port 443 of the endpoint's name and are redirected here.
    pub(crate) endpoint: SocketAddrV4,
    /// The CA of its certificate and of kubelets' certificates.
    pub(crate) ca_pem: String,
    /// Labels by which the provider's own tools recognize containers of nodes.
    pub(crate) node_labels: HashMap<String, String>,
    pub(crate) install: Install,
}

impl StartedApiServer {
    /// A kubeconfig with every right. It contains a private key.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        self.access.kubeconfig()
    }
}
