//! Scenario files: their types, how they are read, and how defaults make a plan of them.

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
mod sources;
mod user_data;

pub use account::{AccountFile, aws_auth_rows, default_account, load_account};
pub use discover::{Found, discover};
pub use file::*;
pub use load::{load, load_all};
