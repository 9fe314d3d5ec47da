//! Tests that need no container engine.

mod actions;
mod aws;
mod before_start;
mod help;
mod inspect;
mod on_demand;
mod refusals;
mod try_file;
