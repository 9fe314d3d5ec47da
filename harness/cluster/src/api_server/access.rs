//! Clients for the users of the harness, and a kubeconfig for people.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use nodejoin_core::run::secret::Secret;
use nodejoin_core::run::time_factor::TimeFactor;

use crate::ClusterError;
use crate::pki::{Ca, Identity};

/// Pause between two readiness checks.
const RETRY: Duration = Duration::from_millis(10);
/// Until a connection is open. A busy host needs seconds for the TLS handshakes of many clients.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The server name that clients verify: no certificate has the container's address.
const SERVER_NAME: &str = "kubernetes";

/// Tells whether an API server is ready: all its checks pass.
pub(crate) const READYZ: &str = "/readyz";

/// User with every right. The audit policy has a rule for it.
const ADMIN: &str = "nodejoin:admin";

/// An API server and the way to act as its users.
pub(crate) struct Access {
    method: AccessMethod,
    time_factor: TimeFactor,
}

/// How the harness becomes a user of the API server.
enum AccessMethod {
    /// Each user presents a client certificate of its own, signed by this CA.
    ClientCertificates {
        server: String,
        /// The CA that the API server's certificate chains to.
        server_ca: String,
        client_ca: Arc<Ca>,
        admin: Identity,
    },
    /// The user of a kubeconfig, who may impersonate the others.
    Impersonation { config: Box<Config>, kubeconfig: Secret },
}

impl Access {
    /// Access to a cluster whose client CA the harness has.
    pub(crate) fn by_client_certificates(
        server: String,
        server_ca: String,
        client_ca: Arc<Ca>,
    ) -> Result<Self, ClusterError> {
        let admin = client_ca.client(ADMIN, &["system:masters"])?;
        let method = AccessMethod::ClientCertificates {
            server,
            server_ca,
            client_ca,
            admin,
        };
        Ok(Self {
            method,
            time_factor: TimeFactor::ONE,
        })
    }

    /// Access to a user's cluster.
    pub(crate) fn by_impersonation(config: Config, kubeconfig: Secret) -> Self {
        let config = Box::new(config);
        Self {
            method: AccessMethod::Impersonation { config, kubeconfig },
            time_factor: TimeFactor::ONE,
        }
    }

    /// Multiplies the timeouts of all clients by this factor.
    #[must_use]
    pub(crate) fn with_time_factor(mut self, factor: TimeFactor) -> Self {
        self.time_factor = factor;
        self
    }

    /// A client with every right.
    pub(crate) async fn admin(&self) -> Result<Client, ClusterError> {
        let config = match &self.method {
            AccessMethod::ClientCertificates {
                server,
                server_ca,
                admin,
                ..
            } => config_from(kubeconfig(server, server_ca, admin), ADMIN).await?,
            AccessMethod::Impersonation { config, .. } => Config::clone(config),
        };
        self.client(config, ADMIN)
    }

    /// A client for a user without groups, so that the audit log names the user and RBAC limits it.
    pub(crate) async fn user(&self, user: &str) -> Result<Client, ClusterError> {
        let config = match &self.method {
            AccessMethod::ClientCertificates {
                server,
                server_ca,
                client_ca,
                ..
            } => config_from(kubeconfig(server, server_ca, &client_ca.client(user, &[])?), user).await?,
            AccessMethod::Impersonation { config, .. } => {
                let mut config = Config::clone(config);
                config.auth_info.impersonate = Some(user.to_owned());
                config
            }
        };
        self.client(config, user)
    }

    /// A client that authenticates with this bearer token alone.
    pub(crate) async fn with_token(&self, token: &str) -> Option<Client> {
        let mut config = match &self.method {
            AccessMethod::ClientCertificates {
                server,
                server_ca,
                admin,
                ..
            } => config_from(kubeconfig(server, server_ca, admin), ADMIN)
                .await
                .ok()?,
            AccessMethod::Impersonation { config, .. } => Config::clone(config),
        };
        config.auth_info = AuthInfo {
            token: Some(token.to_owned().into()),
            ..AuthInfo::default()
        };
        self.client(config, "system:anonymous").ok()
    }

    /// The admin's kubeconfig. It may contain a private key.
    pub(crate) fn kubeconfig(&self) -> String {
        match &self.method {
            AccessMethod::ClientCertificates {
                server,
                server_ca,
                admin,
                ..
            } => kubeconfig(server, server_ca, admin),
            AccessMethod::Impersonation { kubeconfig, .. } => kubeconfig.reveal().to_owned(),
        }
    }

    fn client(&self, mut config: Config, user: &str) -> Result<Client, ClusterError> {
        config.connect_timeout = Some(self.time_factor.scale(CONNECT_TIMEOUT));
        Client::try_from(config).map_err(client_error(user))
    }
}

async fn config_from(kubeconfig: String, user: &str) -> Result<Config, ClusterError> {
    let parsed = Kubeconfig::from_yaml(&kubeconfig).map_err(|error| client_error(user)(error.into()))?;
    let config = Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default()).await;
    config.map_err(|error| client_error(user)(error.into()))
}

fn client_error(user: &str) -> impl FnOnce(kube::Error) -> ClusterError {
    let user = user.to_owned();
    |source| ClusterError::Client {
        user,
        source: Box::new(source),
    }
}

/// A kubeconfig with one user, who presents a client certificate.
pub(crate) fn kubeconfig(server: &str, ca: &str, user: &Identity) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: nodejoin\n\
         contexts:\n- name: nodejoin\n  context: {{ cluster: nodejoin, user: nodejoin }}\n\
         clusters:\n- name: nodejoin\n  cluster:\n    server: {server}\n    tls-server-name: {SERVER_NAME}\n    \
         certificate-authority-data: {}\n\
         users:\n- name: nodejoin\n  user:\n    client-certificate-data: {}\n    client-key-data: {}\n",
        base64(ca),
        base64(&user.certificate),
        base64(user.key.reveal()),
    )
}

/// Encodes a text as kubeconfigs and Secrets require.
pub(crate) fn base64(text: &str) -> String {
    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text)
}

/// Polls [`READYZ`] until it answers `ok`, and returns when that was.
pub(crate) async fn await_ready(client: &Client, timeout: Duration) -> Result<Instant, ClusterError> {
    await_ready_at(client, READYZ, timeout).await
}

/// Polls a path until it answers `ok`, and returns when that was. Nothing can be watched before the API server serves;
/// one request costs it less than a millisecond.
pub(crate) async fn await_ready_at(
    client: &Client,
    path: &str,
    timeout: Duration,
) -> Result<Instant, ClusterError> {
    let mut last_status = "no response".to_owned();
    let ready = async {
        loop {
            match readyz(client, path).await {
                Ok(()) => return Instant::now(),
                Err(error) => last_status = last_line(&error),
            }
            tokio::time::sleep(RETRY).await;
        }
    };
    let ended = tokio::time::timeout(timeout, ready).await;
    ended.map_err(|_| ClusterError::TimedOut {
        what: format!("{path} of the API server"),
        timeout,
        last_status,
    })
}

async fn readyz(client: &Client, path: &str) -> kube::Result<()> {
    let request = http::Request::get(path)
        .body(Vec::new())
        .map_err(kube::Error::HttpError)?;
    client.request_text(request).await.map(|_| ())
}

/// The last line of the innermost cause.
fn last_line(error: &kube::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = cause.to_string();
        source = cause.source();
    }
    text.lines().last().unwrap_or_default().to_owned()
}
