//! Errors of control planes, and what a user can do about each.

use std::time::Duration;

use nodejoin_core::plan::ProviderName;

/// A control plane that could not be started, reached or used.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error("could not create the certificate of {role}")]
    Certificate {
        role: String,
        #[source]
        source: rcgen::Error,
    },
    /// The webhooks could not listen on the network's gateway address.
    #[error("could not listen on {address} for the API server's webhooks")]
    Listen {
        address: std::net::SocketAddr,
        #[source]
        source: std::io::Error,
    },
    #[error("could not set up TLS for {role}")]
    Tls {
        role: &'static str,
        #[source]
        source: rustls::Error,
    },
    /// The container engine reported an error.
    #[error("could not {operation}")]
    Container {
        operation: &'static str,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the control plane's container ended while {phase}; last lines of its log:\n{lines}")]
    Ended { phase: &'static str, lines: String },
    #[error("timeout after {} s waiting for {what}; last status: {last_status}", .timeout.as_secs())]
    TimedOut {
        what: String,
        timeout: Duration,
        last_status: String,
    },
    /// The API server rejected a request of the harness, or did not answer it.
    #[error("could not {operation}")]
    Api {
        operation: String,
        #[source]
        source: Box<kube::Error>,
    },
    #[error("could not create a Kubernetes client for user `{user}`")]
    Client {
        user: String,
        #[source]
        source: Box<kube::Error>,
    },
    #[error("instance `{instance}` is not admitted to this control plane")]
    UnknownInstance { instance: String },
    /// Two tenants claim an id, address or name that must be unique.
    #[error("{what} `{value}` is already used by instance `{holder}` on this control plane")]
    Taken {
        what: &'static str,
        value: String,
        holder: String,
    },
    /// The output of a provider's program has an unknown form.
    #[error("could not parse {what}")]
    Unreadable { what: &'static str },
    /// k3s generated a certificate authority although its data directory already had one.
    #[error("k3s of image `{image}` did not use the certificate authority in its data directory")]
    OtherAuthority { image: String },
    #[error("could not use the program `{program}`: {reason}")]
    Program { program: &'static str, reason: String },
    #[error(
        "kind could not create cluster `{cluster}`: {reason}; last lines of `{}`:\n{lines}",
        .log.display()
    )]
    Kind {
        cluster: String,
        reason: String,
        /// The file with all output of kind.
        log: std::path::PathBuf,
        lines: String,
    },
    #[error("could not write `{}`", .path.display())]
    File {
        path: std::path::PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The files of `nodejoin wiring` are missing or invalid.
    #[error("could not use the wiring in `{}`: {reason}", .folder.display())]
    WiringFolder {
        folder: std::path::PathBuf,
        reason: String,
    },
    #[error("invalid kubeconfig: {reason}")]
    Kubeconfig { reason: String },
    /// A kubeconfig points at a cluster beyond loopback and private networks.
    #[error("the API server `{server}` has address {address}, which is neither loopback nor private")]
    Remote {
        server: String,
        address: std::net::IpAddr,
    },
    /// The API server of a user's cluster does not answer, or stopped answering.
    #[error("the API server `{server}` does not answer")]
    NoAnswer {
        server: String,
        #[source]
        source: Box<ClusterError>,
    },
    #[error("the kubeconfig's user lacks these permissions: {}", .missing.join("; "))]
    MissingRights { missing: Vec<String> },
    /// The cluster has objects that the harness would have to overwrite. Each names the run that left it, if any.
    #[error("the cluster already has objects that nodejoin needs to create: {}", .objects.join(", "))]
    Occupied { objects: Vec<String> },
    #[error("`{command}` failed with exit code {code} in the control plane's container: {stderr}")]
    Command {
        command: String,
        code: i64,
        stderr: String,
    },
    /// This host does not have what a provider needs. Scenarios for it are skipped unless it is required.
    #[error("the control plane `{name}` is not available here: {reason}")]
    Unavailable {
        name: ProviderName,
        reason: String,
        hint: String,
    },
    /// A provider's image could not be built or found.
    #[error(transparent)]
    Image(#[from] nodejoin_docker::DockerError),
}

impl ClusterError {
    /// What the user can do, if anything.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Ended { .. } => {
                "run again with --keep and read /var/log/nodejoin in the control plane's container"
            }
            Self::TimedOut { .. } => {
                "`nodejoin doctor` checks whether containers reach the harness and how busy this machine is"
            }
            Self::Listen { .. } => {
                "the address is the network's gateway; check that no firewall blocks it and that the network still exists"
            }
            Self::Taken { .. } => "set another instance id, private address or private DNS name",
            Self::UnknownInstance { .. } => "admit the tenant before its node starts",
            Self::Container { .. } => "`nodejoin doctor` checks the container engine",
            Self::Program { program: "kind", .. } => {
                "install kind (https://kind.sigs.k8s.io/docs/user/quick-start/#installation; `apt-get install kind` on \
                 Debian 13), or use `--control-plane local`"
            }
            Self::Program { .. } => "install Docker's command-line client, or use `--control-plane local`",
            Self::Kind { .. } => {
                "`nodejoin doctor` checks the privileges of containers; `--control-plane local` needs fewer"
            }
            Self::File { .. } => "set NODEJOIN_CACHE to a writable folder",
            Self::Command { .. } => {
                "the control-plane image needs iptables, and its container needs NET_ADMIN"
            }
            Self::WiringFolder { .. } => {
                "create one with `nodejoin wiring --listen ADDRESS:PORT --out FOLDER`"
            }
            Self::Kubeconfig { .. } => {
                "set a file with `--kubeconfig` or KUBECONFIG, and a context with `--context`"
            }
            Self::Remote { .. } => "nodes of tests would join this cluster; allow that with `--allow-remote`",
            Self::NoAnswer { .. } => "check that the cluster runs and that this machine reaches it",
            Self::MissingRights { .. } => {
                "the documentation of the control plane `external` lists all permissions"
            }
            Self::Occupied { .. } => {
                "use a test cluster without its own aws-auth; remove what a killed run left with `kubectl delete \
                 clusterrolebindings,clusterroles -l nodejoin.run=ID` and `kubectl -n kube-system delete \
                 rolebindings,roles,configmaps -l nodejoin.run=ID`"
            }
            Self::Unreadable { .. } | Self::OtherAuthority { .. } => {
                "set NODEJOIN_K3S_IMAGE to an image that k3s publishes"
            }
            Self::Unavailable { hint, .. } => return Some(hint.clone()).filter(|hint| !hint.is_empty()),
            Self::Image(error) => return error.hint(),
            Self::Certificate { .. } | Self::Tls { .. } | Self::Api { .. } | Self::Client { .. } => {
                return None;
            }
        };
        Some(hint.to_owned())
    }

    pub(crate) fn api(operation: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let operation = operation.into();
        |source| Self::Api {
            operation,
            source: Box::new(source),
        }
    }

    pub(crate) fn container<E>(operation: &'static str) -> impl FnOnce(E) -> Self
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        move |source| Self::Container {
            operation,
            source: Box::new(source),
        }
    }
}
