//! Admits tenants and retires them.
//!
//! | method | stays on the control plane |
//! | --- | --- |
//! | [`ControlPlane::remove`] | nothing |
//! | [`ControlPlane::retire_keeping_node`] | the Node: a new instance is to get its name |
//! | [`ControlPlane::retire_keeping_objects`] | everything, for a person to inspect |

use std::collections::BTreeSet;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt as _};
use nodejoin_core::plan::bootstrap_token::BootstrapToken;
use nodejoin_core::plan::ids::InstanceId;
use nodejoin_core::plan::{Approval, ClusterPlan, LateRight, RoleMapping};

use super::running::ControlPlane;
use crate::ClusterError;
use crate::api_server::objects::deleted;
use crate::client_certificates::outpost;
use crate::install::Install;
use crate::tenants::{Tenant, TenantState};

impl ControlPlane {
    /// Admits a tenant. Its rows of `aws-auth` and its bootstrap tokens are in effect when this returns. After a
    /// failure the tenant is removed again.
    ///
    /// # Errors
    /// When another tenant has the instance's id, address or private DNS name, or the API server rejects an object.
    pub async fn admit(&self, tenant: Tenant) -> Result<(), ClusterError> {
        let admitted = self.eks.state.tenants.admit(tenant)?;
        let created = self.create_objects_of(&admitted).await;
        if created.is_err() {
            // `remove` logs what it cannot remove.
            let _ = self.remove(&admitted.instance().id).await;
        }
        created
    }

    async fn create_objects_of(&self, admitted: &TenantState) -> Result<(), ClusterError> {
        for name in self.take_kept(&admitted.node_names()) {
            self.delete_node(&name).await?;
        }
        let tenant = &admitted.tenant;
        let (id, cluster) = (&tenant.instance.id, &tenant.cluster);
        for token in &cluster.bootstrap_tokens {
            admitted.add_user(&token.user());
        }
        tokio::try_join!(
            self.add_rows(id, cluster),
            self.add_tokens(&cluster.bootstrap_tokens),
            self.allow_clients(tenant),
        )?;
        Ok(())
    }

    async fn add_rows(&self, id: &InstanceId, cluster: &ClusterPlan) -> Result<(), ClusterError> {
        if let Some(text) = &cluster.aws_auth_text {
            return self.eks.aws_auth.replace(id, text).await;
        }
        let rows = cluster.aws_auth.iter();
        let now: Vec<RoleMapping> = rows.filter(|row| row.after_seconds.is_none()).cloned().collect();
        self.eks.aws_auth.add(id, &now).await
    }

    /// Grants a right that a tenant has lacked so far. It is in effect when this returns.
    ///
    /// # Errors
    /// When the API server rejects it, or the authenticator does not read a row in time.
    pub async fn grant(&self, instance: &InstanceId, right: LateRight<'_>) -> Result<(), ClusterError> {
        match right {
            LateRight::Row(row) => self.eks.aws_auth.add(instance, std::slice::from_ref(row)).await,
            LateRight::Serving => {
                if let Some(tenant) = self.eks.state.tenants.by_instance(instance) {
                    tenant.approve_serving();
                }
                Ok(())
            }
            LateRight::Clients => match self.eks.state.tenants.by_instance(instance) {
                Some(tenant) => self.approve_clients(&tenant.tenant).await,
                None => Ok(()),
            },
        }
    }

    /// Lets the node get a client certificate, unless the right comes late.
    async fn allow_clients(&self, tenant: &Tenant) -> Result<(), ClusterError> {
        match tenant.cluster.approve_clients {
            Approval::Always(true) => self.approve_clients(tenant).await,
            Approval::Always(false) | Approval::Late(_) => Ok(()),
        }
    }

    async fn approve_clients(&self, tenant: &Tenant) -> Result<(), ClusterError> {
        outpost::allow(&self.client, &tenant.cluster, &tenant.instance).await
    }

    async fn add_tokens(&self, tokens: &[BootstrapToken]) -> Result<(), ClusterError> {
        match &self.bootstrap {
            Some(bootstrap) => bootstrap.add(tokens, &self.version, &self.ca_pem).await,
            // Scenarios with bootstrap tokens are skipped here.
            None => Ok(()),
        }
    }

