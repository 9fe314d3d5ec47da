//! The terms that files, plans, observations and diagnoses share. Nothing here depends on another folder.
//!
//! | file | content |
//! | --- | --- |
//! | `phase.rs` | the phases of a join |
//! | `cause.rs`, `cause_facts.rs` | the causes of a stopped join, with what holds for each |
//! | `service.rs` | the services of the fake AWS |
//! | `region.rs` | the AWS regions with EKS |
//! | `ids.rs` | ids of accounts, instances, runs and scenarios, and bootstrap tokens |
//! | `cluster_status.rs` | the statuses of an EKS cluster |
//! | `cidr.rs` | IPv4 networks |
//! | `inotify.rs` | the inotify instances that nodes need |
//! | `nearest.rs` | suggestions for misspelled words |

pub mod cause;
pub mod cause_facts;
pub mod cidr;
pub mod cluster_status;
pub mod ids;
pub mod inotify;
pub mod nearest;
pub mod phase;
pub mod region;
pub mod service;
