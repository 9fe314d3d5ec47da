//! One account of AWS, served without Docker and without a cluster: what `nodejoin aws` does.
//!
//! ```text
//! plan of a file --> Served: metadata, services, webhook   <-- clients of AWS, an API server
//!                      |   ^
//!                      v   +-- control: a change in, what became of it out   <-- `nodejoin aws set`
//!                     log
//! ```
//!
//! | file | what it does |
//! | --- | --- |
//! | `served` | starts and ends everything |
//! | `folder` | the files by which others find it: the authority, the variables, the control socket's name |
//! | `control` | a change comes over a socket |
//! | `log` | a line for each request and each token review |

mod control;
mod error;
mod folder;
mod log;
mod served;

pub use crate::registry::needs_engine;
pub use control::ask;
pub use error::AccountError;
pub use folder::Told;
pub use log::LogTo;
pub use served::{AccountAsk, Served};
