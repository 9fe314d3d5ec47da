//! What `kubeadm init` leaves in a cluster for `kubeadm join`, and bootstrap tokens.
//!
//! | object | for |
//! | --- | --- |
//! | ConfigMap `kube-public/cluster-info` | discovery: anybody may read it; bootstrapsigner of kube-controller-manager signs it by each token |
//! | ConfigMap `kube-system/kubeadm-config` | `ClusterConfiguration` |
//! | ConfigMap `kube-system/kubelet-config` (before 1.24 with the version) | the kubelet's configuration |
//! | Roles and bindings `kubeadm:*` | reading these, asking for a client certificate, and its approval |
//! | Secret `kube-system/bootstrap-token-<id>` | a token; tokencleaner deletes it when it expires |
//!
//! They are laid down with the first scenario that has a token, and are the same for all of them. kubeadm's binding of
//! `selfnodeclient` to `system:nodes`, by which certificates are renewed after months, is left out: it would also approve what
//! another scenario wants unapproved. On kind all but the tokens is there, made by kubeadm itself; the kubelet's configuration loses
//! a control group that only kind's own nodes have.

mod objects;

use std::time::Duration;

use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use nodejoin_core::kubernetes::{Minor, kubelet_config_map};
use nodejoin_core::plan::bootstrap_token::BootstrapToken;
use nodejoin_core::run::time_factor::TimeFactor;
use serde_json::json;
use time::OffsetDateTime;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::ClusterError;
use crate::controllers::rbac::apply_one;
use objects::{PUBLIC, SYSTEM, objects, secret, secret_name, without_group};

/// How kubeadm's objects call the API server.
#[derive(Debug, Clone)]
pub(crate) struct Kubeadm {
    /// Host name, which nodes resolve.
    pub(crate) host: String,
    /// Port.
    pub(crate) port: u16,
    /// Whether kubeadm itself has made the cluster.
    pub(crate) is_real: bool,
}

/// The objects of one control plane.
pub(crate) struct Bootstrap {
    kubeadm: Kubeadm,
    client: Client,
    time_factor: TimeFactor,
    /// Empty until the first token.
    laid_down: OnceCell<()>,
}

impl Bootstrap {
    pub(crate) fn new(kubeadm: Kubeadm, client: Client, time_factor: TimeFactor) -> Self {
        Self {
            kubeadm,
            client,
            time_factor,
            laid_down: OnceCell::new(),
        }
    }

    pub(crate) fn host(&self) -> &str {
        &self.kubeadm.host
    }

    /// Makes tokens, and waits until bootstrapsigner and tokencleaner have done with them what they do.
    pub(crate) async fn add(
        &self,
        tokens: &[BootstrapToken],
        version: &str,
        ca_pem: &str,
    ) -> Result<(), ClusterError> {
        if tokens.is_empty() {
            return Ok(());
        }
        self.laid_down
            .get_or_try_init(|| self.lay_down(version, ca_pem))
            .await?;
        try_join_all(tokens.iter().map(|token| self.add_one(token))).await?;
        Ok(())
    }

    /// Removes tokens.
    pub(crate) async fn remove(&self, tokens: &[BootstrapToken]) -> Result<(), ClusterError> {
        try_join_all(tokens.iter().map(|token| self.delete(token))).await?;
        Ok(())
    }

    async fn lay_down(&self, version: &str, ca_pem: &str) -> Result<(), ClusterError> {
        if self.kubeadm.is_real {
            return self.free_of_kind(&kubelet_config_map(Minor::of(version))).await;
        }
        let objects = objects(&self.kubeadm, version, ca_pem);
        try_join_all(objects.into_iter().map(|object| apply_one(&self.client, object))).await?;
        Ok(())
    }

    /// kind's kubelets live in a control group that only kind's node image has, and kubeadm would tell ours to live there, too.
    async fn free_of_kind(&self, name: &str) -> Result<(), ClusterError> {
        let operation = format!("take kind's control group out of ConfigMap `{SYSTEM}/{name}`");
        let api = Api::<ConfigMap>::namespaced(self.client.clone(), SYSTEM);
        let found = api
            .get(name)
            .await
            .map_err(ClusterError::api(operation.clone()))?;
        let text = found
            .data
            .unwrap_or_default()
            .remove("kubelet")
            .unwrap_or_default();
        let patch = Patch::Merge(json!({ "data": { "kubelet": without_group(&text) } }));
        let patched = api.patch(name, &PatchParams::default(), &patch).await;
        patched.map(|_| ()).map_err(ClusterError::api(operation))
    }

    async fn add_one(&self, token: &BootstrapToken) -> Result<(), ClusterError> {
        apply_one(&self.client, secret(token, OffsetDateTime::now_utc())).await?;
        // What is deleted later was signed by first, unless it never signs.
        let before = BootstrapToken {
            deleted: false,
            ..token.clone()
        };
        if before.signs() {
            self.await_signature(token, true).await?;
        }
        if token.deleted {
            self.delete(token).await?;
        }
        if !token.signs() {
            self.await_signature(token, false).await?;
        }
        Ok(())
    }

    async fn delete(&self, token: &BootstrapToken) -> Result<(), ClusterError> {
        let name = secret_name(token);
        let api = Api::<Secret>::namespaced(self.client.clone(), SYSTEM);
        match api.delete(&name, &DeleteParams::default()).await {
            // tokencleaner was first.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(ClusterError::api(format!("delete Secret `{SYSTEM}/{name}`"))(
                error,
            )),
            Ok(_) => Ok(()),
        }
    }

    async fn await_signature(&self, token: &BootstrapToken, wanted: bool) -> Result<(), ClusterError> {
        let api = Api::<ConfigMap>::namespaced(self.client.clone(), PUBLIC);
        let key = format!("jws-kubeconfig-{}", token.token.id());
        let limit = self.time_factor.limit(SIGNED_WITHIN);
        let until = Instant::now() + limit;
        loop {
            let info = api.get("cluster-info").await;
            let info = info.map_err(ClusterError::api("read ConfigMap `kube-public/cluster-info`"))?;
            let is_signed = info.data.is_some_and(|data| data.contains_key(&key));
            if is_signed == wanted {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(not_signed(&key, is_signed, limit));
            }
            // The signer works off a queue; its write is no news of ours.
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

fn not_signed(key: &str, is_signed: bool, limit: Duration) -> ClusterError {
    ClusterError::TimedOut {
        what: format!("bootstrapsigner to sign ConfigMap `kube-public/cluster-info` anew (`{key}`)"),
        limit,
        last_seen: if is_signed {
            "it is signed still"
        } else {
            "it is not signed"
        }
        .to_owned(),
    }
}

const SIGNED_WITHIN: Duration = Duration::from_secs(20);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
