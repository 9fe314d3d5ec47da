//! Parameters of a node, and of collecting its facts.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};

use nodejoin_core::plan::Plan;
use nodejoin_core::plan::ids::RunId;
use nodejoin_docker::{ImageRef, RunNetwork};

/// Parameters of a node.
#[derive(Debug, Clone)]
pub struct NodeRequest<'a> {
    /// The image that stands for the AMI.
    pub image: ImageRef,
    /// The plan: instance, overlay, network, CNI, engine of user data.
    pub plan: &'a Plan,
    pub network: RunNetwork,
    /// Address of the fake metadata service.
    pub metadata: SocketAddr,
    /// The id that this metadata service reports: that of the run, or of the environment that a keeper keeps.
    pub metadata_id: RunId,
    /// Address of the fake AWS APIs and the registry.
    pub tls: SocketAddr,
    /// Address of the resolver.
    pub dns: SocketAddr,
    /// Address of the API server. The node connects to port 443 of this IP address. `None` for a node that starts
    /// before an API server that serves port 443 of a container on the network, which the node reaches as it is.
    pub api_server: Option<SocketAddr>,
    /// Labels of the container in addition to the run's; the control plane's provider recognizes its nodes by them.
    pub labels: HashMap<String, String>,
    /// The certificate authority of the fake AWS APIs, in PEM.
    pub aws_ca_pem: String,
    /// Parsed user data for the engine `direct`. cloud-init reads user data from the metadata service instead.
    pub direct: Option<DirectUserData>,
    /// Whether the node boots ahead of its scenario, and waits before user data until its address is registered.
    pub is_ahead: bool,
}

/// User data, split into files and scripts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DirectUserData {
    /// Files of `write_files`.
    pub files: Vec<LaidFile>,
    /// Scripts in the order in which they run, including `runcmd`.
    pub scripts: Vec<UserDataScript>,
}

/// A script of user data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserDataScript {
    /// The name that cloud-init gives it, such as `part-001` or `runcmd`.
    pub name: String,
    pub content: Vec<u8>,
}

/// A file that is added to the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaidFile {
    /// Absolute path in the node.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
    pub content: Vec<u8>,
}

/// Parameters of collecting a node's facts.
#[derive(Debug, Clone)]
pub struct CollectRequest {
    /// Absolute paths of files to read.
    pub files: Vec<String>,
    /// systemd units whose state to read.
    pub units: Vec<String>,
    /// The cluster's certificate authority in PEM, which must have signed the certificate on port 10250.
    pub cluster_ca_pem: String,
    /// The IP address that the certificate on port 10250 must be valid for.
    pub private_ip: Ipv4Addr,
}

/// A request for a node of a plan, for unit tests.
#[cfg(test)]
pub(crate) fn test_request(plan: &Plan) -> NodeRequest<'_> {
    let address: SocketAddr = "172.30.0.1:1".parse().unwrap();
    NodeRequest {
        image: ImageRef::own("nodejoin/al2:1", "v1.32.1"),
        plan,
        network: RunNetwork {
            id: "1".to_owned(),
            name: "isolated".to_owned(),
            subnet: "172.30.0.0/24".to_owned(),
            gateway: "172.30.0.1".parse().unwrap(),
        },
        metadata: address,
        metadata_id: "abcdefghij".parse().unwrap(),
        tls: address,
        dns: address,
        api_server: Some(address),
        labels: Default::default(),
        aws_ca_pem: String::new(),
        direct: None,
        is_ahead: false,
    }
}
