//! How a tenant comes to a control plane and goes again: what is laid down for it, and what is taken away or left.

use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt as _};
use nodejoin_core::plan::bootstrap_token::BootstrapToken;
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::plan::{ClusterPlan, RoleMapping};

use crate::ClusterError;
use crate::outpost;
use crate::plane::ControlPlane;
use crate::tenants::{Admitted, Tenant};

impl ControlPlane {
    /// Takes a tenant in; its rows of `aws-auth` and its bootstrap tokens count when this returns.
    ///
    /// # Errors
    /// When another tenant has the instance's id, address or private DNS name, or the API server refuses.
    pub async fn admit(&self, tenant: Tenant) -> Result<(), ClusterError> {
        let admitted = self.parts.tenants.admit(tenant)?;
        for name in self.take_left(&admitted.node_names()) {
            self.delete_node(&name).await?;
        }
        let tenant = &admitted.tenant;
        let (id, cluster) = (&tenant.instance.id, &tenant.cluster);
        for token in &cluster.bootstrap_tokens {
            admitted.learn_user(&token.user());
        }
        tokio::try_join!(
            self.add_rows(id, cluster),
            self.add_tokens(&cluster.bootstrap_tokens),
            outpost::allow(&self.parts.client, cluster, &tenant.instance),
        )?;
        Ok(())
    }

    async fn add_rows(&self, id: &InstanceId, cluster: &ClusterPlan) -> Result<(), ClusterError> {
        if let Some(text) = &cluster.aws_auth_text {
            return self.parts.aws_auth.replace(id, text).await;
        }
        let rows = cluster.aws_auth.iter();
        let now: Vec<RoleMapping> = rows.filter(|row| row.after_seconds.is_none()).cloned().collect();
        self.parts.aws_auth.add(id, &now).await
    }

    /// Adds rows of a tenant to `aws-auth` that were not there when it was admitted; they count when this returns.
    ///
    /// # Errors
    /// When the API server refuses, or the authenticator does not read them in time.
    pub async fn map(&self, instance: &InstanceId, rows: &[RoleMapping]) -> Result<(), ClusterError> {
        self.parts.aws_auth.add(instance, rows).await
    }

    async fn add_tokens(&self, tokens: &[BootstrapToken]) -> Result<(), ClusterError> {
        match &self.parts.bootstrap {
            Some(bootstrap) => bootstrap.add(tokens, &self.version, &self.ca_pem).await,
            // A scenario that has some is skipped.
            None => Ok(()),
        }
    }

    async fn remove_tokens(&self, tokens: &[BootstrapToken]) -> Result<(), ClusterError> {
        match &self.parts.bootstrap {
            Some(bootstrap) => bootstrap.remove(tokens).await,
            None => Ok(()),
        }
    }

    /// Removes everything of a tenant: its rows of `aws-auth`, bootstrap tokens, Node, lease, certificate signing requests, pods, redirection.
    /// Remove the node's container first: the API server believes a token for some seconds after it was good, and a
    /// kubelet registers again.
    ///
    /// # Errors
    /// All that could not be removed, the first of them; the others are in the log.
    pub async fn withdraw(&self, instance: &InstanceId) -> Result<(), ClusterError> {
        let Some(tenant) = self.parts.tenants.withdraw(instance) else {
            return Ok(());
        };
        let removals = tokio::join!(
            self.parts.aws_auth.remove(instance),
            self.remove_requests(&tenant),
            self.remove_nodes(&tenant),
            self.remove_route(&tenant),
            self.remove_tokens(&tenant.tenant.cluster.bootstrap_tokens),
            outpost::forget(&self.parts.client, &tenant.tenant.cluster, tenant.instance()),
        );
        let failed = [
            removals.0, removals.1, removals.2, removals.3, removals.4, removals.5,
        ]
        .into_iter()
        .filter_map(Result::err);
        let mut failed =
            failed.inspect(|error| tracing::warn!(%error, %instance, "left behind on the control plane"));
        let first = failed.next();
        failed.for_each(drop);
        first.map_or(Ok(()), Err)
    }

