//! The worlds of a run, looked up by the source address of a request.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Weak};
use std::time::SystemTime;

use nodejoin_core::plan::ids::{InstanceId, RunId};
use nodejoin_core::run::time_factor::TimeFactor;
use parking_lot::{Mutex, MutexGuard, RwLock};
use tokio::sync::Notify;

use crate::account_state::AccountState;
use crate::clock::Clock;
use crate::http::Request;
use crate::instance::Instance;
use crate::services::cloudformation;
use crate::shared_account::SharedAccount;
use crate::sigv4::request_signature;
use crate::world::World;

/// The worlds of a run. A request holds the lock of its instance while a pure function runs, never across an await.
pub(crate) struct WorldRegistry {
    run: RunId,
    clock: Arc<dyn Clock>,
    /// Scales the timeouts for slow clients.
    pub(crate) time_factor: TimeFactor,
    index: RwLock<WorldIndex>,
    /// Wakes those who wait for an address to be attached.
    attached: Notify,
}

#[derive(Debug, Default)]
struct WorldIndex {
    instances: HashMap<InstanceId, SharedInstance>,
    sources: HashMap<IpAddr, InstanceId>,
    /// Serves every source address that is not in `sources`.
    default_instance: Option<InstanceId>,
    /// The accounts of the instances.
    accounts: Vec<(SharedAccount, Weak<Mutex<AccountState>>)>,
}

impl WorldIndex {
    /// The state of an account, which lives as long as one of its instances.
    fn account(&mut self, account: SharedAccount) -> Arc<Mutex<AccountState>> {
        self.accounts.retain(|(_, state)| state.strong_count() > 0);
        let mut known = self.accounts.iter();
        let known = known.find(|(other, _)| other.is(&account));
        if let Some(state) = known.and_then(|(_, state)| state.upgrade()) {
            return state;
        }
        let state = Arc::default();
        self.accounts.push((account, Arc::downgrade(&state)));
        state
    }
}

impl fmt::Debug for WorldRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorldRegistry")
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

/// An instance that several connections use.
#[derive(Debug, Clone)]
pub(crate) struct SharedInstance {
    instance: Arc<Mutex<Instance>>,
    account: Arc<Mutex<AccountState>>,
}

impl SharedInstance {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Instance> {
        self.instance.lock()
    }

    /// Runs `work` on the instance while it sees the other instances of its account.
    pub(crate) fn in_account<T>(&self, now: SystemTime, work: impl FnOnce(&mut Instance) -> T) -> T {
        self.account.lock().enter(&self.instance, now, work)
    }
}

impl WorldRegistry {
    pub(crate) fn new(run: RunId, clock: Arc<dyn Clock>) -> Self {
        Self {
            run,
            clock,
            time_factor: TimeFactor::ONE,
            index: RwLock::default(),
            attached: Notify::new(),
        }
    }

    pub(crate) fn run(&self) -> &RunId {
        &self.run
    }

    pub(crate) fn now(&self) -> SystemTime {
        self.clock.now()
    }

    pub(crate) fn admit(&self, world: World) {
        let (id, account) = (world.instance.id.clone(), world.shared.clone());
        let instance = Arc::new(Mutex::new(Instance::launch(world, self.now())));
        let mut index = self.index.write();
        let account = index.account(account);
        account.lock().join(&instance);
        index.instances.insert(id, SharedInstance { instance, account });
    }

    pub(crate) fn attach(&self, source: IpAddr, id: &InstanceId) {
        let now = self.now();
        let mut index = self.index.write();
        index.sources.insert(source, id.clone());
        if let Some(instance) = index.instances.get(id) {
            // A reboot does not start the instance again.
            instance.lock().started.get_or_insert(now);
        }
        drop(index);
        self.attached.notify_waiters();
    }

    /// Waits until this address belongs to this instance. Another instance can have had the address before.
    pub(crate) async fn attached(&self, source: IpAddr, id: &InstanceId) -> SharedInstance {
        loop {
            let changed = self.attached.notified();
            tokio::pin!(changed);
            // Registered before the look, so that an attachment between the two is not missed.
            changed.as_mut().enable();
            let found = {
                let index = self.index.read();
                let is_attached = index.sources.get(&source) == Some(id);
                is_attached.then(|| index.instances.get(id).cloned()).flatten()
            };
            if let Some(shared) = found {
                return shared;
            }
            changed.await;
        }
    }

    /// Starts an instance that clients reach by a port of its own.
    pub(crate) fn start(&self, id: &InstanceId) {
        let now = self.now();
        if let Some(instance) = self.instance(id) {
            instance.lock().started = Some(now);
        }
    }

    /// Serves an instance to every source address without an instance of its own.
    pub(crate) fn attach_default(&self, id: &InstanceId) {
        self.index.write().default_instance = Some(id.clone());
        self.start(id);
    }

    pub(crate) fn faults_fired(&self, id: &InstanceId) -> BTreeMap<usize, u32> {
        let instance = self.instance(id);
        instance
            .map(|shared| shared.lock().faults.fired())
            .unwrap_or_default()
    }

    pub(crate) fn detach(&self, id: &InstanceId) -> BTreeMap<usize, u32> {
        let mut index = self.index.write();
        index.sources.retain(|_, instance| instance != id);
        let instance = index.instances.remove(id);
        instance
            .map(|instance| instance.lock().faults.fired())
            .unwrap_or_default()
    }

    /// The instance whose node has this address.
    pub(crate) fn at(&self, source: IpAddr) -> Option<SharedInstance> {
        let index = self.index.read();
        let id = index.sources.get(&source).or(index.default_instance.as_ref())?;
        index.instances.get(id).cloned()
    }

    pub(crate) fn instance(&self, id: &InstanceId) -> Option<SharedInstance> {
        self.index.read().instances.get(id).cloned()
    }

    /// The instance that sent a request to the services of a served account: its credentials or its identity document
    /// name it. A request without either is one of `attached`, the instance of the connection.
    pub(crate) fn sender(&self, attached: SharedInstance, request: &Request) -> SharedInstance {
        if self.index.read().default_instance.is_none() {
            return attached;
        }
        let by_key = request_signature::claimed_access_key_id(request).and_then(|id| self.owner_of_key(&id));
        let by_document = || self.instance(&cloudformation::claimed_instance(request)?);
        by_key.or_else(by_document).unwrap_or(attached)
    }

    /// The instance whose credentials include this access key.
    pub(crate) fn owner_of_key(&self, access_key_id: &str) -> Option<SharedInstance> {
        let index = self.index.read();
        let mut instances = index.instances.values();
        instances
            .find(|shared| shared.lock().issued.find(access_key_id).is_some())
            .cloned()
    }
}
