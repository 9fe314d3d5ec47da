//! Scenario files: their types, and how they become plans.

mod account;
mod derived_defaults;
mod discover;
mod file;
mod load;
pub mod overlay;
mod patch;
mod replicas;
mod repositories;
mod resolve;
mod rules;
mod schema;
mod sources;
mod user_data;

pub use account::{AccountFile, aws_auth_rows, default_account, load_account};
pub use discover::{ScenarioPath, discover};
pub use file::*;
pub use load::{load, load_all};
pub use schema::scenario_schema;
