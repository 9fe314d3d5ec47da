//! Tests that need no container engine.

mod actions;
mod aws;
mod before_start;
mod help;
mod inspect;
mod keeper;
mod merge;
mod on_demand;
mod refusals;
mod release;
mod try_file;
mod watch;
