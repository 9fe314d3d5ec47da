//! Integration tests in two tiers:
//!
//! | module | needs |
//! | --- | --- |
//! | `loopback` | sockets on 127.0.0.1 and temporary folders; must not need a container engine |
//! | `engine` | a container engine |
#![expect(clippy::unwrap_used, reason = "helpers of tests panic like tests")]

mod engine;
mod loopback;
