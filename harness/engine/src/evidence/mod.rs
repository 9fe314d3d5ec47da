//! The evidence of a scenario: files that a person reads to find out why. Each text is redacted before it is written.
//!
//! | file | content |
//! | --- | --- |
//! | `folder.rs` | the folder of a scenario, and the files about its verdict and its observation |
//! | `user_data.rs` | the user data and its parts |
//! | `index.rs` | `index.json`, which lists all of them |
//! | `run_folder.rs` | the folder of a run: its record, the link to the latest run, and when old ones are removed |

mod folder;
mod index;
mod run_folder;
mod user_data;

pub(crate) use folder::{EvidenceFolder, of_observation, of_verdict};
pub(crate) use index::{FinishedScenario, write_index};
pub(crate) use run_folder::RunFolder;
pub(crate) use user_data::of_user_data;
