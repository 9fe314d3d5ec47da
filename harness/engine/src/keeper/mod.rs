//! A keeper: a process of this program that keeps environments (network, fakes, control plane) for runs of other
//! processes, and runs their scenarios in them.
//!
//! ```text
//! nodejoin run --keeper --one line: plans, settings--> keeper --> Runner --> environment of the pool
//!   reports  <---------- a line per RunEvent ---------
//! ```
//!
//! A connection is a lease: when it closes, however that happens, everything of its run is removed and its
//! environments are restored. Client and keeper are the same build in the same folder ([`KeeperAddress`]), so that
//! lines are the plain JSON of plans and events.

mod address;
mod client;
mod error;
mod protocol;
mod server;

pub use address::KeeperAddress;
pub use client::{connect, lease, status, stop, stop_if_unused};
pub use error::KeeperError;
pub use protocol::{KeeperStatus, LeaseRequest, LeaseSettings};
pub use server::{BoundKeeper, Keeper};