    async fn remove_tokens(&self, tokens: &[BootstrapToken]) -> Result<(), ClusterError> {
        match &self.bootstrap {
            Some(bootstrap) => bootstrap.remove(tokens).await,
            None => Ok(()),
        }
    }

    /// Removes everything of a tenant: its rows of `aws-auth`, bootstrap tokens, Node, lease, certificate signing
    /// requests, pods and redirection. Remove the node's container first: the API server accepts a token for some
    /// seconds after its removal, and a kubelet would register again.
    ///
    /// # Errors
    /// The first failed removal. All failed ones are logged.
    pub async fn remove(&self, instance: &InstanceId) -> Result<(), ClusterError> {
        let Some(tenant) = self.eks.state.tenants.remove(instance) else {
            return Ok(());
        };
        let removals = tokio::join!(
            self.eks.aws_auth.remove(instance),
            self.remove_requests(&tenant),
            self.remove_nodes(&tenant),
            self.remove_route(&tenant),
            self.remove_tokens(&tenant.tenant.cluster.bootstrap_tokens),
            outpost::disallow(&self.client, &tenant.tenant.cluster, tenant.instance()),
        );
        let failed = [
            removals.0, removals.1, removals.2, removals.3, removals.4, removals.5,
        ]
        .into_iter()
        .filter_map(Result::err);
        let mut failed = failed
            .inspect(|error| tracing::warn!(%error, %instance, "could not remove an object of the tenant"));
        let first = failed.next();
        failed.for_each(drop);
        first.map_or(Ok(()), Err)
    }

    /// Removes a tenant whose instance is gone but keeps its Node, because another instance is to get its name.
    ///
    /// # Errors
    /// When an object could not be removed.
    pub async fn retire_keeping_node(&self, instance: &InstanceId) -> Result<(), ClusterError> {
        let Some(tenant) = self.eks.state.tenants.remove(instance) else {
            return Ok(());
        };
        self.eks.aws_auth.remove(instance).await?;
        self.remove_requests(&tenant).await?;
        self.remove_route(&tenant).await
    }

    /// Deletes a Node, as `kubectl delete node` does.
    ///
    /// # Errors
    /// When the API server rejects the request. A missing Node is not an error.
    pub async fn delete_node(&self, name: &str) -> Result<(), ClusterError> {
        let result = Api::<Node>::all(self.client())
            .delete(name, &DeleteParams::default())
            .await;
        deleted(result, "Node", name)
    }

    /// Retires a tenant whose node is kept, with all its objects: Node, requests, rows of `aws-auth`. Admitting a later
    /// tenant of the same name deletes the Node. On a user's cluster it removes everything.
    ///
    /// # Errors
    /// When an object could not be removed.
    pub async fn retire_keeping_objects(&self, instance: &InstanceId) -> Result<(), ClusterError> {
        match &self.install {
            Install::External(_) => self.remove(instance).await,
            Install::Own(_) => {
                if let Some(tenant) = self.eks.state.tenants.remove(instance) {
                    self.kept_nodes.lock().extend(tenant.node_names());
                }
                Ok(())
            }
        }
    }

    /// Takes these names out of the kept Nodes.
    fn take_kept(&self, names: &BTreeSet<String>) -> BTreeSet<String> {
        let mut kept = self.kept_nodes.lock();
        let taken = &*kept & names;
        kept.retain(|name| !taken.contains(name));
        taken
    }

    /// Lists the requests, because the watch may not have delivered the last one yet.
    async fn remove_requests(&self, tenant: &TenantState) -> Result<(), ClusterError> {
        let api = Api::<CertificateSigningRequest>::all(self.client());
        let all = api.list(&ListParams::default()).await;
        let all = all.map_err(ClusterError::api("list certificate signing requests"))?;
        for request in all
            .items
            .into_iter()
            .filter(|request| tenant.is_requestor(&request.spec))
        {
            let name = request.name_any();
            deleted(
                api.delete(&name, &DeleteParams::default()).await,
                "CertificateSigningRequest",
                &name,
            )?;
        }
        self.eks.state.signing_requests.remove(&tenant.instance().id);
        Ok(())
    }

