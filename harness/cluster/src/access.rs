//! Ways into an API server: clients of the harness's own users, and a kubeconfig for people.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use nodejoin_core::time_factor::TimeFactor;

use crate::ClusterError;
use crate::pki::{Authority, Identity};

/// An API server and the authority that its users come from.
pub(crate) struct Access {
    server: String,
    /// The CA that the API server's certificate chains to.
    server_ca: String,
    users: Arc<Authority>,
    admin: Identity,
    time_factor: TimeFactor,
}

impl Access {
    /// Of a cluster whose CA is at hand: each user shows a client certificate of its own.
    pub(crate) fn by_authority(
        server: String,
        server_ca: String,
        users: Arc<Authority>,
    ) -> Result<Self, ClusterError> {
        let admin = users.client(ADMIN, &["system:masters"])?;
        Ok(Self {
            server,
            server_ca,
            users,
            admin,
            time_factor: TimeFactor::ONE,
        })
    }

    /// The same with longer limits, on a slow machine.
    #[must_use]
    pub(crate) fn with_time_factor(mut self, factor: TimeFactor) -> Self {
        self.time_factor = factor;
        self
    }

    /// A client with every right.
    pub(crate) async fn admin(&self) -> Result<Client, ClusterError> {
        self.client(&self.admin, ADMIN).await
    }

    /// A client of a user without groups, so that the audit log says who did what, and RBAC what it may do.
    pub(crate) async fn user(&self, user: &str) -> Result<Client, ClusterError> {
        self.client(&self.users.client(user, &[])?, user).await
    }

    /// The admin's kubeconfig. It holds a key.
    pub(crate) fn kubeconfig(&self) -> String {
        kubeconfig(&self.server, &self.server_ca, &self.admin)
    }

    async fn client(&self, identity: &Identity, user: &str) -> Result<Client, ClusterError> {
        let failed = |source: kube::Error| ClusterError::Client {
            user: user.to_owned(),
            source: Box::new(source),
        };
        let text = kubeconfig(&self.server, &self.server_ca, identity);
        let parsed = Kubeconfig::from_yaml(&text).map_err(|error| failed(error.into()))?;
        let mut config = Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default())
            .await
            .map_err(|error| failed(error.into()))?;
        config.connect_timeout = Some(self.time_factor.limit(CONNECT_LIMIT));
        Client::try_from(config).map_err(failed)
    }
}

/// A kubeconfig with one user, who shows a client certificate.
pub(crate) fn kubeconfig(server: &str, ca: &str, user: &Identity) -> String {
    let base64 = |text: &str| base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text);
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

/// Asks until the API server says it is ready, and says when that was.
///
/// There is nothing to watch before the API server is there, so this one wait polls: each question costs it less than a
/// millisecond.
pub(crate) async fn await_ready(client: &Client, limit: Duration) -> Result<Instant, ClusterError> {
    let mut last_seen = "no answer".to_owned();
    let ready = async {
        loop {
            match readyz(client).await {
                Ok(()) => return Instant::now(),
                Err(error) => last_seen = last_line(&error),
            }
            tokio::time::sleep(RETRY).await;
        }
    };
    let ended = tokio::time::timeout(limit, ready).await;
    ended.map_err(|_| ClusterError::TimedOut {
        what: "/readyz of the API server".to_owned(),
        limit,
        last_seen,
    })
}

async fn readyz(client: &Client) -> kube::Result<()> {
    let request = http::Request::get("/readyz")
        .body(Vec::new())
        .map_err(kube::Error::HttpError)?;
    client.request_text(request).await.map(|_| ())
}

fn last_line(error: &kube::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = cause.to_string();
        source = cause.source();
    }
    text.lines().last().unwrap_or_default().to_owned()
}

const RETRY: Duration = Duration::from_millis(10);
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// The name by which the harness connects; the container's address is in no certificate.
const SERVER_NAME: &str = "kubernetes";

/// The user of the harness that may do everything; the audit policy knows it.
const ADMIN: &str = "nodejoin:admin";
