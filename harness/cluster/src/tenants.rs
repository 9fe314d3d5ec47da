//! Who is on the control plane: one tenant a scenario, and whose a request, an object or a token is.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use k8s_openapi::api::certificates::v1::CertificateSigningRequestSpec;
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::observation::{Audit, Authentication, Certificate, MappingWrite, NodeChange};
use nodejoin_core::plan::ids::{AccountId, InstanceId};
use nodejoin_core::plan::region::Region;
use nodejoin_core::plan::{ClusterPlan, InstancePlan};
use tokio::sync::mpsc;

use crate::ClusterError;

/// A scenario's share of a control plane.
#[derive(Debug, Clone)]
pub struct Tenant {
    /// The EKS cluster that the scenario believes in.
    pub cluster: ClusterPlan,
    /// The instance that is to join.
    pub instance: InstancePlan,
    /// Its account.
    pub account: AccountId,
    /// Its region.
    pub region: Region,
    /// The range of its pods' addresses, where the harness lays the CNI configuration down.
    pub pod_cidr: Option<String>,
    /// Where everything that concerns the instance goes. The control plane sends and never waits; a closed channel
    /// means that nobody listens any more, and is not an error.
    pub events: mpsc::UnboundedSender<ClusterEvent>,
}

/// Something that happened on the control plane and concerns one tenant.
#[derive(Debug, Clone)]
pub struct ClusterEvent {
    /// When, at its source.
    pub at: SystemTime,
    /// What.
    pub what: ClusterFact,
}

/// The kinds of things that happen on a control plane.
#[derive(Debug, Clone)]
pub enum ClusterFact {
    /// The authenticator decided on a token.
    Authentication(Authentication),
    /// The audit log has a request of the node, or about it.
    Audit(Audit),
    /// The Node came, changed or went.
    Node {
        /// The change in short.
        change: NodeChange,
        /// The object, without its managed fields; `None` once it is gone.
        object: Option<serde_json::Value>,
    },
    /// A certificate signing request of the node came or changed.
    Certificate(Certificate),
    /// Rows of the tenant were added to `aws-auth`.
    Mapping(MappingWrite),
}

/// The tenants of one control plane.
#[derive(Debug, Default)]
pub(crate) struct Tenants {
    admitted: Mutex<BTreeMap<InstanceId, Arc<Admitted>>>,
}

/// A tenant, and what became known of it since.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) tenant: Tenant,
    learned: Mutex<Learned>,
}

#[derive(Debug, Default)]
struct Learned {
    /// User names that the authenticator gave this instance.
    users: BTreeSet<String>,
    /// The address of its container.
    via: Option<Ipv4Addr>,
    /// How far its Node has come, of the phases that a control plane sees.
    phase: Option<Phase>,
}

impl Tenants {
    /// Takes a tenant in.
    pub(crate) fn admit(&self, tenant: Tenant) -> Result<Arc<Admitted>, ClusterError> {
        let mut admitted = lock(&self.admitted);
        for other in admitted.values() {
            refuse_shared(&other.tenant.instance, &tenant.instance)?;
        }
        let id = tenant.instance.id.clone();
        let tenant = Arc::new(Admitted {
            tenant,
            learned: Mutex::default(),
        });
        admitted.insert(id, Arc::clone(&tenant));
        Ok(tenant)
    }

    pub(crate) fn withdraw(&self, instance: &InstanceId) -> Option<Arc<Admitted>> {
        lock(&self.admitted).remove(instance)
    }

    pub(crate) fn by_instance(&self, instance: &InstanceId) -> Option<Arc<Admitted>> {
        lock(&self.admitted).get(instance).cloned()
    }

    /// By the session name that the authenticator put into the user's extra: an instance's is its id.
    pub(crate) fn by_session(&self, session: &str) -> Option<Arc<Admitted>> {
        self.by_instance(&session.parse().ok()?)
    }

