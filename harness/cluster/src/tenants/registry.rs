//! The tenants of one control plane, and how to find one.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::api::certificates::v1::CertificateSigningRequestSpec;
use nodejoin_core::plan::InstancePlan;
use nodejoin_core::plan::ids::InstanceId;
use parking_lot::Mutex;

use super::state::TenantState;
use super::tenant::Tenant;
use crate::ClusterError;

/// The tenants of one control plane.
#[derive(Debug, Default)]
pub(crate) struct Tenants {
    by_instance: Mutex<BTreeMap<InstanceId, Arc<TenantState>>>,
}

impl Tenants {
    /// Adds a tenant.
    ///
    /// # Errors
    /// When another tenant has the same instance id, private address or private DNS name.
    pub(crate) fn admit(&self, tenant: Tenant) -> Result<Arc<TenantState>, ClusterError> {
        let mut tenants = self.by_instance.lock();
        for other in tenants.values() {
            check_distinct(other.instance(), &tenant.instance)?;
        }
        let id = tenant.instance.id.clone();
        let tenant = Arc::new(TenantState::new(tenant));
        tenants.insert(id, Arc::clone(&tenant));
        Ok(tenant)
    }

    pub(crate) fn remove(&self, instance: &InstanceId) -> Option<Arc<TenantState>> {
        self.by_instance.lock().remove(instance)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_instance.lock().is_empty()
    }

    pub(crate) fn by_instance(&self, instance: &InstanceId) -> Option<Arc<TenantState>> {
        self.by_instance.lock().get(instance).cloned()
    }

    /// Finds a tenant by the session name in a user's extra: an instance's session name is its id.
    pub(crate) fn by_session(&self, session: &str) -> Option<Arc<TenantState>> {
        self.by_instance(&session.parse().ok()?)
    }

    pub(crate) fn by_user(&self, user: &str) -> Option<Arc<TenantState>> {
        self.find(|tenant| tenant.is_user(user))
    }

    pub(crate) fn by_request(&self, spec: &CertificateSigningRequestSpec) -> Option<Arc<TenantState>> {
        self.find(|tenant| tenant.is_requestor(spec))
    }

    pub(crate) fn by_node(&self, name: &str) -> Option<Arc<TenantState>> {
        self.find(|tenant| tenant.is_node(name))
    }

    /// Finds a tenant by the source address of a request.
    pub(crate) fn by_address(&self, address: IpAddr) -> Option<Arc<TenantState>> {
        self.find(|tenant| {
            let own = IpAddr::from(tenant.instance().private_ip);
            own == address
                || tenant
                    .container_ip()
                    .is_some_and(|ip| IpAddr::from(ip) == address)
        })
    }

    /// The tenants with a row of `aws-auth` for any of these lower-case ARNs.
    pub(crate) fn by_rows(&self, arns: &[String]) -> Vec<Arc<TenantState>> {
        let tenants = self.by_instance.lock();
        let with_rows = tenants
            .values()
            .filter(|tenant| !tenant.own_rows(arns).is_empty());
        with_rows.cloned().collect()
    }

    fn find(&self, matches: impl Fn(&TenantState) -> bool) -> Option<Arc<TenantState>> {
        self.by_instance
            .lock()
            .values()
            .find(|tenant| matches(tenant))
            .cloned()
    }
}

fn check_distinct(holder: &InstancePlan, new: &InstancePlan) -> Result<(), ClusterError> {
    let taken = |what, value: String| {
        Err(ClusterError::Taken {
            what,
            value,
            holder: holder.id.to_string(),
        })
    };
    if holder.id == new.id {
        return taken("instance id", new.id.to_string());
    }
    if holder.private_ip == new.private_ip {
        return taken("private address", new.private_ip.to_string());
    }
    if holder.private_dns_name == new.private_dns_name {
        return taken("private DNS name", new.private_dns_name.clone());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_tenant_is_found_by_session_user_node_and_address() {
        let tenants = Tenants::default();
        let (tenant, _events) = testing::tenant();
        let admitted = tenants.admit(tenant.clone()).unwrap();
        let name = tenant.instance.private_dns_name.as_str();
        assert!(tenants.by_session("i-0b22a22eec53b9321").is_some());
        assert!(tenants.by_user(&format!("system:node:{name}")).is_some());
        assert!(tenants.by_node(name).is_some());
        assert!(tenants.by_node("another").is_none());
        admitted.add_user("system:node:another");
        admitted.replace_container_ip([172, 30, 0, 4].into());
        assert!(tenants.by_node("another").is_some());
        assert!(tenants.by_address([172, 30, 0, 4].into()).is_some());
        assert!(admitted.node_names().contains("another"));
        tenants.remove(&tenant.instance.id);
        assert!(tenants.by_node(name).is_none());
    }

    #[test]
    fn two_tenants_cannot_share_an_address() {
        let tenants = Tenants::default();
        let (tenant, _events) = testing::tenant();
        tenants.admit(tenant.clone()).unwrap();
        let mut other = tenant;
        other.instance.id = "i-0b22a22eec53b9322".parse().unwrap();
        let error = tenants.admit(other).unwrap_err();
        assert_eq!(
            error.to_string(),
            "private address `192.168.40.16` is already used by instance `i-0b22a22eec53b9321` on this control plane"
        );
    }
}
