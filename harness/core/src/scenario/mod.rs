//! Scenario files: their types, and how they become plans.

mod account;
mod answers;
mod cluster_file;
mod derived;
mod derived_defaults;
mod discover;
mod file;
mod image;
mod instance;
mod load;
mod nullable;
mod other_files;
mod outside;
pub mod overlay;
mod patch;
mod replicas;
mod repositories;
mod resolve;
mod rules;
mod same_as;
mod schema;
mod sources;
mod user_data;
mod user_data_file;
mod variables;
mod variants;

pub use account::{AccountFile, aws_auth_rows, default_account, load_account};
pub use cluster_file::*;
pub use derived::{Derived, derived};
pub use discover::{ScenarioPath, discover};
pub use file::*;
pub use load::{duplicates, load, load_all, load_file};
pub use replicas::with_own_instance;
pub use schema::scenario_schema;
pub use user_data_file::*;
pub use variants::variant_of;
