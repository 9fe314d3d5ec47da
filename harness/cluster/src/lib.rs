//! Control planes: a real API server, with the behaviours of EKS wired to it from outside.
//!
//! ```text
//!   kubelet --token--> kube-apiserver --TokenReview--> webhook -> authenticator -> STS (fake AWS)
//!                        |   |  |                                     ^
//!                        |   |  +--audit events--> webhook -> audit --|--> events of the tenant
//!                        |   +--watches--> observer, approver, cloud node controller
//!                        +--watch of kube-system/aws-auth ------------+
//! ```
//!
//! | file | question |
//! | --- | --- |
//! | `plane` | what can be asked of a running control plane? |
//! | `tenancy` | what is laid down for a tenant that comes, and taken away or left when it goes? |
//! | `start` | how does an API server become a control plane of EKS? |
//! | `provider` | who runs the API server? |
//! | `wiring`, `flags`, `wiring_folder` | which files and flags tie an API server to the harness, version by version? |
//! | `calls` | does it call the harness at all? |
//! | `foreign`, `relay` | what is made on a cluster of the user's, and how do nodes reach it? |
//! | `pki`, `access`, `secret` | who may talk to it, and how are keys kept out of sight? |
//! | `webhook` | what does the API server call? |
//! | `token`, `identity`, `mapping`, `access_entries`, `authenticator`, `sts` | whose is a token? |
//! | `reviews` | the webhook alone, for the API server of somebody else |
//! | `audit`, `certificates`, `request`, `observer` | what happened, and whom does it concern? |
//! | `controllers` | what does EKS do in a cluster beside upstream? |
//! | `tenants` | which scenarios share it? |
//! | `pod` | does a pod on the node answer? |
//! | `access_review` | what may a node do? |
//!
//! Life cycle: [`ControlPlane::start`], then any number of [`ControlPlane::admit`] and [`ControlPlane::withdraw`],
//! then [`ControlPlane::shut_down`]. The container is recorded by the run, which removes it.

mod access;
mod access_entries;
mod access_review;
mod audit;
mod authenticator;
mod calls;
mod certificates;
mod container;
mod controllers;
mod error;
mod flags;
mod foreign;
#[cfg(fuzzing)]
pub mod fuzzing;
mod identity;
mod kubeadm;
mod mapping;
pub mod needs;
mod observer;
mod outpost;
pub mod pki;
mod plane;
mod pod;
mod provider;
mod relay;
mod request;
mod reviews;
pub mod secret;
mod start;
mod stopwatch;
mod sts;
mod tenancy;
mod tenants;
#[cfg(test)]
mod testing;
mod token;
mod webhook;
mod wiring;
mod wiring_folder;

pub use error::ClusterError;
pub use plane::ControlPlane;
pub use provider::{External, ExternalSettings, K3s, Kind, KindProgram, Local, Provider, Running, Site};
pub use reviews::{TokenReviews, TokenReviewsAsk};
pub use stopwatch::{StartTime, Stopwatch};
pub use sts::{Caller, SecurityTokens, StsRefused};
pub use tenants::{ClusterEvent, ClusterFact, Tenant};
pub use wiring::Wiring;
pub use wiring_folder::WiringFolder;
