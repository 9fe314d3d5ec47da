//! Scenarios, plans, observations and verdicts of node joins.
//!
//! Pure: nothing here opens a socket, reads the clock or the environment, or knows Docker or Kubernetes clients.
//!
//! ```text
//! scenario YAML -> Scenario -> Plan -> (the engine runs it) -> Observation -> Verdict
//! ```
//!
//! | module | question |
//! | --- | --- |
//! | `scenario` | what a file asks for, and what is wrong with it (`yaml`, `schema`, `problem`, `files`) |
//! | `overlay` | which files of somebody's checkout lie where in the node |
//! | `architecture`, `instance_type` | which processor, by everybody's name for it; which devices beside it |
//! | `time_factor` | by what limits are multiplied on a slow machine |
//! | `plan` | the same with every default, as data that can cross a process boundary (`ids`, `aws`, `access_entry`, `fault`, `expect`) |
//! | `image_archive` | what a registry serves of an archive of an image |
//! | `change` | what can change of an account while it is served |
//! | `user_data` | which bytes an instance boots with, and what cloud-init makes of them |
//! | `observation` | what was seen of a join |
//! | `phase`, `phases` | how far it got |
//! | `kubernetes` | which versions there are, and what one has that another has not |
//! | `judge` | whether there is more to wait for, and what the `verdict` is |
//! | `diagnosis` | why it stopped |
//! | `source` | which line of the user's own files a verdict belongs to |
//! | `shard` | which scenarios are one machine's share |
//! | `at_once` | how many nodes run beside each other, and whether the host carries them |
//! | `event`, `exit_code` | what a run tells while it works and at its end |
//! | `require` | which control planes must be there |
//! | `redact` | what must never be told |

pub mod access_entry;
pub mod architecture;
pub mod at_once;
pub mod aws;
pub mod bootstrap_token;
pub mod change;
pub mod cidr;
pub mod coverage;
pub mod diagnosis;
mod document;
pub mod event;
pub mod exit_code;
pub mod expect;
pub mod fault;
pub mod files;
pub mod golden;
pub mod ids;
pub mod image_archive;
pub mod instance_type;
pub mod judge;
pub mod kubernetes;
pub mod observation;
pub mod overlay;
pub mod phase;
pub mod phases;
pub mod plan;
pub mod problem;
pub mod provider;
pub mod redact;
mod report;
pub mod require;
pub mod scenario;
pub mod schema;
pub mod settings_file;
pub mod shard;
pub mod source;
pub mod step;
pub mod time_factor;
pub mod user_data;
pub mod verdict;
pub mod yaml;