    /// Removes a tenant whose instance is gone, and leaves its Node: another instance is to get its name.
    ///
    /// # Errors
    /// As [`ControlPlane::withdraw`].
    pub async fn forget(&self, instance: &InstanceId) -> Result<(), ClusterError> {
        let Some(tenant) = self.parts.tenants.withdraw(instance) else {
            return Ok(());
        };
        self.parts.aws_auth.remove(instance).await?;
        self.remove_requests(&tenant).await?;
        self.remove_route(&tenant).await
    }

    /// Deletes a Node, as `kubectl delete node` does.
    ///
    /// # Errors
    /// When the API server refuses. A Node that is not there is no error.
    pub async fn delete_node(&self, name: &str) -> Result<(), ClusterError> {
        let deleted = Api::<Node>::all(self.client())
            .delete(name, &DeleteParams::default())
            .await;
        gone(deleted, "node", name)
    }

    /// Ends a tenant whose node is kept, and leaves all that is seen of it: Node, requests, rows of `aws-auth`. A later tenant of
    /// the same name has the Node removed. On a cluster of the user's nothing may stay.
    ///
    /// # Errors
    /// As [`ControlPlane::withdraw`].
    pub async fn leave(&self, instance: &InstanceId) -> Result<(), ClusterError> {
        if self.parts.foreign.is_some() {
            return self.withdraw(instance).await;
        }
        if let Some(tenant) = self.parts.tenants.withdraw(instance) {
            self.left().extend(tenant.node_names());
        }
        Ok(())
    }

    fn left(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.parts.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_left(&self, names: &BTreeSet<String>) -> BTreeSet<String> {
        let mut left = self.left();
        let taken = &*left & names;
        left.retain(|name| !taken.contains(name));
        taken
    }

    /// By a list and not by what the watch has told: the last request may be younger than that.
    async fn remove_requests(&self, tenant: &Admitted) -> Result<(), ClusterError> {
        let api = Api::<CertificateSigningRequest>::all(self.client());
        let all = api.list(&ListParams::default()).await;
        let all = all.map_err(ClusterError::api("list certificate signing requests"))?;
        for request in all
            .items
            .into_iter()
            .filter(|request| tenant.is_requestor(&request.spec))
        {
            let name = request.name_any();
            gone(
                api.delete(&name, &DeleteParams::default()).await,
                "request",
                &name,
            )?;
        }
        self.parts.certificates.forget(&tenant.instance().id);
        Ok(())
    }

    /// Pods first and at once: no kubelet is left that could confirm their end.
    async fn remove_nodes(&self, tenant: &Admitted) -> Result<(), ClusterError> {
        let at_once = DeleteParams::default().grace_period(0);
        let leases = Api::<Lease>::namespaced(self.client(), "kube-node-lease");
        for name in tenant.node_names() {
            let pods = Api::<Pod>::all(self.client());
            let on_node = ListParams::default().fields(&format!("spec.nodeName={name}"));
            for pod in pods
                .list(&on_node)
                .await
                .map_err(ClusterError::api("list pods"))?
            {
                let metadata = pod.metadata;
                let (Some(pod), Some(namespace)) = (metadata.name, metadata.namespace) else {
                    continue;
                };
                gone(
                    Api::<Pod>::namespaced(self.client(), &namespace)
                        .delete(&pod, &at_once)
                        .await,
                    "pod",
                    &pod,
                )?;
            }
            gone(
                Api::<Node>::all(self.client()).delete(&name, &at_once).await,
                "node",
                &name,
            )?;
            gone(leases.delete(&name, &at_once).await, "lease", &name)?;
        }
        Ok(())
    }

    async fn remove_route(&self, tenant: &Admitted) -> Result<(), ClusterError> {
        let Some(via) = tenant.via() else { return Ok(()) };
        self.parts
            .container
            .end_redirect(tenant.instance().private_ip, via)
            .await
    }
}

/// Makes of a deletion that found nothing a deletion that worked.
fn gone<T>(result: kube::Result<T>, kind: &str, name: &str) -> Result<(), ClusterError> {
    match result {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(ClusterError::api(format!("delete {kind} `{name}`"))(error)),
        Ok(_) => Ok(()),
    }
}
