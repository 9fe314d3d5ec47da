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
//! | `machine` | what an import returns: machines with user data and traits |
//! | `error` | why a file cannot be imported, and what to do next |
//! | `input` | what an import reads |
//! | `text` | files that are user data themselves |
//! | `template` | files that a tool has not rendered yet |
//! | `reading` | collects machines |
//! | `ec2` | launch template versions, instance attributes, launch configurations |
//! | `recognize` | finds the format of a file and calls its reader |

mod ec2;
mod error;
mod input;
mod machine;
mod reading;
mod recognize;
mod template;
#[cfg(test)]
mod tests;
mod text;
mod tree;

pub use error::ImportError;
pub use input::Import;
pub use machine::{
    AmiFamily, CapacityType, ClusterTraits, FileFormat, Imported, Machine, ManagedNodeGroup, System, Taint,
    TaintEffect, Traits, UnreadMachine,
};
pub use recognize::import;
