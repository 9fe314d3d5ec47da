//! What can go wrong with a control plane, and the way out.

use std::time::Duration;

/// A control plane that could not be started, reached or used.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A certificate or key could not be made.
    #[error("cannot make the certificate of {role}")]
    Certificate {
        /// Whose certificate.
        role: String,
        /// The library's word.
        #[source]
        source: rcgen::Error,
    },
    /// The webhooks could not listen on the network's gateway address.
    #[error("cannot listen on {address} for the API server's webhooks")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// The system's word.
        #[source]
        source: std::io::Error,
    },
    /// TLS could not be set up from certificates of our own.
    #[error("cannot set up TLS for {role}")]
    Tls {
        /// Which side.
        role: &'static str,
        /// The library's word.
        #[source]
        source: rustls::Error,
    },
    /// The container engine refused.
    #[error("cannot {operation}")]
    Container {
        /// What was tried.
        operation: &'static str,
        /// The engine's word.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The container of the control plane ended.
    #[error("the control plane's container ended while {phase}; its last lines:\n{lines}")]
    Ended {
        /// What was waited for.
        phase: &'static str,
        /// Last lines of its log.
        lines: String,
    },
    /// Something did not come in time.
    #[error("waited {} s for {what}; last seen: {last_seen}", .limit.as_secs())]
    TimedOut {
        /// What was waited for.
        what: String,
        /// How long.
        limit: Duration,
        /// The last status.
        last_seen: String,
    },
    /// The API server refused a request of the harness.
    #[error("cannot {operation}")]
    Api {
        /// What was tried.
        operation: String,
        /// The client's word.
        #[source]
        source: Box<kube::Error>,
    },
    /// A client could not be made.
    #[error("cannot make a client for user `{user}`")]
    Client {
        /// The user.
        user: String,
        /// The client's word.
        #[source]
        source: Box<kube::Error>,
    },
    /// The node is of no tenant.
    #[error("instance `{instance}` was not admitted to this control plane")]
    UnknownInstance {
        /// Its id.
        instance: String,
    },
    /// Two tenants claim what only one can have.
    #[error("{what} `{value}` is already taken by instance `{holder}` on this control plane")]
    Taken {
        /// What kind of thing.
        what: &'static str,
        /// Its value.
        value: String,
        /// Who has it.
        holder: String,
    },
    /// What a provider made is not what it makes.
    #[error("{what} cannot be read")]
    Unreadable {
        /// What.
        what: &'static str,
    },
    /// k3s goes by another authority than the one that it was given.
    #[error(
        "k3s of image `{image}` did not take the certificate authority that was laid into its data folder"
    )]
    OtherAuthority {
        /// Its image.
        image: String,
    },
    /// A program of this machine cannot be used.
    #[error("{program} cannot be used: {wrong}")]
    Program {
        /// Its name.
        program: &'static str,
        /// Why.
        wrong: String,
    },
    /// kind did not make its cluster.
    #[error("kind could not make cluster `{cluster}`: {wrong}; its last lines, of `{}`:\n{lines}", .log.display())]
    Kind {
        /// The cluster.
        cluster: String,
        /// Why.
        wrong: String,
        /// The file with all its output.
        log: std::path::PathBuf,
        /// The last lines of that.
        lines: String,
    },
    /// A file of a control plane could not be written.
    #[error("cannot write `{}`", .path.display())]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// The system's word.
        #[source]
        source: std::io::Error,
    },
    /// The files of `nodejoin wiring` cannot be used.
    #[error("the wiring in `{}` cannot be used: {wrong}", .folder.display())]
    WiringFolder {
        /// The folder.
        folder: std::path::PathBuf,
        /// Why.
        wrong: String,
    },
    /// A kubeconfig leads nowhere.
    #[error("the kubeconfig cannot be used: {wrong}")]
    Kubeconfig {
        /// Why.
        wrong: String,
    },
    /// A kubeconfig leads to a cluster that is not near.
    #[error("the API server `{server}` is at {address}, which is neither loopback nor private")]
    Remote {
        /// Its URL.
        server: String,
        /// The address that is not.
        address: std::net::IpAddr,
    },
    /// The API server of the user's cluster does not answer, or not any more.
    #[error("the API server `{server}` does not answer")]
    NoAnswer {
        /// Its URL.
        server: String,
        /// What came instead.
        #[source]
        source: Box<ClusterError>,
    },
    /// The kubeconfig's user may not do what has to be done.
    #[error("the kubeconfig's user may not: {}", .missing.join("; "))]
    MissingRights {
        /// Each right that is missing.
        missing: Vec<String>,
    },
    /// The cluster has objects that the harness would have to overwrite.
    #[error("the cluster has what nodejoin would have to lay down, and nothing of it is overwritten: {}", .there.join(", "))]
    Occupied {
        /// Each object, with the run that left it, where one did.
        there: Vec<String>,
    },
    /// A command in the control plane's container failed.
    #[error("`{command}` ended with exit code {code} in the control plane's container: {stderr}")]
    Command {
        /// The command line.
        command: String,
        /// Its exit code.
        code: i64,
        /// What it said.
        stderr: String,
    },
}

