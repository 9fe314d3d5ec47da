//! Another instance of an account.

use std::time::SystemTime;

use nodejoin_core::plan::InstancePlan;

/// Another instance of the account, as EC2 and Auto Scaling describe it.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    pub plan: InstancePlan,
    pub launched: SystemTime,
    /// Whether EC2 returns its names.
    pub is_named: bool,
    /// `LifecycleState` in its Auto Scaling group.
    pub lifecycle: &'static str,
    pub is_healthy: bool,
}
