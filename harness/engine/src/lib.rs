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
//! | `keeper`, `environment_pool` | a process that keeps environments for several runs |
//! | `scenario`, `conclude`, `hold` | one plan: from its sessions to its verdict, and what stays alive |
//! | `complete`, `evidence` | what a finished scenario leaves for a reader |
//! | `session`, `collect`, `sources` | one instance in its environment: admission, facts, events |
//! | `join`, `node_driver`, `watch`, `observer` | one node: its join, and the steps after it |
//! | `nodes_ahead` | nodes that boot before their scenarios start |
//! | `probe` | one plan up to the start of the kubelet, and the state of its machine |
//! | `plan_runner` | runs the plans of comparison, mutation and exploration, here or in a keeper |
//! | `comparison` | probes and joins of two versions of the same scenarios |
//! | `trace_log` | what the scripts of traced scenarios ran |
//! | `mutation` | the scenarios of a script with changed versions of it |
//! | `exploration` | probes and joins of the same user data in other worlds |
//! | `page` | the pages of the evidence |
//! | `merge` | joins the records and reports of several runs |
//! | `account` | one AWS account served without any of these |
//! | `report` | reports of a run |

pub mod account;
mod collect;
mod comparison;
mod complete;
mod conclude;
mod context;
mod environment;
mod environment_pool;
mod error;
mod events;
mod evidence;
mod exploration;
mod hold;
mod image_user_data;
mod join;
pub mod keeper;
mod machine_snapshot;
pub mod merge;
mod mutation;
mod name_locks;
mod node_driver;
mod nodes_ahead;
mod observer;
mod page;
mod plan_runner;
mod preparation;
mod probe;
mod reboots;
mod registry;
pub mod report;
mod runner;
mod same_machine;
mod scenario;
mod security_tokens;
mod session;
mod settings;
mod settle;
mod sources;
#[cfg(test)]
mod testing;
mod trace_log;
mod user_data;
mod verdict;
mod watch;

pub use comparison::{
    CompareSettings, CompareStep, JoinsWhen, Pair, RecordedMachine, WorldsWhen, compare, record,
};
pub use context::run_event;
pub use error::EngineError;
pub use events::Events;
pub use exploration::{ExploreSettings, ExploreStep, Subject, explore};
pub use mutation::{
    BaseScenario, KillingExpectation, MutantCase, MutantOutcome, MutatedScript, MutationSettings,
    ReplaceScript, base_scenarios, mutate,
};
pub use nodejoin_cluster::{ClusterError, ExternalSettings, ProviderKind, WiringFolder};
pub use nodejoin_docker::new_run_id;
pub use page::comparison::html as comparison_page;
pub use plan_runner::PlanRunner;
pub use probe::{ProbeEnd, Probed};
pub use runner::{Runner, run_all};
pub use settings::{Caller, RerunCommand, Settings};
pub use trace_log::TraceLog;
