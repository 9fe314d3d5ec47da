//! A bootstrap configuration, and what the other manifests of the file state about its machines.

use nodejoin_core::plan::Tokens;

use super::managed_pool;
use crate::ec2::tokens;
use crate::error::ImportError;
use crate::input::Import;
use crate::machine::{ClusterTraits, Machine, ManagedNodeGroup, StandIn, Traits};
use crate::tree::Tree;
use crate::words::{dns_ip, list, texts};

/// What Cluster API assumes of a node of nodeadm if the Cluster names no range for services.
const DEFAULT_CIDR: &str = "172.20.0.0/16";

/// The kinds of bootstrap configurations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BootstrapKind {
    Eks,
    Nodeadm,
    Kubeadm,
}

/// A bootstrap configuration with its cluster.
pub(super) struct BootstrapConfig<'a> {
    pub(super) name: String,
    pub(super) kind: BootstrapKind,
    /// Without the template around it.
    pub(super) spec: &'a Tree,
    pub(super) cluster: ClusterTraits,
    /// What the file itself states about the cluster.
    pub(super) stated: ClusterTraits,
    pub(super) traits: Traits,
    /// The region that the file states.
    pub(super) region: Option<String>,
    /// EKS adds its own part: the pool's launch template names no AMI.
    pub(super) managed: Option<ManagedNodeGroup>,
    /// Says where the name of the cluster is from.
    pub(super) note: Option<String>,
}

impl<'a> BootstrapConfig<'a> {
    pub(super) fn of(input: &Import<'_>, document: &'a Tree, documents: &[&'a Tree]) -> Option<Self> {
        let word = document.text_at(&["kind"])?;
        let kind = match word.trim_end_matches("Template") {
            "EKSConfig" => BootstrapKind::Eks,
            "NodeadmConfig" => BootstrapKind::Nodeadm,
            "KubeadmConfig" => BootstrapKind::Kubeadm,
            _ => return None,
        };
        let path: &[&str] = match word.ends_with("Template") {
            true => &["spec", "template", "spec"],
            false => &["spec"],
        };
        let name = document.text_at(&["metadata", "name"]).unwrap_or_default();
        let owner = owner(documents, &["bootstrap", "configRef", "name"], &name);
        let stated = cluster(documents, owner);
        let (traits, managed) = owner.map_or_else(Default::default, |owner| infrastructure(documents, owner));
        Some(Self {
            kind,
            spec: document.at(path).unwrap_or(document),
            cluster: stated.clone().or(input.cluster).or(&ClusterTraits::stand_in()),
            stated,
            traits,
            region: region(documents),
            managed,
            note: name_note(documents, owner),
            name,
        })
    }

    pub(super) fn text(&self, path: &[&str]) -> Option<String> {
        self.spec.text_at(path)
    }

    /// The range of services that the Cluster names, else the one that Cluster API writes into a NodeadmConfig.
    pub(super) fn service_cidr(&self) -> String {
        let stated = self.stated.service_cidr.clone();
        stated.unwrap_or_else(|| DEFAULT_CIDR.to_owned())
    }

    /// Values in the user data that the file does not state, as a report names them.
    pub(super) fn stand_ins(&self) -> impl Iterator<Item = (String, StandIn)> {
        let name = ClusterTraits::stand_in().name;
        let is_made = self.stated.name.is_none() && self.cluster.name == name;
        let name = name.filter(|_| is_made);
        let is_default = self.kind == BootstrapKind::Nodeadm && self.stated.service_cidr.is_none();
        let name = name.map(|name| format!("cluster name {name}"));
        let cidr = is_default.then(|| format!("service CIDR {DEFAULT_CIDR}"));
        let lines = name.into_iter().chain(cidr);
        lines.map(|line| (line, StandIn::NotStated))
    }

    pub(super) fn commands(&self, key: &str) -> Vec<String> {
        list(self.spec.items_at(&[key]))
    }
}

fn of_kind<'a>(documents: &[&'a Tree], kind: &str) -> Option<&'a Tree> {
    let mut found = documents
        .iter()
        .filter(|document| document.text_at(&["kind"]).as_deref() == Some(kind));
    found.next().copied()
}

/// Says that the name of the Cluster stands for that of the EKS cluster, which only its control plane states.
fn name_note(documents: &[&Tree], owner: Option<&Tree>) -> Option<String> {
    let name = owner?.text_at(&["clusterName"])?;
    of_kind(documents, "AWSManagedControlPlane").is_none().then(|| {
        format!(
            "the file has no AWSManagedControlPlane, whose `eksClusterName`, or namespace and name, is the name of the EKS cluster: \
             `{name}`, the name of the Cluster, stands for it"
        )
    })
}

