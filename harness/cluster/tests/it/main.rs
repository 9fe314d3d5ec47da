//! Integration tests of the control planes, by requirement.
//!
//! | module | needs |
//! | --- | --- |
//! | [`loopback`] | nothing but this process and 127.0.0.1 |
//! | [`engine`] | a container engine |

#![expect(
    clippy::unwrap_used,
    reason = "a failed precondition ends the test with a panic"
)]

mod engine;
mod loopback;
