//! AWS as a node sees it: instance metadata, EKS, STS, EC2, ECR, a registry, CloudFormation and DNS, on the wire.
//!
//! ```text
//!              listening/             router.rs          services/*.rs
//! source  ->   world by address   ->  service by     ->  (state, request) -> answer
//! address      fault, if one meets    host name          pure
//!              event to the engine
//! ```
//!
//! Three ports: metadata (HTTP), all other services (HTTPS, by host name) and DNS. A request belongs to the world whose node has
//! its source address; many worlds stand side by side. Each service's file opens with what it answers, what of it is real and
//! what is not. No credential gets into an event or a log.
//!
//! | file | what |
//! | --- | --- |
//! | `listening/` | sockets, connections, the way of a request |
//! | `router.rs` | host name to service, request to operation |
//! | `services/` | one file a service |
//! | `sigv4/` | signatures, from the server's side |
//! | `iam.rs` | who asks, and what their policies let them do |
//! | `wire/` | answers and errors in each protocol's shape |
//! | `world.rs` | what a scenario's AWS holds, and an instance's state |
//! | `identity/` | signatures of the instance identity document |
//! | `changes.rs` | what can change of an account while it is served |
//! | `images.rs` | container images made in the process |
//! | `dns.rs`, `tls.rs` | names, and certificates for them |
//! | `sts_client.rs` | what the control plane's authenticator asks |

mod changes;
pub mod clock;
pub mod content;
pub mod credentials;
pub mod dns;
mod error;
pub mod exchange;
pub mod faults;
pub mod iam;
pub mod identity;
mod images;
mod listening;
pub mod router;
mod secret;
pub mod services;
pub mod sigv4;
#[cfg(test)]
mod snapshots;
mod sts_client;
#[cfg(test)]
mod testing;
mod tls;
mod wildcard;
pub mod wire;
mod world;

pub use error::FakeAwsError;
pub use images::{Blob, Holder, Layer, RegistryImage, Tags, busybox_images};
pub use listening::{Account, AccountDoors, Bound, FakeAws, Listening};
pub use secret::Secret;
pub use services::sts::CallerIdentity;
pub use sts_client::{Sts, StsError};
pub use world::{AwsEvent, AwsEventKind, Instance, Target, World};
