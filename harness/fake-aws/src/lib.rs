//! AWS as a node sees it: instance metadata, EKS, STS, EC2, ECR, a registry, CloudFormation and DNS, on the wire.
//!
//! ```text
//!            server/                    router.rs               services/
//! source  -> world_registry: world  ->  endpoint: service   ->  (instance, request) -> response
//! address    effects: fault             operation: target       pure
//!            event to the engine
//! ```
//!
//! Three ports: metadata (HTTP), all other services (HTTPS, by host name) and DNS. The source address of a request
//! selects its world, so that many worlds share the ports. Each service's file starts with a table of its requests and
//! lists which parts are real and which are faked. Events and logs contain no credentials.
//!
//! | file | contents |
//! | --- | --- |
//! | `server/` | sockets, connections, the path of a request |
//! | `router.rs`, `endpoint.rs`, `operation.rs` | host name to service, request to operation |
//! | `not_emulated.rs` | requests to the other services of AWS |
//! | `services/` | one module per service |
//! | `world.rs`, `instance.rs`, `world_registry.rs` | a scenario's AWS, the state of its instance, lookup by address |
//! | `metadata/`, `stacks.rs`, `images.rs`, `credentials.rs` | parts of that state |
//! | `faults.rs`, `effects.rs` | when a fault fires, and what it changes |
//! | `refusals.rs` | connections that a fault refused in the node |
//! | `answers.rs` | the scenario's own answers |
//! | `outside.rs` | requests to hosts outside |
//! | `sigv4/`, `sigv2.rs`, `iam.rs` | signatures and policies, from the server's side |
//! | `wire/` | responses and errors in each protocol's format |
//! | `identity/` | signatures of the instance identity document |
//! | `changes.rs` | changes of an account while it is served |
//! | `dns.rs`, `dns/`, `tls.rs`, `arn.rs`, `ec2_names.rs` | names, and certificates for them |
//! | `sts_client.rs` | STS for the control plane's authenticator |

#![warn(unreachable_pub)]

mod account_state;
mod answers;
mod arn;
mod changes;
mod clock;
mod content;
mod credentials;
mod dns;
mod dns_faults;
mod ec2_names;
mod effects;
mod endpoint;
mod error;
mod faults;
#[cfg(fuzzing)]
pub mod fuzzing;
mod group_member;
mod http;
mod iam;
pub mod identity;
mod images;
mod instance;
mod interface_store;
mod log_store;
mod metadata;
mod not_emulated;
mod operation;
mod outside;
mod peer;
#[cfg(test)]
mod property_tests;
mod refusals;
mod router;
mod server;
mod services;
mod shared_account;
mod sigv2;
mod sigv4;
#[cfg(test)]
mod snapshots;
mod stacks;
mod sts_client;
#[cfg(test)]
mod testing;
mod tls;
mod upstream;
mod wire;
mod world;
mod world_registry;

pub use clock::{Clock, StoppedClock};
pub use error::FakeAwsError;
pub use images::{RegistryImage, busybox_images};
pub use refusals::Refusals;
pub use server::{AccountAddresses, AccountServer, BoundFakeAws, FakeAws, FakeAwsServer};
pub use services::sts::CallerIdentity;
pub use shared_account::SharedAccount;
pub use sts_client::{StsClient, StsError};
pub use world::{AwsEvent, AwsEventKind, World};