impl ClusterError {
    /// The way out, where there is one to tell.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Ended { .. } => {
                Some("run again with --keep and read /var/log/nodejoin in the control plane's container")
            }
            Self::TimedOut { .. } => Some(
                "`nodejoin doctor` tells whether containers reach the harness and how busy this machine is",
            ),
            Self::Listen { .. } => {
                Some("the address is the network's gateway; a firewall or a removed network takes it away")
            }
            Self::Taken { .. } => Some("give the instance another id, address or private DNS name"),
            Self::UnknownInstance { .. } => Some("admit the tenant before its node starts"),
            Self::Container { .. } => Some("`nodejoin doctor` checks the container engine"),
            Self::Program { program: "kind", .. } => Some(
                "install kind (https://kind.sigs.k8s.io/docs/user/quick-start/#installation; `apt-get install kind` on Debian 13), \
                 or choose `--control-plane local`",
            ),
            Self::Program { .. } => {
                Some("install Docker's command-line client, or choose `--control-plane local`")
            }
            Self::Kind { .. } => Some(
                "`nodejoin doctor` checks what containers may do here; `--control-plane local` needs less of it",
            ),
            Self::File { .. } => Some("set NODEJOIN_CACHE to a folder that can be written"),
            Self::Command { .. } => {
                Some("the control-plane image needs iptables, and its container NET_ADMIN")
            }
            Self::WiringFolder { .. } => {
                Some("`nodejoin wiring --listen ADDRESS:PORT --out FOLDER` makes one")
            }
            Self::Kubeconfig { .. } => {
                Some("give a file with `--kubeconfig` or KUBECONFIG, and another context with `--context`")
            }
            Self::Remote { .. } => {
                Some("nodes of tests would join it; if that is what you want, say `--allow-remote`")
            }
            Self::NoAnswer { .. } => Some("see that the cluster runs, and that this machine reaches it"),
            Self::MissingRights { .. } => Some("the README lists the rights, below \"A cluster of yours\""),
            Self::Occupied { .. } => Some(
                "a cluster with its own aws-auth is not for tests; what a killed run left goes by `kubectl delete \
                 clusterrolebindings,clusterroles -l nodejoin.run=ID` and `kubectl -n kube-system delete \
                 rolebindings,roles,configmaps -l nodejoin.run=ID`",
            ),
            Self::Unreadable { .. } | Self::OtherAuthority { .. } => {
                Some("set NODEJOIN_K3S_IMAGE to an image as k3s publishes it")
            }
            Self::Certificate { .. } | Self::Tls { .. } | Self::Api { .. } | Self::Client { .. } => None,
        }
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
