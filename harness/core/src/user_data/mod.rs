//! EC2 user data: the content that a scenario supplies, the names that it fills in, and how cloud-init splits it.
//!
//! | file | content |
//! | --- | --- |
//! | `fill.rs` | fills in `{{ cluster.endpoint }}` and the other names |
//! | `fill_expect.rs` | fills in those names in expectations |
//! | `placeholder_typo.rs` | names that are almost one of those |
//! | `ca_cert_hash.rs` | the value of `{{ cluster.ca_cert_hash }}` |
//! | `compose.rs` | the bytes that the metadata service returns |
//! | `replace.rs` | replaces the values of another cluster |
//! | `authority.rs` | whether a certificate authority in base64 is whole |
//! | `parse.rs` | the parts that cloud-init finds, and their faults |
//! | `mime.rs` | MIME messages |
//! | `gzip.rs` | compression |
//! | `ami_family.rs` | user data for another AMI family than that of the node image |
//! | `disk_setup.rs` | whether cloud-init prepares disks |
//! | `http_proxies.rs` | the HTTP proxies that it names |
//! | `cloud_config.rs` | the files and commands of `#cloud-config` |

mod ami_family;
mod authority;
mod ca_cert_hash;
mod cloud_config;
mod compose;
mod disk_setup;
mod fill;
mod fill_expect;
mod gzip;
mod http_proxies;
mod mime;
mod parse;
mod placeholder_typo;
mod replace;

pub use ami_family::OtherFamily;
pub use cloud_config::{CloudConfig, CloudConfigError, CloudConfigLoss, CloudConfigProblem, WriteFile};
pub use compose::{LIMIT, MimePart, UserDataError, message, names_identity, render};
pub use disk_setup::sets_up_disks;
pub(crate) use fill::with_words;
pub use fill::{UnknownTemplate, Values, fill};
pub use http_proxies::{TlsProxy, http_proxies, tls_proxies};
pub use parse::{FaultKind, Parsed, Part, PartFault, Script, parse, unpacked};
pub use placeholder_typo::{PlaceholderTypo, placeholder_typos};
pub use replace::{ReplacedUserData, ReplacedValue, replace_cluster, replaced_values};
