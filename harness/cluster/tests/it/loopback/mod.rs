//! Tests that need no container engine.

mod errors;
mod wiring;
