//! Connections that rules in a node refused: the fakes never saw them.

use std::sync::Arc;
use std::time::SystemTime;

use nodejoin_core::observation::AwsCall;
use nodejoin_core::plan::fault::Service;
use nodejoin_core::plan::ids::InstanceId;

use crate::world::AwsEventKind;
use crate::world_registry::WorldRegistry;

/// Where the node of an instance reports the connections that its rules refused.
#[derive(Debug, Clone)]
pub struct Refusals {
    worlds: Arc<WorldRegistry>,
    instance: InstanceId,
}

impl Refusals {
    pub(crate) fn new(worlds: Arc<WorldRegistry>, instance: InstanceId) -> Self {
        Self { worlds, instance }
    }

    /// Records the connections to a service that were refused so far, `total` since the start of the node: the new ones
    /// become events. A report that repeats an earlier one changes nothing.
    pub fn record(&self, at: SystemTime, service: Service, total: u32) {
        let Some(shared) = self.worlds.instance(&self.instance) else {
            return;
        };
        let mut instance = shared.lock();
        let Some((fault, new)) = instance.faults.refused(service, total) else {
            return;
        };
        for _ in 0..new {
            let call = AwsCall::refused_connection(service, fault);
            instance.record(at, AwsEventKind::Aws(call));
        }
    }
}
