//! Which machines does a file of another tool define, and with which user data?
//!
//! Pure: bytes in, data out. Files are read only if the input is a folder `cdk.out`.
//!
//! ```text
//! bytes -> recognize -> reader of the format -> Imported { machines: [user data + traits] }
//! ```
//!
//! A module uses only modules above it in this table.
//!
//! | module | content |
//! | --- | --- |
//! | `tree` | JSON and YAML documents with positions |
//! | `instance_types` | how many pods fit on an instance type |
//! | `machine` | what an import returns: machines with user data and traits |
//! | `error` | why a file cannot be imported, and what to do next |
//! | `input` | what an import reads |
//! | `text` | files that are user data themselves |
//! | `mime` | the parts of MIME user data as they are |
//! | `words` | words of AWS and Kubernetes as types |
//! | `eks` | the part that EKS appends in a managed node group |
//! | `template` | files that a tool has not rendered yet |
//! | `reading` | collects machines |
//! | `ec2` | launch template versions, instance attributes, launch configurations |
//! | `terraform` | plans and states |
//! | `recognize` | finds the format of a file and calls its reader |

mod ec2;
mod eks;
mod error;
mod input;
mod instance_types;
mod machine;
mod mime;
mod reading;
mod recognize;
mod template;
mod terraform;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod words;

pub use eks::complete_user_data;
pub use error::ImportError;
pub use input::Import;
pub use machine::{
    AmiFamily, CapacityType, ClusterTraits, FileFormat, Imported, Machine, ManagedNodeGroup, System, Taint,
    TaintEffect, Traits, UnreadMachine,
};
pub use recognize::import;
