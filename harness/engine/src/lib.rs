//! Runs plans: starts what they share, drives each node to its verdict, reports, and removes everything.
//!
//! ```text
//! Runner (name locks) -- each plan --> ScenarioRun --> ScenarioSession (world, tenant) -> join -> verdict -> evidence
//!   +-- RunContext (images, run) -- first scenario --> Environment (network, fakes, control plane)
//!   +-- one stream of RunEvent --> console, JSON lines, JUnit, GitHub
//! ```
//!
//! | file | what it does |
//! | --- | --- |
//! | `runner`, `name_locks` | runs many plans; keeps two scenarios from using one name |
//! | `context`, `environment` | what scenarios share, and when it starts |
//! | `scenario`, `conclude`, `evidence` | one plan: from its sessions to its verdict, its evidence and what is kept |
//! | `session`, `collect`, `sources` | one instance in its environment: admission, facts, events |
//! | `join`, `node_driver`, `watch`, `observer` | one node: its join, and the steps after it |
//! | `account` | one AWS account served without any of these |
//! | `report` | reports of a run |

pub mod account;
mod collect;
mod conclude;
mod context;
mod environment;
mod error;
mod events;
mod evidence;
mod join;
mod name_locks;
mod node_driver;
mod observer;
mod reboots;
mod registry;
pub mod report;
mod runner;
mod scenario;
mod security_tokens;
mod session;
mod settings;
mod sources;
#[cfg(test)]
mod testing;
mod user_data;
mod verdict;
mod watch;

pub use error::EngineError;
pub use events::Events;
pub use nodejoin_cluster::{ClusterError, ExternalSettings, ProviderKind, WiringFolder};
pub use nodejoin_docker::new_run_id;
pub use runner::{Runner, count, run_all};
pub use settings::Settings;
