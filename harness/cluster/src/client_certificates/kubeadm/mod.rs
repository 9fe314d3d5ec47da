//! The objects that `kubeadm init` creates for `kubeadm join`, and bootstrap tokens.
//!
//! | object | purpose |
//! | --- | --- |
//! | ConfigMap `kube-public/cluster-info` | discovery: readable for all, signed with each token by bootstrapsigner |
//! | ConfigMap `kube-system/kubeadm-config` | `ClusterConfiguration` |
//! | ConfigMap `kube-system/kubelet-config` (with the version before 1.24) | the kubelet's configuration |
//! | Roles and bindings `kubeadm:*` | read these, request a client certificate, approve it |
//! | Secret `kube-system/bootstrap-token-<id>` | a token; tokencleaner deletes it when it expires |
//!
//! The first scenario with a token creates them, and all scenarios share them. kubeadm's binding of `selfnodeclient` to
//! `system:nodes`, which approves renewals after months, is left out: it would also approve requests that another
//! scenario expects to stay unapproved. On kind, kubeadm has created everything except the tokens; the kubelet's
//! configuration loses a control group that only kind's own nodes have.

mod address;
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
use crate::api_server::objects::{apply, apply_all, deleted};
use objects::{PUBLIC, SYSTEM, objects, secret, secret_name, without_cgroup_root};

pub(crate) use address::Kubeadm;

const SIGNATURE_TIMEOUT: Duration = Duration::from_secs(20);
const RETRY: Duration = Duration::from_millis(50);

/// The objects of one control plane.
pub(crate) struct Bootstrap {
    kubeadm: Kubeadm,
    client: Client,
    time_factor: TimeFactor,
    /// Set by the first token.
    created: OnceCell<()>,
}

impl Bootstrap {
    pub(crate) fn new(kubeadm: Kubeadm, client: Client, time_factor: TimeFactor) -> Self {
        Self {
            kubeadm,
            client,
            time_factor,
            created: OnceCell::new(),
        }
    }

    pub(crate) fn host(&self) -> &str {
        &self.kubeadm.host
    }

    /// Creates tokens and waits until bootstrapsigner and tokencleaner have processed them.
    pub(crate) async fn add(
        &self,
        tokens: &[BootstrapToken],
        version: &str,
        ca_pem: &str,
    ) -> Result<(), ClusterError> {
        if tokens.is_empty() {
            return Ok(());
        }
        self.created
            .get_or_try_init(|| self.create_objects(version, ca_pem))
            .await?;
        try_join_all(tokens.iter().map(|token| self.add_one(token))).await?;
        Ok(())
    }

    pub(crate) async fn remove(&self, tokens: &[BootstrapToken]) -> Result<(), ClusterError> {
        try_join_all(tokens.iter().map(|token| self.delete(token))).await?;
        Ok(())
    }

    async fn create_objects(&self, version: &str, ca_pem: &str) -> Result<(), ClusterError> {
        if self.kubeadm.created_by_kubeadm {
            return self
                .remove_kind_cgroup(&kubelet_config_map(Minor::of(version)))
                .await;
        }
        let objects = objects(&self.kubeadm, version, ca_pem);
        apply_all(&self.client, objects).await
    }

    /// kind's kubelets run in a control group that only kind's node image has. kubeadm would configure it for other
    /// nodes too.
    async fn remove_kind_cgroup(&self, name: &str) -> Result<(), ClusterError> {
        let operation = format!("remove kind's control group from ConfigMap `{SYSTEM}/{name}`");
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
        let patch = Patch::Merge(json!({ "data": { "kubelet": without_cgroup_root(&text) } }));
        let patched = api.patch(name, &PatchParams::default(), &patch).await;
        patched.map(|_| ()).map_err(ClusterError::api(operation))
    }

    async fn add_one(&self, token: &BootstrapToken) -> Result<(), ClusterError> {
        apply(&self.client, secret(token, OffsetDateTime::now_utc())).await?;
        // A token that is deleted below must have signed before, unless it never signs.
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
        // tokencleaner may already have deleted it.
        let result = api.delete(&name, &DeleteParams::default()).await;
        deleted(result, "Secret", &format!("{SYSTEM}/{name}"))
    }

    async fn await_signature(&self, token: &BootstrapToken, expected: bool) -> Result<(), ClusterError> {
        let api = Api::<ConfigMap>::namespaced(self.client.clone(), PUBLIC);
        let key = format!("jws-kubeconfig-{}", token.token.id());
        let timeout = self.time_factor.scale(SIGNATURE_TIMEOUT);
        let until = Instant::now() + timeout;
        loop {
            let info = api.get("cluster-info").await;
            let info = info.map_err(ClusterError::api("read ConfigMap `kube-public/cluster-info`"))?;
            let is_signed = info.data.is_some_and(|data| data.contains_key(&key));
            if is_signed == expected {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(signature_timeout(&key, is_signed, timeout));
            }
            tokio::time::sleep(RETRY).await;
        }
    }
}

fn signature_timeout(key: &str, is_signed: bool, timeout: Duration) -> ClusterError {
    ClusterError::TimedOut {
        what: format!(
            "bootstrapsigner to update the signature `{key}` in ConfigMap `kube-public/cluster-info`"
        ),
        timeout,
        last_status: if is_signed {
            "the signature is still there"
        } else {
            "the signature is missing"
        }
        .to_owned(),
    }
}
