//! Nodes: containers in which a bootstrap script finds everything that it finds on an EC2 instance.
//!
//! ```text
//! NodeRequest --layer--> one tar --boot--> container: enter (redirects) -> systemd -> user data -> kubelet
//!                                       |  standard output: the journal, from its first line
//!                                       |  exec, once:      collect (argv, units, files, user data) and evidence
//!                                       |  :10250:          the certificate that the kubelet serves
//! ```
//!
//! | file | what it does |
//! | --- | --- |
//! | [`request`] | parameters of a node, and of collecting its facts |
//! | `layer` | the files that are added to the image before its start, as one archive |
//! | `container` | the container: privileges, mounts, volumes |
//! | `confinement` | devices and system calls that the kernel refuses to a node |
//! | `tools` | the programs with which scripts of the harness run in an image |
//! | `deviations` | every difference from the AMI that the harness causes |
//! | `host_workarounds` | help for nodes on hosts that lack a privilege or a control group version |
//! | [`mod@boot`] | starts a node; the handle of a running node |
//! | `restart` | reboots a node, runs its user data again, restarts its kubelet |
//! | `log`, `output`, `journal` | the container's output: the node's journal, line by line, and refused connections |
//! | `refusals` | connections that rules in the node refuse |
//! | `outside` | addresses to which rules in the node refuse connections |
//! | `collect`, `user_data`, `serving_certificate` | facts that only the node has, read at the end of a join |
//! | `state` | what changed on the machine of a probe |
//! | `evidence` | files for a person who reads about a failed join |
//!
//! The programs that run inside the node are in `guest/`.

pub mod boot;
mod collect;
mod confinement;
mod container;
mod deviations;
mod error;
mod evidence;
mod host_workarounds;
mod journal;
mod layer;
mod log;
mod output;
mod outside;
pub mod pods;
mod refusals;
pub mod request;
mod restart;
mod serving_certificate;
mod state;
mod tools;
mod user_data;

pub use boot::{Exit, Node, boot};
pub use deviations::DeviationKind;
pub use error::NodeError;
pub use journal::journal_line;
pub use log::NodeLog;
pub use output::NodeOutput;
pub use refusals::{RefusedTotal, are_in as refuses_connections};
pub use request::{CollectRequest, DirectUserData, LaidFile, NodeRequest, UserDataScript};
