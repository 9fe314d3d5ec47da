//! Scenarios, plans, observations and verdicts of node joins.
//!
//! Pure: nothing here opens a socket, reads the clock or the environment, or knows Docker or Kubernetes clients.
//!
//! ```text
//! scenario YAML -> Scenario -> Plan -> (the engine runs it) -> Observation -> Verdict
//! ```

pub mod expect;
pub mod fault;
pub mod ids;
pub mod observation;
pub mod phase;
pub mod plan;
pub mod verdict;
