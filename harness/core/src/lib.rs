//! Scenarios, plans, observations and verdicts of node joins.
//!
//! Pure: nothing here opens a socket, reads the clock or the environment, or knows Docker or Kubernetes clients.
//!
//! ```text
//! scenario YAML -> Scenario -> Plan -> (the engine runs it) -> Observation -> Verdict
//! ```

pub mod cidr;
pub mod diagnosis;
pub mod event;
pub mod exit_code;
pub mod expect;
pub mod fault;
pub mod files;
pub mod ids;
pub mod judge;
pub mod observation;
pub mod overlay;
pub mod phase;
pub mod phases;
pub mod plan;
pub mod problem;
pub mod redact;
mod report;
pub mod scenario;
pub mod schema;
pub mod user_data;
pub mod verdict;
pub mod yaml;
