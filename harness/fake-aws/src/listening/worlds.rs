//! The worlds of a run, found by the source address of a request.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::SystemTime;

use nodejoin_core::plan::ids::{InstanceId, RunId};
use nodejoin_core::run::time_factor::TimeFactor;

use crate::clock::{Clock, Moment, Twist};
use crate::world::{Instance, World};

/// The worlds of a run. The lock of an instance is held for the moment that a pure function takes, never over an await.
pub struct Worlds {
    run: RunId,
    clock: Arc<dyn Clock>,
    /// By what the patience with clients is multiplied.
    pub(super) time_factor: TimeFactor,
    index: RwLock<Index>,
}

#[derive(Debug, Default)]
struct Index {
    instances: HashMap<InstanceId, Arc<Mutex<Instance>>>,
    sources: HashMap<IpAddr, InstanceId>,
    /// Whose everybody is that has no address here.
    everybody: Option<InstanceId>,
}

impl fmt::Debug for Worlds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worlds")
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

/// An instance of a run.
#[derive(Debug, Clone)]
pub struct Shared(Arc<Mutex<Instance>>);

impl Shared {
    /// The instance's state. A panic elsewhere while it was held has left nothing half done: every change is one assignment.
    pub fn lock(&self) -> MutexGuard<'_, Instance> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Worlds {
    pub(crate) fn new(run: RunId, clock: Arc<dyn Clock>) -> Self {
        Self {
            run,
            clock,
            time_factor: TimeFactor::ONE,
            index: RwLock::default(),
        }
    }

    pub(crate) fn run(&self) -> &RunId {
        &self.run
    }

    pub(crate) fn now(&self) -> SystemTime {
        self.clock.now()
    }

    pub(crate) fn admit(&self, world: World) {
        let id = world.instance.id.clone();
        let instance = Instance::launch(world, self.now());
        self.write().instances.insert(id, Arc::new(Mutex::new(instance)));
    }

    pub(crate) fn attach(&self, source: IpAddr, id: &InstanceId) {
        let now = self.now();
        let mut index = self.write();
        index.sources.insert(source, id.clone());
        if let Some(instance) = index.instances.get(id) {
            // A node that is rebooted is the instance that was started before.
            Shared(Arc::clone(instance)).lock().started.get_or_insert(now);
        }
    }

    /// Ties an instance to every source address that is nobody's.
    pub(crate) fn attach_everybody(&self, id: &InstanceId) {
        let now = self.now();
        let mut index = self.write();
        index.everybody = Some(id.clone());
        if let Some(instance) = index.instances.get(id) {
            Shared(Arc::clone(instance)).lock().started = Some(now);
        }
    }

    pub(crate) fn fired(&self, id: &InstanceId) -> BTreeMap<usize, u32> {
        let instance = self.instance(id);
        instance
            .map(|shared| shared.lock().faults.fired())
            .unwrap_or_default()
    }

    pub(crate) fn detach(&self, id: &InstanceId) -> BTreeMap<usize, u32> {
        let mut index = self.write();
        index.sources.retain(|_, instance| instance != id);
        let instance = index.instances.remove(id);
        instance
            .map(|instance| Shared(instance).lock().faults.fired())
            .unwrap_or_default()
    }

    /// The instance whose node has this address.
    pub(crate) fn at(&self, source: IpAddr) -> Option<Shared> {
        let index = self.read();
        let id = index.sources.get(&source).or(index.everybody.as_ref())?;
        index.instances.get(id).cloned().map(Shared)
    }

    /// An instance by its id.
    pub(crate) fn instance(&self, id: &InstanceId) -> Option<Shared> {
        self.read().instances.get(id).cloned().map(Shared)
    }

    /// The instance whose role got this access key.
    pub(crate) fn holder(&self, access_key_id: &str) -> Option<Shared> {
        let index = self.read();
        index
            .instances
            .values()
            .cloned()
            .map(Shared)
            .find(|shared| shared.lock().issued.find(access_key_id).is_some())
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// This time, as an instance sees it.
#[must_use]
pub fn moment(instance: &Instance, now: SystemTime) -> Moment {
    let elapsed = instance
        .started
        .and_then(|started| now.duration_since(started).ok())
        .unwrap_or_default();
    let moment = Moment {
        now: now.into(),
        elapsed,
        twist: Twist::None,
    };
    // The node has this machine's clock, and cannot be given another: AWS' is moved the other way.
    moment.ahead(-instance.world.instance.clock_ahead_seconds)
}
