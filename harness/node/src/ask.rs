//! What a node is made of, and what is asked of it at the end.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};

use nodejoin_core::plan::Plan;
use nodejoin_docker::{ImageRef, RunNetwork};

/// Everything a node is made of.
#[derive(Debug, Clone)]
pub struct NodeAsk<'a> {
    /// The image that plays the AMI.
    pub image: ImageRef,
    /// The plan: instance, overlay, network, CNI, engine of user data.
    pub plan: &'a Plan,
    /// The run's network.
    pub network: RunNetwork,
    /// Where the fake metadata service listens.
    pub metadata: SocketAddr,
    /// Where the fake AWS APIs and the registry listen.
    pub tls: SocketAddr,
    /// Where the resolver listens.
    pub dns: SocketAddr,
    /// Where the API server listens; the node asks for port 443 of its address.
    pub api_server: SocketAddr,
    /// Labels of its container beside the run's, by which the provider of the control plane knows its nodes.
    pub labels: HashMap<String, String>,
    /// The authority that the fake APIs' certificates chain to, in PEM.
    pub aws_ca_pem: String,
    /// User data, taken apart, for the engine `direct`; cloud-init gets its own from the metadata service.
    pub direct: Option<DirectUserData>,
}

/// User data, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirectUserData {
    /// Files of `write_files`.
    pub files: Vec<LaidFile>,
    /// Scripts, in the order in which they run; `runcmd` is one too.
    pub scripts: Vec<Script>,
}

/// A script of user data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Its name, as cloud-init would give it: `part-001`, `runcmd`.
    pub name: String,
    /// Its bytes.
    pub content: Vec<u8>,
}

/// A file that is laid over the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaidFile {
    /// Absolute path in the node.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
    /// Its bytes.
    pub content: Vec<u8>,
}

/// What is asked of a node at the end of a join.
#[derive(Debug, Clone)]
pub struct CollectAsk {
    /// Absolute paths of files.
    pub files: Vec<String>,
    /// systemd units.
    pub units: Vec<String>,
    /// The cluster's CA in PEM: what :10250 serves is verified against it.
    pub cluster_ca_pem: String,
    /// The address that the served certificate must be for.
    pub private_ip: Ipv4Addr,
}
