//! Tests with sockets on 127.0.0.1, without a container engine.

mod packages;
pub mod release_server;
mod releases;
