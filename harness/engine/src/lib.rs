//! Runs plans: brings up what they share, drives each to its verdict, reports, and removes everything.
//!
//! ```text
//! Harness (images, Run) -- first scenario --> Ground (network, fakes, control plane)
//!    each plan:  Claims -> Tenancy (world + tenant) -> Node -> Observer -> judge -> Evidence -> given back
//!    all of it:  one stream of RunEvent -> console, JSON lines, JUnit
//! ```
//!
//! | file | what it does |
//! | --- | --- |
//! | `harness`, `ground` | what scenarios share, and when it starts |
//! | `claims` | keeps two scenarios from holding one name |
//! | `runner` | many plans, cancellation, teardown |
//! | `scenario`, `tenancy`, `observer` | one plan, from its worlds to its verdict |
//! | `nodes` | one node: its join, and the steps after it |
//! | `account` | one account served without any of these |
//! | `evidence`, `report` | what is left to read |

pub mod account;
mod claims;
mod direct;
mod error;
mod events;
mod evidence;
mod ground;
mod harness;
mod nodes;
mod observer;
mod providers;
mod registry;
pub mod report;
mod runner;
mod scenario;
mod security_tokens;
mod settings;
mod tenancy;

pub use error::EngineError;
pub use events::Events;
pub use harness::{Harness, new_run_id};
pub use nodejoin_cluster::{ClusterError, ExternalSettings, WiringFolder};
pub use runner::{count, run_all};
pub use settings::{Keep, Settings};
