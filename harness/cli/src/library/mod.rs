//! nodejoin from Rust: runs scenarios, or user data, from a test or a program.
//!
//! | file | what it does |
//! | --- | --- |
//! | `builder.rs` | the settings of a [`Nodejoin`], and its start |
//! | `harness.rs` | a [`Nodejoin`] that runs, until it removes everything |
//! | `request.rs` | a scenario, or user data, that is about to run |
//! | `report.rs` | what a run returns |
//! | `folder.rs` | a folder of scenarios as tests of `cargo test` |
//! | `kept.rs` | scenarios in a keeper |
//! | `progress.rs` | the progress of images on the terminal |
//! | `error.rs` | why nothing ran |

mod builder;
mod error;
mod folder;
mod harness;
mod kept;
mod progress;
mod report;
mod request;

pub use builder::NodejoinBuilder;
pub use error::LibraryError;
pub use folder::scenario_tests;
pub use harness::Nodejoin;
pub use report::ScenarioReport;
pub use request::ScenarioRequest;
