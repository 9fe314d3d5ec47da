//! The terms that files, plans, observations and diagnoses share. Nothing here depends on another folder.
//!
//! | file | content |
//! | --- | --- |
//! | `phase.rs` | the phases of a join |
//! | `cause_table.rs`, `cause.rs`, `cause_facts.rs` | the causes of a stopped join: their table and its readers |
//! | `service.rs`, `operation.rs` | the services of the fake AWS and their operations |
//! | `aws_service.rs` | the services of AWS that the fake does not emulate |
//! | `not_emulated.rs` | the messages for calls that the fake AWS does not emulate |
//! | `instance_store.rs` | the disks of EC2 instance types |
//! | `metadata_path.rs` | the paths of the metadata service |
//! | `ec2_type.rs` | the EC2 instance types |
//! | `region.rs` | the AWS regions with EKS |
//! | `ids.rs` | ids of accounts, instances, runs and scenarios, and bootstrap tokens |
//! | `cluster_status.rs` | the statuses of an EKS cluster |
//! | `cidr.rs` | IPv4 networks |
//! | `file_type.rs` | the types of paths in a file system |
//! | `http_proxy.rs` | URLs of HTTP proxies |
//! | `inotify.rs` | the inotify instances that nodes need |
//! | `nearest.rs` | suggestions for misspelled words |
//! | `unit.rs` | systemd units |
//! | `upstream.rs` | addresses of other AWS emulators |
//! | `wildcard.rs` | the patterns of IAM and of filters |

pub mod aws_service;
pub mod cause;
pub mod cause_facts;
pub(crate) mod cause_table;
pub mod cidr;
pub mod cluster_status;
pub mod ec2_type;
pub mod endpoint;
pub mod file_type;
pub mod http_proxy;
pub mod ids;
pub mod inotify;
pub mod instance_store;
pub mod metadata_path;
pub mod nearest;
pub mod not_emulated;
pub mod operation;
pub mod outside_name;
pub mod phase;
pub mod region;
pub mod service;
pub mod unit;
pub mod upstream;
pub mod wildcard;
