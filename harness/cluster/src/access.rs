//! Ways into an API server: clients of the harness's own users, and a kubeconfig for people.

use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::ClusterError;
use crate::pki::{Identity, Pki};
use crate::settings::kubeconfig;

/// An API server and the authority that its users come from.
pub(crate) struct Access {
    server: String,
    pki: Pki,
}

impl Access {
    pub(crate) fn new(server: String, pki: Pki) -> Self {
        Self { server, pki }
    }

    /// A client with every right.
    pub(crate) async fn admin(&self) -> Result<Client, ClusterError> {
        self.client(&self.pki.admin, "nodejoin:admin").await
    }

    /// A client of a user without groups, so that the audit log says who did what, and RBAC what it may do.
    pub(crate) async fn user(&self, user: &str) -> Result<Client, ClusterError> {
        self.client(&self.pki.cluster.client(user, &[])?, user).await
    }

    /// The admin's kubeconfig. It holds a key.
    pub(crate) fn kubeconfig(&self) -> String {
        kubeconfig(&self.server, self.pki.cluster.pem(), &self.pki.admin)
    }

    async fn client(&self, identity: &Identity, user: &str) -> Result<Client, ClusterError> {
        let failed = |source: kube::Error| ClusterError::Client {
            user: user.to_owned(),
            source: Box::new(source),
        };
        let text = kubeconfig(&self.server, self.pki.cluster.pem(), identity);
        let parsed = Kubeconfig::from_yaml(&text).map_err(|error| failed(error.into()))?;
        let mut config = Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default())
            .await
            .map_err(|error| failed(error.into()))?;
        config.connect_timeout = Some(CONNECT_LIMIT);
        Client::try_from(config).map_err(failed)
    }
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
