//! Tests that drive the runner on control planes other than the one that the harness starts itself, in one program.
//!
//! All of them are in `engine`: they need a container engine and images.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue ends with the panic of its unwrap"
)]

mod engine;
mod support;
