//! What the instances of one account share: stacks, logs, interfaces and tags, and the list of instances.
//!
//! Each instance is a world of its own. While one of them serves a request, it holds the shared parts and a copy of
//! what the others show in EC2; afterwards it returns both.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use nodejoin_core::plan::ec2::OtherInstance;
use parking_lot::Mutex;

use crate::credentials::InstanceKey;
use crate::instance::Instance;
use crate::interface_store::InterfaceStore;
use crate::log_store::LogStore;
use crate::peer::Peer;
use crate::services::ec2::inventory;
use crate::stacks::Stacks;
use crate::world::World;

/// The state of an account with one or several instances.
#[derive(Debug, Default)]
pub(crate) struct AccountState {
    /// `None` until the first instance joins.
    parts: Option<SharedParts>,
    members: Vec<Weak<Mutex<Instance>>>,
}

/// The parts of an instance that belong to its account.
#[derive(Debug)]
struct SharedParts {
    stacks: Stacks,
    logs: LogStore,
    interfaces: InterfaceStore,
    /// Tags of resources besides instances, and the instances of `aws.instances`.
    tags: BTreeMap<String, BTreeMap<String, String>>,
    others: Vec<OtherInstance>,
    registry_key: InstanceKey,
}

impl SharedParts {
    fn of(world: &World) -> Self {
        Self {
            stacks: Stacks::of(&world.aws.stacks),
            logs: LogStore::of(world.region.as_str(), &world.aws.log_groups),
            interfaces: InterfaceStore::default(),
            tags: world.aws.tags.clone(),
            others: world.aws.instances.clone(),
            registry_key: InstanceKey::generate(),
        }
    }

    fn swap(&mut self, instance: &mut Instance) {
        std::mem::swap(&mut self.stacks, &mut instance.stacks);
        std::mem::swap(&mut self.logs, &mut instance.logs);
        std::mem::swap(&mut self.interfaces, &mut instance.interfaces);
        std::mem::swap(&mut self.tags, &mut instance.world.aws.tags);
        std::mem::swap(&mut self.others, &mut instance.world.aws.instances);
        std::mem::swap(&mut self.registry_key, &mut instance.registry_key);
    }
}

impl AccountState {
    /// Adds an instance.
    pub(crate) fn join(&mut self, instance: &Arc<Mutex<Instance>>) {
        let world = || SharedParts::of(&instance.lock().world);
        self.parts.get_or_insert_with(world);
        self.members.retain(|member| member.strong_count() > 0);
        self.members.push(Arc::downgrade(instance));
    }

    /// Runs `work` on an instance that sees its whole account. The caller holds the lock of the account, and no other
    /// one: it comes before those of instances, so that no two requests wait for each other.
    pub(crate) fn enter<T>(
        &mut self,
        instance: &Arc<Mutex<Instance>>,
        now: SystemTime,
        work: impl FnOnce(&mut Instance) -> T,
    ) -> T {
        let members = self.members.iter().filter_map(Weak::upgrade);
        let others: Vec<_> = members.filter(|member| !Arc::ptr_eq(member, instance)).collect();
        let peers: Vec<Peer> = others.iter().map(|other| peer(&other.lock(), now)).collect();
        let mut current = instance.lock();
        current.peers.clone_from(&peers);
        if let Some(parts) = &mut self.parts {
            parts.swap(&mut current);
        }
        let result = work(&mut current);
        if let Some(parts) = &mut self.parts {
            parts.swap(&mut current);
        }
        let changed = std::mem::take(&mut current.peers);
        drop(current);
        for ((other, before), after) in others.iter().zip(peers).zip(changed) {
            if before.plan != after.plan {
                let mut other = other.lock();
                other.world.instance = after.plan;
                other.reload_world();
            }
        }
        result
    }
}

fn peer(instance: &Instance, now: SystemTime) -> Peer {
    Peer {
        plan: instance.world.instance.clone(),
        launched: instance.launched,
        is_named: inventory::is_named(instance, instance.request_time(now)),
        lifecycle: instance.group_member.lifecycle_state(),
        is_healthy: instance.group_member.is_healthy,
    }
}
