//! Scenarios, plans, observations and verdicts of node joins.
//!
//! Pure: nothing here opens a socket, reads the clock or the environment, or knows Docker or Kubernetes clients.
//!
//! ```text
//! scenario YAML -> Scenario -> Plan -> (the engine runs it) -> Observation -> Verdict
//! ```
//!
//! | folder | content |
//! | --- | --- |
//! | `input` | reads users' files; every problem points at line and column |
//! | `scenario` | the scenario file, its rules and its defaults; overlays |
//! | `plan` | a scenario with every default filled in, as data that can cross a process boundary |
//! | `user_data` | the bytes an instance boots with, and how cloud-init splits them |
//! | `image_archive` | what a registry serves from an image archive |
//! | `kubernetes` | versions, skew, and differences between releases |
//! | `observation` | what was seen of a join, and which phases it reached |
//! | `diagnosis` | why a join stopped |
//! | `judge` | whether there is more to wait for, and the verdict |
//! | `run` | settings, shards, events and exit codes of a whole run |

pub mod diagnosis;
pub mod image_archive;
pub mod input;
pub mod judge;
pub mod kubernetes;
pub mod observation;
pub mod plan;
pub mod run;
pub mod scenario;
#[cfg(any(test, feature = "test-support"))]
pub mod testing;
pub mod user_data;
