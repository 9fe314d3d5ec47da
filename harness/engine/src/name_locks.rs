//! Locks on names that two scenarios on one control plane cannot both use: the second scenario waits for the first. A
//! scenario that changes the control plane for all others has it alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use nodejoin_core::plan::Plan;
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// The locks of one run. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct NameLocks {
    names: Arc<LockedNames>,
    /// Ordinary scenarios hold it for reading, exclusive ones for writing. Waiters get it in the order of their
    /// requests.
    control_plane: Arc<RwLock<()>>,
}

#[derive(Debug, Default)]
struct LockedNames {
    locked: Mutex<BTreeSet<String>>,
    /// Wakes all waiters at every release.
    released: Notify,
}

/// The locks of one scenario. Dropping it releases them.
#[derive(Debug)]
pub struct NameLock {
    names: BTreeSet<String>,
    shared: Arc<LockedNames>,
    _control_plane: ControlPlaneGuard,
}

#[derive(Debug)]
#[expect(dead_code, reason = "a guard does its work when it is dropped")]
enum ControlPlaneGuard {
    Shared(OwnedRwLockReadGuard<()>),
    Exclusive(OwnedRwLockWriteGuard<()>),
}

impl NameLocks {
    /// Waits until no scenario uses any name of the plan, then locks them all; an exclusive plan waits until no other
    /// scenario runs.
    ///
    /// Either all names are locked or none, so two waiters cannot block each other.
    pub async fn acquire(&self, plan: &Plan) -> NameLock {
        self.lock(names(plan), plan.is_exclusive()).await
    }

    async fn lock(&self, names: BTreeSet<String>, is_exclusive: bool) -> NameLock {
        let control_plane = Arc::clone(&self.control_plane);
        let guard = if is_exclusive {
            ControlPlaneGuard::Exclusive(control_plane.write_owned().await)
        } else {
            ControlPlaneGuard::Shared(control_plane.read_owned().await)
        };
        loop {
            // Registered before the attempt, so that a release between the two is not missed.
            let released = self.names.released.notified();
            if self.try_lock(&names) {
                return NameLock {
                    names,
                    shared: Arc::clone(&self.names),
                    _control_plane: guard,
                };
            }
            released.await;
        }
    }

    fn try_lock(&self, names: &BTreeSet<String>) -> bool {
        let mut locked = self.names.locked.lock();
        if !locked.is_disjoint(names) {
            return false;
        }
        locked.extend(names.iter().cloned());
        true
    }
}

impl Drop for NameLock {
    fn drop(&mut self) {
        self.shared
            .locked
            .lock()
            .retain(|name| !self.names.contains(name));
        self.shared.released.notify_waiters();
    }
}

/// Everything that must be unique on a control plane: instances, addresses, Node names, and every role of aws-auth or
/// the profile. Nothing joins in a probe, so probes share their roles.
fn names(plan: &Plan) -> BTreeSet<String> {
    let compared = plan.same_as.iter().flat_map(|other| other.instances());
    let mut names: BTreeSet<String> = plan
        .instances()
        .chain(compared)
        .flat_map(|instance| {
            [
                format!("instance {}", instance.id),
                format!("address {}", instance.private_ip),
                format!("node {}", instance.private_dns_name),
            ]
        })
        .collect();
    if plan.is_probe {
        return names;
    }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt as _;

    use super::*;
    use crate::testing::plan;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn probes_of_one_role_run_side_by_side() {
        let plan = plan("name: x\n");
        let is_role = |name: &String| name.starts_with("role ");
        assert!(names(&plan).iter().any(is_role));
        assert!(!names(&plan.probe()).iter().any(is_role));
    }

    #[tokio::test]
    async fn a_shared_name_makes_the_second_scenario_wait_for_the_first() {
        let locks = NameLocks::default();
        let first = locks.lock(set(&["role a", "node x"]), false).await;
        let mut second = Box::pin(locks.lock(set(&["role a", "node y"]), false));
        assert!((&mut second).now_or_never().is_none());
        let _other = locks.lock(set(&["role b"]), false).await;
        assert!((&mut second).now_or_never().is_none());
        drop(first);
        drop(second.await);
        assert_eq!(*locks.names.locked.lock(), set(&["role b"]));
    }

    #[tokio::test]
    async fn a_waiting_scenario_holds_no_name() {
        let locks = NameLocks::default();
        let _first = locks.lock(set(&["a"]), false).await;
        let mut waiting = Box::pin(locks.lock(set(&["a", "b"]), false));
        assert!((&mut waiting).now_or_never().is_none());
        let third = locks.lock(set(&["b"]), false).now_or_never();
        assert!(third.is_some(), "`b` is free until both names can be locked");
    }

    #[tokio::test]
    async fn an_exclusive_scenario_runs_alone() {
        let locks = NameLocks::default();
        let first = locks.lock(set(&["a"]), false).await;
        let mut exclusive = Box::pin(locks.lock(set(&["b"]), true));
        assert!((&mut exclusive).now_or_never().is_none());
        drop(first);
        let alone = exclusive.await;
        let mut next = Box::pin(locks.lock(set(&["c"]), false));
        assert!((&mut next).now_or_never().is_none());
        drop(alone);
        let limit = Duration::from_secs(10);
        assert!(tokio::time::timeout(limit, next).await.is_ok());
    }

    #[test]
    fn roles_are_compared_without_case_and_path() {
        let plan = plan(
            "name: x\ninstance: { role: Demo-Role }\ncluster: { aws_auth: [{ rolearn: 'arn:aws:iam::111122223333:role/team/Other', \
             username: u }] }\n",
        );
        let names = names(&plan);
        for name in ["role demo-role", "role other"] {
            assert!(names.contains(name), "{names:?}");
        }
        let kinds = ["instance ", "address ", "node "];
        assert!(
            kinds
                .iter()
                .all(|kind| names.iter().any(|name| name.starts_with(kind)))
        );
    }
}
