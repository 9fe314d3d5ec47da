//! Tests of the real command, in one program.
//!
//! | module | needs |
//! | --- | --- |
//! | `loopback` | 127.0.0.1, temporary folders, and real clients (curl, the AWS CLI); no container engine |
//! | `engine` | a container engine, and images of nodes and control planes |
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot continue ends with the panic of its unwrap"
)]

mod engine;
mod loopback;
#[path = "../../../fake-aws/tests/support/moto.rs"]
mod moto;
mod support;
#[path = "../../../fake-aws/tests/support/venv.rs"]
mod venv;
