//! A keeper: a process of this program that keeps environments (network, fakes, control plane) for runs of other
//! processes, and runs their scenarios in them.
//!
//! ```text
//! nodejoin run --keeper --one line: plans, settings--> keeper --> Runner --> environment of the pool
//!   reports  <---------- a line per RunEvent ---------
//! ```
//!
//! A run sends all plans in one request. The instruments that probe choose each plan after the results of others, in a
//! session:
//!
//! ```text
//! nodejoin diff --keeper --a line per call: probe or run a plan--> keeper --> Runner
//!              <---------- a line per answer or event ----------
//! ```
//!
//! A connection is a lease: when it closes, however that happens, everything of its run is removed and its
//! environments are restored. Client and keeper are the same build in the same folder ([`KeeperAddress`]), so that
//! lines are the plain JSON of plans and events.

mod address;
mod client;
mod error;
mod protocol;
mod serve_session;
mod server;
mod session;

pub use address::KeeperAddress;
pub use client::{connect, lease, status, stop, stop_if_unused};
pub use error::KeeperError;
pub use protocol::{KeeperStatus, LeaseRequest, LeaseSettings, SessionRequest};
pub use server::{BoundKeeper, Keeper};
pub use session::{KeeperSession, begin_session};
