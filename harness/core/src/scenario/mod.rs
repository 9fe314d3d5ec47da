//! Scenario files: their types, how they are read, and how defaults make a plan of them.

mod discover;
mod file;
mod load;
mod resolve;
mod rules;
mod sources;
mod unique;
mod user_data;

pub use discover::{Found, discover};
pub use file::*;
pub use load::{load, load_all};
