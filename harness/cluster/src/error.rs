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
        address: std::net::IpAddr,
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
