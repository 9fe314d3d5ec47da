//! Tests of nodes, in one program.
//!
//! | module | needs |
//! | --- | --- |
//! | `loopback` | 127.0.0.1, temporary folders, and programs of this host (bash, python3); no container engine |
//! | `engine` | a container engine, and the image of a node |
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue ends with the panic of its unwrap"
)]

mod engine;
mod loopback;
