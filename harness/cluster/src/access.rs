//! Ways into an API server: clients of the harness's own users, and a kubeconfig for people.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use nodejoin_core::run::time_factor::TimeFactor;

use crate::ClusterError;
use crate::pki::{Authority, Identity};
use crate::secret::Secret;

/// An API server and the way in for its users.
pub(crate) struct Access {
    way: Way,
    time_factor: TimeFactor,
}

enum Way {
    /// Each user shows a client certificate of its own.
    Authority {
        server: String,
        /// The CA that the API server's certificate chains to.
        server_ca: String,
        users: Arc<Authority>,
        admin: Identity,
    },
    /// The user of a kubeconfig, who may impersonate the others.
    Impersonation { config: Box<Config>, kubeconfig: Secret },
}

impl Access {
    /// Of a cluster whose CA is at hand.
    pub(crate) fn by_authority(
        server: String,
        server_ca: String,
        users: Arc<Authority>,
    ) -> Result<Self, ClusterError> {
        let admin = users.client(ADMIN, &["system:masters"])?;
        let way = Way::Authority {
            server,
            server_ca,
            users,
            admin,
        };
        Ok(Self {
            way,
            time_factor: TimeFactor::ONE,
        })
    }

    /// Of a cluster of the user's.
    pub(crate) fn by_impersonation(config: Config, kubeconfig: Secret) -> Self {
        let config = Box::new(config);
        Self {
            way: Way::Impersonation { config, kubeconfig },
            time_factor: TimeFactor::ONE,
        }
    }

    /// The same with longer limits, on a slow machine.
    #[must_use]
    pub(crate) fn with_time_factor(mut self, factor: TimeFactor) -> Self {
        self.time_factor = factor;
        self
    }

    /// A client with every right that there is.
    pub(crate) async fn admin(&self) -> Result<Client, ClusterError> {
        let config = match &self.way {
            Way::Authority {
                server,
                server_ca,
                admin,
                ..
            } => config_of(kubeconfig(server, server_ca, admin), ADMIN).await?,
            Way::Impersonation { config, .. } => Config::clone(config),
        };
        self.client(config, ADMIN)
    }

    /// A client of a user without groups, so that the audit log says who did what, and RBAC what it may do.
    pub(crate) async fn user(&self, user: &str) -> Result<Client, ClusterError> {
        let config = match &self.way {
            Way::Authority {
                server,
                server_ca,
                users,
                ..
            } => config_of(kubeconfig(server, server_ca, &users.client(user, &[])?), user).await?,
            Way::Impersonation { config, .. } => {
                let mut config = Config::clone(config);
                config.auth_info.impersonate = Some(user.to_owned());
                config
            }
        };
        self.client(config, user)
    }

    /// A client of nobody who shows this token, on a cluster of the user's.
    pub(crate) fn stranger(&self, token: &str) -> Option<Client> {
        let Way::Impersonation { config, .. } = &self.way else {
            return None;
        };
        let mut config = Config::clone(config);
        config.auth_info = AuthInfo {
            token: Some(token.to_owned().into()),
            ..AuthInfo::default()
        };
        self.client(config, "nobody").ok()
    }

    /// The admin's kubeconfig. It may hold a key.
    pub(crate) fn kubeconfig(&self) -> String {
        match &self.way {
            Way::Authority {
                server,
                server_ca,
                admin,
                ..
            } => kubeconfig(server, server_ca, admin),
            Way::Impersonation { kubeconfig, .. } => kubeconfig.reveal().to_owned(),
        }
    }

    fn client(&self, mut config: Config, user: &str) -> Result<Client, ClusterError> {
        config.connect_timeout = Some(self.time_factor.limit(CONNECT_LIMIT));
        Client::try_from(config).map_err(no_client(user))
    }
}

async fn config_of(kubeconfig: String, user: &str) -> Result<Config, ClusterError> {
    let parsed = Kubeconfig::from_yaml(&kubeconfig).map_err(|error| no_client(user)(error.into()))?;
    let config = Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default()).await;
    config.map_err(|error| no_client(user)(error.into()))
}

fn no_client(user: &str) -> impl FnOnce(kube::Error) -> ClusterError {
    let user = user.to_owned();
    |source| ClusterError::Client {
        user,
        source: Box::new(source),
    }
}

/// A kubeconfig with one user, who shows a client certificate.
pub(crate) fn kubeconfig(server: &str, ca: &str, user: &Identity) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: nodejoin\n\
         contexts:\n- name: nodejoin\n  context: {{ cluster: nodejoin, user: nodejoin }}\n\
         clusters:\n- name: nodejoin\n  cluster:\n    server: {server}\n    tls-server-name: {SERVER_NAME}\n    \
         certificate-authority-data: {}\n\
         users:\n- name: nodejoin\n  user:\n    client-certificate-data: {}\n    client-key-data: {}\n",
        encoded(ca),
        encoded(&user.certificate),
        encoded(user.key.reveal()),
    )
}

/// A text in base64, as kubeconfigs and Secrets have it.
pub(crate) fn encoded(text: &str) -> String {
    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text)
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