    pub(crate) fn by_user(&self, user: &str) -> Option<Arc<Admitted>> {
        self.find(|tenant| tenant.is_user(user))
    }

    pub(crate) fn by_request(&self, spec: &CertificateSigningRequestSpec) -> Option<Arc<Admitted>> {
        self.find(|tenant| tenant.is_requestor(spec))
    }

    /// By the name of a Node: the instance's own names, or the one its user may register.
    pub(crate) fn by_node(&self, name: &str) -> Option<Arc<Admitted>> {
        let user = format!("{NODE_USER}{name}");
        self.find(|tenant| tenant.is_named(name) || tenant.learned().users.contains(&user))
    }

    /// By the address that a request came from.
    pub(crate) fn by_address(&self, address: IpAddr) -> Option<Arc<Admitted>> {
        self.find(|tenant| {
            let own = IpAddr::from(tenant.tenant.instance.private_ip);
            own == address || tenant.via().is_some_and(|via| IpAddr::from(via) == address)
        })
    }

    /// Those to whom any of these rows of `aws-auth` belongs, by its ARN in lower case.
    pub(crate) fn mapping(&self, arns: &[String]) -> Vec<Arc<Admitted>> {
        let admitted = lock(&self.admitted);
        let mapping = admitted
            .values()
            .filter(|tenant| !tenant.own_rows(arns).is_empty());
        mapping.cloned().collect()
    }

    fn find(&self, is_it: impl Fn(&Admitted) -> bool) -> Option<Arc<Admitted>> {
        lock(&self.admitted)
            .values()
            .find(|tenant| is_it(tenant))
            .cloned()
    }
}

impl Admitted {
    pub(crate) fn instance(&self) -> &InstancePlan {
        &self.tenant.instance
    }

    pub(crate) fn tell(&self, at: SystemTime, what: ClusterFact) {
        if let ClusterFact::Node { change, .. } = &what
            && change.exists
        {
            let phase = if change.ready {
                Phase::Ready
            } else {
                Phase::Registered
            };
            let mut learned = self.learned();
            learned.phase = learned.phase.max(Some(phase));
        }
        // A scenario that is over has dropped its receiver.
        let _ = self.tenant.events.send(ClusterEvent { at, what });
    }

    pub(crate) fn learn_user(&self, user: &str) {
        self.learned().users.insert(user.to_owned());
    }

    /// Tells the address of its container, and returns the one it had before.
    pub(crate) fn learn_via(&self, via: Ipv4Addr) -> Option<Ipv4Addr> {
        self.learned().via.replace(via)
    }

    /// Whether the scenario lets the authenticator be down by now.
    pub(crate) fn is_left_by_authenticator(&self) -> bool {
        let until = self.tenant.cluster.authenticator_until;
        until.is_some() && self.learned().phase >= until
    }

    pub(crate) fn via(&self) -> Option<Ipv4Addr> {
        self.learned().via
    }

    /// Of these ARNs in lower case those that the tenant's rows have, as it writes them.
    pub(crate) fn own_rows(&self, arns: &[String]) -> Vec<String> {
        let own = self.tenant.cluster.aws_auth.iter().map(|row| &row.rolearn);
        own.filter(|own| arns.contains(&own.to_lowercase()))
            .cloned()
            .collect()
    }

    /// Whether this instance asked for a certificate.
    pub(crate) fn is_requestor(&self, spec: &CertificateSigningRequestSpec) -> bool {
        let session = spec
            .extra
            .as_ref()
            .and_then(|extra| extra.get("sessionName")?.first());
        let user = spec.username.as_deref().unwrap_or_default();
        match session {
            Some(session) => session == self.instance().id.as_str(),
            None => self.is_user(user),
        }
    }

    fn is_user(&self, user: &str) -> bool {
        let is_node = user
            .strip_prefix(NODE_USER)
            .is_some_and(|node| self.is_named(node));
        is_node || self.learned().users.contains(user)
    }

