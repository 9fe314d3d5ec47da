//! The services: one file each, each a function from an instance's state and a request to an answer.

pub mod authorize;
pub mod cloudformation;
pub mod ec2;
pub mod ecr;
pub mod eks;
pub mod imds;
pub mod registry;
pub mod sts;
