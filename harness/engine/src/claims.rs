//! Names that two scenarios on one control plane cannot both have: the second waits for the first. And the control plane itself,
//! which a scenario that changes it for all has alone.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use nodejoin_core::plan::Plan;
use tokio::sync::{Notify, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// The names in use on one control plane. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Claims {
    shared: Arc<Shared>,
    /// Read by those who stand beside each other, written by one who stands alone. Who waits for it is served in turn.
    place: Arc<RwLock<()>>,
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
    _place: Place,
}

#[derive(Debug)]
#[expect(dead_code, reason = "a guard does its work when it is dropped")]
enum Place {
    Beside(OwnedRwLockReadGuard<()>),
    Alone(OwnedRwLockWriteGuard<()>),
}

impl Claims {
    /// Waits until none of the plan's names is in use, then holds them; an exclusive plan waits until nobody else is there.
    ///
    /// All names are taken at once or none is, so two waiters cannot block each other.
    pub async fn hold(&self, plan: &Plan) -> Claim {
        let names = names(plan);
        let place = Arc::clone(&self.place);
        let place = if plan.is_exclusive() {
            Place::Alone(place.write_owned().await)
        } else {
            Place::Beside(place.read_owned().await)
        };
        loop {
            // Registered before the look, so that a release between the two is not missed.
            let released = self.shared.released.notified();
            if self.take(&names) {
                return Claim {
                    shared: Arc::clone(&self.shared),
                    names,
                    _place: place,
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
    let mut names: BTreeSet<String> = plan
        .instances()
        .flat_map(|instance| {
            [
                format!("instance {}", instance.id),
                format!("address {}", instance.private_ip),
                format!("node {}", instance.private_dns_name),
            ]
        })
        .collect();
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