/// What Cluster and AWSManagedControlPlane state, else the machines of a MachineDeployment or MachinePool.
fn cluster(documents: &[&Tree], owner: Option<&Tree>) -> ClusterTraits {
    let control_plane = of_kind(documents, "AWSManagedControlPlane");
    let of_owner = |key: &str| owner.and_then(|owner| owner.text_at(&[key]));
    let version = control_plane
        .and_then(|plane| plane.text_at(&["spec", "version"]))
        .or_else(|| of_owner("version"));
    let service_cidr = of_kind(documents, "Cluster")
        .and_then(|cluster| cluster.text_at(&["spec", "clusterNetwork", "services", "cidrBlocks", "0"]));
    let made_up = |plane: &Tree| {
        let namespace = plane
            .text_at(&["metadata", "namespace"])
            .unwrap_or_else(|| "default".to_owned());
        Some(format!("{namespace}_{}", plane.text_at(&["metadata", "name"])?))
    };
    let of_plane = control_plane.and_then(|plane| {
        plane
            .text_at(&["spec", "eksClusterName"])
            .or_else(|| made_up(plane))
    });
    ClusterTraits {
        name: of_plane.or_else(|| of_owner("clusterName")),
        version: version.map(|version| version.trim_start_matches('v').to_owned()),
        dns_ip: service_cidr.as_deref().and_then(dns_ip),
        service_cidr,
        ..ClusterTraits::default()
    }
}

/// The region of the control plane, or of the cluster's infrastructure.
fn region(documents: &[&Tree]) -> Option<String> {
    const KINDS: [&str; 3] = ["AWSManagedControlPlane", "AWSManagedCluster", "AWSCluster"];
    let is_of = |document: &&&Tree| {
        let kind = document.text_at(&["kind"]);
        kind.is_some_and(|kind| KINDS.contains(&kind.as_str()))
    };
    let mut found = documents.iter().filter(is_of);
    found.find_map(|document| document.text_at(&["spec", "region"]))
}

/// The path of a machine's specification in a MachineDeployment, a MachinePool and a template.
const TEMPLATE: [&str; 3] = ["spec", "template", "spec"];

/// The machines of the MachineDeployment or MachinePool that refer to this name at this path.
fn owner<'a>(documents: &[&'a Tree], path: &[&str], name: &str) -> Option<&'a Tree> {
    documents
        .iter()
        .filter_map(|document| document.at(&TEMPLATE))
        .find(|spec| spec.text_at(path).as_deref() == Some(name))
}

/// The machine of a bootstrap Secret with what other manifests state about it.
pub(super) fn with_owner(mut machine: Machine, secret: &str, documents: &[&Tree]) -> Machine {
    let owner = owner(documents, &["bootstrap", "dataSecretName"], secret);
    if let Some(owner) = owner {
        // EKS adds no part of its own: the Secret is the whole user data.
        (machine.traits, _) = infrastructure(documents, owner);
    }
    machine.traits.cluster = cluster(documents, owner);
    machine.traits.region = region(documents);
    machine
}

/// The machine of an AWSManagedMachinePool with what other manifests state about it.
///
/// # Errors
/// The API server refuses the pool.
pub(super) fn of_pool(
    mut machine: Machine,
    pool: &Tree,
    documents: &[&Tree],
) -> Result<Machine, ImportError> {
    managed_pool::check(pool, &mut machine.notes)?;
    let owner = owner(documents, &["infrastructureRef", "name"], &machine.name);
    machine.traits.cluster = cluster(documents, owner);
    machine.traits.region = region(documents);
    machine.notes.extend(name_note(documents, owner));
    Ok(machine)
}

/// What AWSMachineTemplate, AWSMachinePool or AWSManagedMachinePool states.
fn infrastructure(documents: &[&Tree], owner: &Tree) -> (Traits, Option<ManagedNodeGroup>) {
    let name = owner.text_at(&["infrastructureRef", "name"]);
    let found = documents.iter().find(|document| {
        let kind = document.text_at(&["kind"]).unwrap_or_default();
        let is_machine = kind.starts_with("AWSMachine") || kind == "AWSManagedMachinePool";
        is_machine && name.is_some() && document.text_at(&["metadata", "name"]) == name
    });
    let Some(document) = found else {
        return Default::default();
    };
    if document.text_at(&["kind"]).as_deref() == Some("AWSManagedMachinePool") {
        let pool = managed_pool::described(document);
        return pool.map(|pool| (pool.traits, pool.managed)).unwrap_or_default();
    }
    let template = document.at(&["spec", "awsLaunchTemplate"]);
    let spec = template.or_else(|| document.at(&TEMPLATE));
    (spec.map(machine_traits).unwrap_or_default(), None)
}

/// Cluster API's defaults of the metadata service differ from those of EKS.
fn machine_traits(spec: &Tree) -> Traits {
    let option = |key: &str| spec.text_at(&["instanceMetadataOptions", key]);
    let hops = option("httpPutResponseHopLimit").and_then(|limit| limit.parse().ok());
    Traits {
        ami_id: spec.text_at(&["ami", "id"]),
        instance_type: spec.text_at(&["instanceType"]),
        instance_profile: spec.text_at(&["iamInstanceProfile"]),
        tags: texts(spec.get("additionalTags")),
        http_tokens: Some(
            option("httpTokens")
                .as_deref()
                .and_then(tokens)
                .unwrap_or(Tokens::Optional),
        ),
        hop_limit: Some(hops.unwrap_or(1)),
        ..Traits::default()
    }
}
