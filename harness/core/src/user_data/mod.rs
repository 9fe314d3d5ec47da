//! EC2 user data: what a scenario gives, with its values filled in, and how cloud-init takes it apart.
//!
//! | file | question |
//! | --- | --- |
//! | `fill.rs` | which `{{ cluster.endpoint }}` become what |
//! | `ca_cert_hash.rs` | what `{{ cluster.ca_cert_hash }}` becomes |
//! | `compose.rs` | which bytes the metadata service hands out |
//! | `parse.rs` | which parts cloud-init makes of them, and what is wrong with them |
//! | `mime.rs` | the MIME messages in them |
//! | `cloud_config.rs` | the files and commands of `#cloud-config` |

mod ca_cert_hash;
mod cloud_config;
mod compose;
mod fill;
mod mime;
mod parse;

pub use cloud_config::{CloudConfig, CloudConfigError, WriteFile};
pub use compose::{LIMIT, MimePart, UserDataError, message, names_identity, render};
pub use fill::{UnknownTemplate, Values, fill};
pub use parse::{FaultKind, Parsed, Part, PartFault, Script, parse};
