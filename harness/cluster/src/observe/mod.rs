//! What happened on the control plane, and which tenant does it concern?

pub(crate) mod audit;
pub(crate) mod signing_requests;
pub(crate) mod watches;
