//! How does the harness reach an API server? Clients, readiness, watches, objects, and the container around it.

pub(crate) mod access;
pub(crate) mod baseline;
pub(crate) mod container;
pub(crate) mod objects;
pub(crate) mod reconcile;
pub(crate) mod watch;
