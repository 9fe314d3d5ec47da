//! Names that two scenarios on one control plane cannot both have: the second waits for the first.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use nodejoin_core::plan::Plan;
use tokio::sync::Notify;

/// The names in use on one control plane. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Claims {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    held: Mutex<BTreeSet<String>>,
    /// Woken at every release; who waits looks again.
    released: Notify,
}

/// Names held by one scenario, given back when this is dropped.
#[derive(Debug)]
pub struct Claim {
    shared: Arc<Shared>,
    names: BTreeSet<String>,
}

impl Claims {
    /// Waits until none of the plan's names is in use, then holds them.
    ///
    /// All names are taken at once or none is, so two waiters cannot block each other.
    pub async fn hold(&self, plan: &Plan) -> Claim {
        let names = names(plan);
        loop {
            // Registered before the look, so that a release between the two is not missed.
            let released = self.shared.released.notified();
            if self.take(&names) {
                return Claim {
                    shared: Arc::clone(&self.shared),
                    names,
                };
            }
            released.await;
        }
    }

    fn take(&self, names: &BTreeSet<String>) -> bool {
        let mut held = self.shared.held.lock().unwrap_or_else(PoisonError::into_inner);
        if !held.is_disjoint(names) {
            return false;
        }
        held.extend(names.iter().cloned());
        true
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut held = self.shared.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|name| !self.names.contains(name));
        drop(held);
        self.shared.released.notify_waiters();
    }
}

/// What must be one scenario's alone: instance, address, Node name, and every role that its aws-auth or its profile names.
fn names(plan: &Plan) -> BTreeSet<String> {
    let mut names = BTreeSet::from([
        format!("instance {}", plan.instance.id),
        format!("address {}", plan.instance.private_ip),
        format!("node {}", plan.instance.private_dns_name),
    ]);
    names.extend(
        plan.role
            .iter()
            .map(|role| format!("role {}", role.name.to_lowercase())),
    );
    names.extend(plan.cluster.aws_auth.iter().map(|row| {
        let name = row.rolearn.rsplit('/').next().unwrap_or(&row.rolearn);
        format!("role {}", name.to_lowercase())
    }));
    names
}