    /// The names under which the instance's Node may stand: its private DNS name, what its system calls itself, and its
    /// id, which is the host name of instances with resource names.
    pub(crate) fn node_names(&self) -> BTreeSet<String> {
        let instance = self.instance();
        let own = [
            instance.private_dns_name.clone(),
            instance.host_name.clone(),
            instance.id.to_string(),
        ];
        let users = self.learned().users.clone();
        let learned = users
            .into_iter()
            .filter_map(|user| user.strip_prefix(NODE_USER).map(str::to_owned));
        own.into_iter()
            .chain(learned)
            .filter(|name| !name.is_empty())
            .collect()
    }

    fn is_named(&self, name: &str) -> bool {
        let instance = self.instance();
        name == instance.private_dns_name || name == instance.host_name || name == instance.id.as_str()
    }

    fn learned(&self) -> MutexGuard<'_, Learned> {
        lock(&self.learned)
    }
}

fn refuse_shared(holder: &InstancePlan, asked: &InstancePlan) -> Result<(), ClusterError> {
    let taken = |what, value: String| {
        Err(ClusterError::Taken {
            what,
            value,
            holder: holder.id.to_string(),
        })
    };
    if holder.id == asked.id {
        return taken("instance id", asked.id.to_string());
    }
    if holder.private_ip == asked.private_ip {
        return taken("private address", asked.private_ip.to_string());
    }
    if holder.private_dns_name == asked.private_dns_name {
        return taken("private DNS name", asked.private_dns_name.clone());
    }
    Ok(())
}

/// A poisoned lock only tells that another task panicked; that panic is raised where the task is joined.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The prefix of every node's user name.
pub(crate) const NODE_USER: &str = "system:node:";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_tenant_is_found_by_everything_it_is_known_by() {
        let tenants = Tenants::default();
        let (tenant, _events) = testing::tenant();
        let admitted = tenants.admit(tenant.clone()).unwrap();
        let name = tenant.instance.private_dns_name.as_str();
        assert!(tenants.by_session("i-0b22a22eec53b9321").is_some());
        assert!(tenants.by_user(&format!("system:node:{name}")).is_some());
        assert!(tenants.by_node(name).is_some());
        assert!(tenants.by_node("another").is_none());
        admitted.learn_user("system:node:another");
        admitted.learn_via([172, 30, 0, 4].into());
        assert!(tenants.by_node("another").is_some());
        assert!(tenants.by_address([172, 30, 0, 4].into()).is_some());
        assert!(admitted.node_names().contains("another"));
        tenants.withdraw(&tenant.instance.id);
        assert!(tenants.by_node(name).is_none());
    }

    #[test]
    fn the_authenticator_leaves_a_tenant_at_its_phase_for_good() {
        let tenants = Tenants::default();
        let (mut tenant, _events) = testing::tenant();
        tenant.cluster.authenticator_until = Some(Phase::Ready);
        let admitted = tenants.admit(tenant).unwrap();
        let mut seen = Vec::new();
        for ready in [false, true, false] {
            let change = NodeChange {
                name: "a".to_owned(),
                exists: true,
                ready,
            };
            admitted.tell(SystemTime::now(), ClusterFact::Node { change, object: None });
            seen.push(admitted.is_left_by_authenticator());
        }
        assert_eq!(seen, [false, true, true]);
    }

    #[test]
    fn what_one_instance_has_no_other_may_claim() {
        let tenants = Tenants::default();
        let (tenant, _events) = testing::tenant();
        tenants.admit(tenant.clone()).unwrap();
        let mut other = tenant;
        other.instance.id = "i-0b22a22eec53b9322".parse().unwrap();
        let error = tenants.admit(other).unwrap_err();
        assert_eq!(
            error.to_string(),
            "private address `192.168.40.16` is already taken by instance `i-0b22a22eec53b9321` on this control plane"
        );
    }
}
