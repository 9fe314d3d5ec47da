//! Scenarios, plans, observations and verdicts of node joins.
//!
//! Pure: nothing here opens a socket, reads the clock or the environment, or knows Docker or Kubernetes clients.
//!
//! ```text
//! scenario YAML -> Scenario -> Plan -> (the engine runs it) -> Observation -> Verdict
//! ```
//!
//! A folder uses only folders above it in this table.
//!
//! | folder | content |
//! | --- | --- |
//! | `vocabulary` | phases, causes, regions, ids and other terms that files, plans and observations share |
//! | `redact` | removes credentials from every report |
//! | `input` | reads users' files; every problem points at line and column |
//! | `kubernetes` | versions, skew, and differences between releases |
//! | `plan` | a scenario with every default filled in, as data that can cross a process boundary |
//! | `observation` | what was seen of a join, and which phases it reached |
//! | `user_data` | the bytes an instance boots with, and how cloud-init splits them |
//! | `image_archive` | what a registry serves from an image archive |
//! | `scenario` | the scenario file, its rules and its defaults; overlays |
//! | `diagnosis` | why a join stopped |
//! | `compare` | what two versions of a script leave differently on a machine |
//! | `explore` | which other worlds to run user data in, and what is wrong on their machines |
//! | `mutation` | which small changes of a script a suite of scenarios notices |
//! | `judge` | whether there is more to wait for, and the verdict |
//! | `run` | settings, shards, events and exit codes of a whole run |

pub mod compare;
pub mod diagnosis;
pub mod explore;
pub mod image_archive;
pub mod input;
pub mod judge;
pub mod kubernetes;
pub mod mutation;
pub mod observation;
pub mod plan;
pub mod redact;
pub mod run;
pub mod scenario;
#[cfg(any(test, feature = "test-support"))]
pub mod testing;
pub mod user_data;
pub mod vocabulary;
