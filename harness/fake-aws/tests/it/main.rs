//! Tests of the tier `loopback`: the servers on 127.0.0.1 against real clients. They need neither Docker nor a cluster.
#![expect(clippy::unwrap_used, reason = "a test that cannot continue ends here")]

mod account;
mod answers;
mod aws_clients;
mod ec2;
mod ec2_resources;
mod faults;
mod hops;
mod identity;
mod lifecycle;
mod metadata;
mod metadata_options;
mod metadata_values;
mod network_interfaces;
mod node_clients;
mod not_emulated;
mod outside;
mod pod_identity;
mod presigned;
mod registry;
mod resolver;
mod robustness;
mod rust_sdk;
mod s3;
mod scaling_and_logs;
mod stored;
mod transcript;
mod upstream;

#[path = "../support/mod.rs"]
mod support;
