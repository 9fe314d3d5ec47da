//! One fake AWS account, served without Docker and without a cluster: the service behind `nodejoin aws`.
//!
//! ```text
//! plan of a file --> ServedAccount: metadata, services, webhook   <-- clients of AWS, an API server
//!                      |   ^
//!                      v   +-- control socket: change --> new state   <-- `nodejoin aws set`
//!                     log
//! ```
//!
//! | file | what it does |
//! | --- | --- |
//! | `served_account` | starts and stops everything |
//! | `folder` | files for clients: certificate authority, environment variables, name of the control socket |
//! | `control_socket` | changes to a running account |
//! | `log` | a line for each request and each token review |

mod control_socket;
mod error;
mod folder;
mod log;
mod served_account;

pub use crate::registry::needs_engine;
pub use control_socket::request_change;
pub use error::AccountError;
pub use folder::AccountEndpoints;
pub use log::LogTarget;
pub use served_account::{AccountRequest, ServedAccount};
