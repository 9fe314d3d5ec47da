//! Nodes: containers that are to a bootstrap script what an EC2 instance is.
//!
//! ```text
//! NodeAsk --lay--> one tar --boot--> container: enter (addresses, redirects, trust, whose metadata?) -> systemd -> user data -> kubelet
//!                                       |  standard output: the journal, from its first line
//!                                       |  exec, once:      collect (argv, units, files, user data) and evidence
//!                                       |  :10250:          the certificate that the kubelet serves
//! ```
//!
//! | file | what it does |
//! | --- | --- |
//! | [`ask`] | what a node is made of, and what is asked of it |
//! | `layer` | everything that is laid over the image before its start, as one archive |
//! | `container` | the container: privileges, mounts, volumes |
//! | `deviations` | names every change to what the AMI would have |
//! | [`mod@boot`] | starts a node, and is the handle of a running one |
//! | `again` | reboots a node, runs its user data again, restarts its kubelet |
//! | `journal` | the node's journal, line by line |
//! | `collect`, `user_data`, `served` | what only the node knows at the end of a join |
//! | `evidence` | files for a person |
//!
//! The programs that run inside the node are in `guest/`.

mod again;
pub mod ask;
pub mod boot;
mod collect;
mod container;
mod deviations;
mod error;
mod evidence;
mod host;
mod journal;
mod layer;
pub mod pods;
mod served;
mod user_data;

pub use ask::{CollectAsk, DirectUserData, LaidFile, NodeAsk, Script};
pub use boot::{Exit, Node, boot};
pub use deviations::DeviationKind;
pub use error::NodeError;
pub use journal::journal_line;
