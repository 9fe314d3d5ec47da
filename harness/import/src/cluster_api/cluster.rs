//! The cluster of machines, as Cluster, AWSManagedControlPlane and the machines themselves state it.

use nodejoin_core::plan::aws::IpFamily;

use super::manifests::{is_of_kind, name_of, of_kind};
use crate::eks::STAND_IN_IPV6;
use crate::machine::{ClusterTraits, StandIn, Traits};
use crate::tree::Tree;
use crate::words::dns_ip;

const CONTROL_PLANE: &str = "AWSManagedControlPlane";
/// In place of the IPv6 range of a VPC, which AWS chooses.
const STAND_IN_VPC: &str = "2a05:d018:ec8:7e00::/56";

/// What the manifests of a file state about the cluster of machines.
pub(super) struct ManifestCluster {
    pub(super) traits: ClusterTraits,
    /// The range of services that the Cluster names. EKS gives an IPv6 cluster another one.
    pub(super) services: Option<String>,
    /// The IPv6 range of the VPC, if the cluster is one of IPv6.
    pub(super) vpc_range: Option<VpcRange>,
    /// Says where the name is from.
    pub(super) note: Option<String>,
    /// The region that the file states.
    region: Option<String>,
}

/// The IPv6 range of a VPC.
pub(super) struct VpcRange {
    pub(super) cidr: String,
    pub(super) is_stated: bool,
}

impl ManifestCluster {
    /// What Cluster and AWSManagedControlPlane state, else the machines of a MachineDeployment or MachinePool.
    pub(super) fn of(documents: &[&Tree], owner: Option<&Tree>) -> Self {
        let services = of_kind(documents, "Cluster")
            .and_then(|cluster| cluster.text_at(&["spec", "clusterNetwork", "services", "cidrBlocks", "0"]));
        let vpc_range = of_kind(documents, CONTROL_PLANE).and_then(vpc_range);
        // Cluster API requests no range for the services of an IPv6 cluster, which EKS chooses.
        let service_cidr = match vpc_range {
            Some(_) => Some(STAND_IN_IPV6.to_owned()),
            None => services.clone(),
        };
        let traits = ClusterTraits {
            dns_ip: service_cidr.as_deref().and_then(dns_ip),
            service_cidr,
            ip_family: vpc_range.as_ref().map(|_| IpFamily::Ipv6),
            ..named_cluster(documents, owner)
        };
        Self {
            traits,
            services,
            vpc_range,
            note: name_note(documents, owner),
            region: region(documents),
        }
    }

    /// Values of a cluster that exists nowhere, in the region of this one.
    pub(super) fn stand_in(&self) -> ClusterTraits {
        let region = self.region.as_deref();
        ClusterTraits::stand_in_at(region.and_then(|region| region.parse().ok()))
    }

    /// Adds the cluster to what a machine states.
    pub(super) fn add_to(&self, traits: &mut Traits) {
        traits.cluster = self.traits.clone();
        traits.region.clone_from(&self.region);
        if self.vpc_range.is_some() {
            let line = format!("service CIDR {STAND_IN_IPV6}, an IPv6 cluster");
            traits.stand_ins.insert(line, StandIn::NotStated);
        }
    }
}

/// The IPv6 range of the VPC of a control plane. An empty `ipv6` requests one, too (`IsIPv6Enabled`).
fn vpc_range(control_plane: &Tree) -> Option<VpcRange> {
    let ipv6 = control_plane.at(&["spec", "network", "vpc", "ipv6"])?;
    let stated = ipv6.text_at(&["cidrBlock"]);
    Some(VpcRange {
        is_stated: stated.is_some(),
        cidr: stated.unwrap_or_else(|| STAND_IN_VPC.to_owned()),
    })
}

/// Name and version.
fn named_cluster(documents: &[&Tree], owner: Option<&Tree>) -> ClusterTraits {
    let control_plane = of_kind(documents, CONTROL_PLANE);
    let of_owner = |key: &str| owner.and_then(|owner| owner.text_at(&[key]));
    let version = control_plane
        .and_then(|plane| plane.text_at(&["spec", "version"]))
        .or_else(|| of_owner("version"));
    let made_up = |plane: &Tree| {
        let namespace = plane
            .text_at(&["metadata", "namespace"])
            .unwrap_or_else(|| "default".to_owned());
        Some(format!("{namespace}_{}", name_of(plane)?))
    };
    let of_plane = control_plane.and_then(|plane| {
        plane
            .text_at(&["spec", "eksClusterName"])
            .or_else(|| made_up(plane))
    });
    ClusterTraits {
        name: of_plane.or_else(|| of_owner("clusterName")),
        version: version.map(|version| version.trim_start_matches('v').to_owned()),
        ..ClusterTraits::default()
    }
}

/// Says that the name of the Cluster stands for that of the EKS cluster, which only its control plane states.
fn name_note(documents: &[&Tree], owner: Option<&Tree>) -> Option<String> {
    let name = owner?.text_at(&["clusterName"])?;
    of_kind(documents, CONTROL_PLANE).is_none().then(|| {
        format!(
            "the file has no AWSManagedControlPlane, whose `eksClusterName`, or namespace and name, is the name of the EKS cluster: \
             `{name}`, the name of the Cluster, stands for it"
        )
    })
}

/// What is wrong with machines of another Cluster than the only one of the file.
pub(super) fn other_cluster(documents: &[&Tree], owner: Option<&Tree>) -> Option<String> {
    let named = owner?.text_at(&["clusterName"])?;
    let is_cluster = |document: &&&Tree| {
        let api = document.text_at(&["apiVersion"]).unwrap_or_default();
        is_of_kind(document, "Cluster") && api.starts_with("cluster.x-k8s.io/")
    };
    let clusters: Vec<&&Tree> = documents.iter().filter(is_cluster).collect();
    let [only] = clusters[..] else { return None };
    let only = name_of(only).filter(|only| *only != named)?;
    Some(format!(
        "the machines belong to the Cluster `{named}`, and the only Cluster of the file is `{only}`: Cluster API gives them the values of \
         `{named}`, and the trial those of `{only}`; write `clusterName: {only}`"
    ))
}

/// The region of the control plane, or of the cluster's infrastructure.
fn region(documents: &[&Tree]) -> Option<String> {
    const KINDS: [&str; 3] = [CONTROL_PLANE, "AWSManagedCluster", "AWSCluster"];
    let is_of = |document: &&&Tree| KINDS.iter().any(|kind| is_of_kind(document, kind));
    let mut found = documents.iter().filter(is_of);
    found.find_map(|document| document.text_at(&["spec", "region"]))
}
