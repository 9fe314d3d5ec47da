//! Tests that need no container engine.

mod authenticator;
mod fixtures;
