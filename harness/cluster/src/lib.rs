//! Control planes: a real API server with the behaviours of EKS added from outside.
//!
//! ```text
//!   kubelet --token--> kube-apiserver --TokenReview--> webhook -> authenticator -> STS (fake AWS)
//!                        |   |  |                                     ^
//!                        |   |  +--audit events--> webhook -> audit --|--> events of the tenant
//!                        |   +--watches--> observer, approver, cloud node controller
//!                        +--watch of kube-system/aws-auth ------------+
//! ```
//!
//! | folder | question | depends on |
//! | --- | --- | --- |
//! | `control_plane` | What can be requested of a control plane, and how does it start? | all others |
//! | `provider` | Who runs the API server? | `install`, `wiring` |
//! | `install` | Whose cluster is it, and what has to be removed from it? | `controllers`, `client_certificates` |
//! | `controllers` | What does EKS do in a cluster in addition to upstream? | `api_server`, `iam` |
//! | `client_certificates` | How do nodes without an IAM role get their client certificates? | `api_server` |
//! | `webhooks` | What does the API server call, and does it call the harness? | `iam`, `observe`, `api_server` |
//! | `observe` | What happened, and which tenant does it concern? | `iam`, `api_server` |
//! | `iam` | Which Kubernetes user does a token belong to? | `tenants` |
//! | `tenants` | Which scenarios share the control plane? | |
//! | `wiring` | Which files and flags tie an API server to the harness? | `pki` |
//! | `api_server` | How does the harness reach an API server? | `pki` |
//! | `pki` | Which certificates and keys are there? | |
//! | `needs` | What does a scenario need that not every control plane provides? | |
//!
//! A folder depends only on folders below it. `harness/checks` fails for cycles.
//!
//! Life cycle: [`ControlPlane::start`], then any number of [`ControlPlane::admit`] and [`ControlPlane::remove`], then
//! [`ControlPlane::shut_down`]. The run removes the container.

mod api_server;
mod client_certificates;
mod control_plane;
mod controllers;
mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
mod iam;
mod install;
pub mod needs;
mod observe;
pub mod pki;
mod provider;
mod stopwatch;
mod tasks;
mod tenants;
#[cfg(test)]
mod testing;
mod webhooks;
mod wiring;

pub use api_server::baseline::Baseline;
pub use control_plane::ControlPlane;
pub use error::ClusterError;
pub use iam::sts::{SecurityTokens, StsIdentity, StsRejection};
pub use provider::{
    Capabilities, ExternalSettings, Permission, Provider, ProviderInputs, ProviderKind, StartContext,
    StartedApiServer, Starting, required_permissions,
};
pub use stopwatch::{StartTime, Stopwatch};
pub use tenants::{ClusterEvent, ClusterFact, Tenant};
pub use webhooks::token_webhook::{TokenWebhook, TokenWebhookSettings};
pub use wiring::{ApiServerWiring, WiringFolder};