    /// Deletes pods first, without a grace period: no kubelet is left to confirm their end.
    async fn remove_nodes(&self, tenant: &TenantState) -> Result<(), ClusterError> {
        let immediately = DeleteParams::default().grace_period(0);
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
                deleted(
                    Api::<Pod>::namespaced(self.client(), &namespace)
                        .delete(&pod, &immediately)
                        .await,
                    "Pod",
                    &pod,
                )?;
            }
            deleted(
                Api::<Node>::all(self.client()).delete(&name, &immediately).await,
                "Node",
                &name,
            )?;
            deleted(leases.delete(&name, &immediately).await, "Lease", &name)?;
        }
        Ok(())
    }

    async fn remove_route(&self, tenant: &TenantState) -> Result<(), ClusterError> {
        match (tenant.container_ip(), self.install.container()) {
            (Some(container_ip), Some(container)) => {
                let address = tenant.instance().private_ip;
                container.end_redirect(address, container_ip).await
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
    use std::sync::Arc;

    use kube::{Client, Config};
    use nodejoin_core::run::time_factor::TimeFactor;
    use tokio::sync::watch;

    use super::*;
    use crate::api_server::access::Access;
    use crate::control_plane::eks_layer::{EksLayer, SharedState, Tasks};
    use crate::controllers::aws_auth::AwsAuthStore;
    use crate::iam::aws_auth::AwsAuth;
    use crate::install::{ExternalInstall, Relay};
    use crate::observe::signing_requests::SigningRequests;
    use crate::tenants::Tenants;
    use crate::testing;
    use crate::webhooks::probe::WebhookProbe;
    use nodejoin_core::run::secret::Secret;

    /// A control plane whose API server refuses connections.
    async fn unreachable() -> ControlPlane {
        let closed = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let config = Config::new(format!("https://{closed}").parse().unwrap());
        let client = Client::try_from(config.clone()).unwrap();
        let tenants = Arc::new(Tenants::default());
        let (_, read) = watch::channel(AwsAuth::default());
        let factor = TimeFactor::ONE;
        let relay = Relay::start(Ipv4Addr::LOCALHOST, vec![closed]).await.unwrap();
        let run = "0123456789ab".parse().unwrap();
        ControlPlane {
            version: "v1.36.2".to_owned(),
            endpoint: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1),
            ca_pem: String::new(),
            other_ca_pem: String::new(),
            node_labels: Default::default(),
            client: client.clone(),
            access: Access::by_impersonation(config, Secret::new(String::new())),
            time_factor: factor,
            install: Install::External(ExternalInstall::new(
                run,
                client.clone(),
                String::new(),
                factor,
                relay,
            )),
            eks: EksLayer {
                state: SharedState {
                    signing_requests: Arc::new(SigningRequests::new(Arc::clone(&tenants))),
                    tenants,
                },
                aws_auth: AwsAuthStore::new(client.clone(), client, read, factor),
                tasks: Tasks::new(),
            },
            bootstrap: None,
            lacks: Vec::new(),
            probe: Arc::new(WebhookProbe::new(String::new())),
            kept_nodes: Default::default(),
            start_times: Vec::new(),
        }
    }

    // The clock is paused: a write is repeated for a minute while the API server is away.
    #[tokio::test(start_paused = true)]
    async fn a_tenant_whose_admission_fails_is_removed() {
        let plane = unreachable().await;
        let (tenant, _events) = testing::tenant();
        let id = tenant.instance.id.clone();
        let error = plane.admit(tenant.clone()).await.unwrap_err();
        assert!(matches!(error, ClusterError::Api { .. }), "{error}");
        assert!(plane.tenant(&id).is_err());
        let again = plane.admit(tenant).await.unwrap_err();
        assert!(
            matches!(again, ClusterError::Api { .. }),
            "not taken by itself: {again}"
        );
    }
}
