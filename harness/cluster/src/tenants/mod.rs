//! Which scenarios share the control plane, and which of them does a request, an object or a token concern?

mod registry;
mod state;
mod tenant;

pub(crate) use registry::Tenants;
pub(crate) use state::{NODE_USER, TenantState};
pub use tenant::{ClusterEvent, ClusterFact, Tenant};
