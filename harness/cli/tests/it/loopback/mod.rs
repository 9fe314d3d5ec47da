//! Tests that need no container engine.

mod actions;
mod aws;
mod help;
mod on_demand;
mod refusals;
