//! Certificates, keys and certificate signing requests.

mod authority;
mod names;
mod set;
pub(crate) mod signing_request;

pub use authority::{Ca, Identity};
pub(crate) use names::{CLUSTER_ENDPOINT, api_server_names};
pub use set::Pki;
