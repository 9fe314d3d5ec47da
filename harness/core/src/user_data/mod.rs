//! EC2 user data: what a scenario gives, with its values filled in, and how cloud-init takes it apart.

mod compose;
mod fill;

pub use compose::{LIMIT, MimePart, UserDataError, message, render};
pub use fill::{UnknownTemplate, Values, fill};
