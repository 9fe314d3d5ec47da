//! Tests that need no container engine.

mod action_binary;
mod action_diff;
mod actions;
mod aws;
mod aws_instances;
mod aws_start;
mod before_start;
mod diff;
mod explore;
mod help;
mod inspect;
mod keeper;
mod merge;
mod mutate;
mod on_demand;
mod refusals;
mod release;
mod times;
mod try_file;
mod watch;
