//! A bootstrap configuration, and what the other manifests of the file state about its machines.

use nodejoin_core::plan::Tokens;

use super::cluster::{ManifestCluster, other_cluster};
use super::images::looked_up_family;
use super::managed_pool;
use super::manifests::{MANAGED_POOL, TEMPLATE, infrastructure_of, is_of_kind, name_of, owners};
use crate::ec2::tokens;
use crate::error::ImportError;
use crate::input::Import;
use crate::machine::{AmiFamily, ClusterTraits, Machine, ManagedNodeGroup, StandIn, Traits};
use crate::tree::Tree;
use crate::words::{list, texts};

/// What Cluster API assumes of a node of nodeadm if the Cluster names no range for services.
const DEFAULT_CIDR: &str = "172.20.0.0/16";
/// Where machines name their bootstrap configuration.
const CONFIG: [&str; 3] = ["bootstrap", "configRef", "name"];
/// Where they name the Secret of one.
const SECRET: [&str; 2] = ["bootstrap", "dataSecretName"];

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
    pub(super) stated: ManifestCluster,
    pub(super) traits: Traits,
    /// EKS adds its own part: the pool's launch template names no AMI.
    pub(super) managed: Option<ManagedNodeGroup>,
    pub(super) problems: Vec<String>,
}

impl<'a> BootstrapConfig<'a> {
    /// `None`: the manifest is of another kind, or nothing uses the configuration.
    pub(super) fn of(input: &Import<'_>, document: &'a Tree, documents: &[&'a Tree]) -> Option<Self> {
        let (kind, spec) = kind_and_spec(document)?;
        let name = name_of(document).unwrap_or_default();
        let owner = match users(documents, &CONFIG, &name) {
            ManifestUsers::Machines(owner) => Some(owner),
            ManifestUsers::Unknown => None,
            ManifestUsers::PoolsAlone => return None,
        };
        let stated = ManifestCluster::of(documents, owner);
        let (traits, managed) = owner.map_or_else(Default::default, |owner| infrastructure(documents, owner));
        let known = stated.traits.clone().or(input.cluster);
        let infrastructure = owner.and_then(|owner| infrastructure_of(documents, owner));
        let of_pool = infrastructure.and_then(managed_pool::refused_type);
        Some(Self {
            kind,
            spec: spec.unwrap_or(document),
            cluster: known.or(&stated.stand_in()),
            stated,
            traits,
            managed,
            problems: other_cluster(documents, owner)
                .into_iter()
                .chain(of_pool)
                .collect(),
            name,
        })
    }

    pub(super) fn text(&self, path: &[&str]) -> Option<String> {
        self.spec.text_at(path)
    }

    /// The range of services that the Cluster names, else the one that Cluster API writes into a NodeadmConfig.
    pub(super) fn service_cidr(&self) -> String {
        let stated = self.stated.services.clone();
        stated.unwrap_or_else(|| DEFAULT_CIDR.to_owned())
    }

    /// Values in the user data that the file does not state, as a report names them.
    pub(super) fn stand_ins(&self) -> impl Iterator<Item = (String, StandIn)> {
        let name = ClusterTraits::stand_in().name;
        let is_made = self.stated.traits.name.is_none() && self.cluster.name == name;
        let name = name.filter(|_| is_made);
        let is_default = self.kind == BootstrapKind::Nodeadm && self.stated.services.is_none();
        let name = name.map(|name| format!("cluster name {name}"));
        let cidr = is_default.then(|| format!("service CIDR {DEFAULT_CIDR}"));
        let lines = name.into_iter().chain(cidr);
        lines.map(|line| (line, StandIn::NotStated))
    }

    pub(super) fn commands(&self, key: &str) -> Vec<String> {
        list(self.spec.items_at(&[key]))
    }
}

/// What uses a bootstrap configuration or its Secret.
enum ManifestUsers<'a> {
    /// The machines of a MachineDeployment or MachinePool.
    Machines(&'a Tree),
    /// Managed pools alone, whose nodes EKS bootstraps without it.
    PoolsAlone,
    /// The file does not tell it.
    Unknown,
}

fn users<'a>(documents: &[&'a Tree], path: &[&str], name: &str) -> ManifestUsers<'a> {
    let owners = owners(documents, path, name);
    let mut machines = owners.iter().copied();
    let of_machines = machines.find(|owner| {
        let infrastructure = infrastructure_of(documents, owner);
        !infrastructure.is_some_and(managed_pool::is_alone)
    });
    match of_machines {
        Some(owner) => ManifestUsers::Machines(owner),
        None if owners.is_empty() => ManifestUsers::Unknown,
        None => ManifestUsers::PoolsAlone,
    }
}

/// The kind of a bootstrap configuration, and its specification without the template around it.
fn kind_and_spec(document: &Tree) -> Option<(BootstrapKind, Option<&Tree>)> {
    let word = document.text_at(&["kind"])?;
    let kind = match word.trim_end_matches("Template") {
        "EKSConfig" => BootstrapKind::Eks,
        "NodeadmConfig" => BootstrapKind::Nodeadm,
        "KubeadmConfig" => BootstrapKind::Kubeadm,
        _ => return None,
    };
    let path: &[&str] = match word.ends_with("Template") {
        true => &TEMPLATE,
        false => &["spec"],
    };
    Some((kind, document.at(path)))
}

/// Whether managed pools alone name a bootstrap Secret, whose nodes EKS bootstraps without it.
pub(super) fn is_unused_secret(secret: &str, documents: &[&Tree]) -> bool {
    matches!(users(documents, &SECRET, secret), ManifestUsers::PoolsAlone)
}

/// The machine of a bootstrap Secret with what other manifests state about it.
pub(super) fn with_owner(mut machine: Machine, secret: &str, documents: &[&Tree]) -> Machine {
    let owner = match users(documents, &SECRET, secret) {
        ManifestUsers::Machines(owner) => Some(owner),
        ManifestUsers::PoolsAlone | ManifestUsers::Unknown => None,
    };
    if let Some(owner) = owner {
        // EKS adds no part of its own: the Secret is the whole user data.
        (machine.traits, _) = infrastructure(documents, owner);
    }
    ManifestCluster::of(documents, owner).add_to(&mut machine.traits);
    machine.problems.extend(other_cluster(documents, owner));
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
    let owner = owners(documents, &["infrastructureRef", "name"], &machine.name);
    let owner = owner.first().copied();
    let cluster = ManifestCluster::of(documents, owner);
    cluster.add_to(&mut machine.traits);
    machine.notes.extend(cluster.note);
    machine.problems.extend(other_cluster(documents, owner));
    machine
        .problems
        .extend(unused_config(documents, owner, &machine.name));
    Ok(machine)
}

/// Says that the configuration of a managed pool without a launch template does not reach its nodes.
fn unused_config(documents: &[&Tree], owner: Option<&Tree>, pool: &str) -> Option<String> {
    let name = owner?.text_at(&CONFIG)?;
    let mut configs = documents
        .iter()
        .filter(|document| name_of(document).as_ref() == Some(&name));
    let (document, spec) = configs.find_map(|document| Some((document, kind_and_spec(document)?.1)))?;
    spec.filter(|spec| !spec.entries().is_empty())?;
    let kind = document.text_at(&["kind"]).unwrap_or_default();
    Some(format!(
        "{kind} `{name}` has no effect: Cluster API makes a launch template with its user data only if the {MANAGED_POOL} has \
         `awsLaunchTemplate`, and `{pool}` has none"
    ))
}

/// What AWSMachineTemplate, AWSMachinePool or AWSManagedMachinePool states.
fn infrastructure(documents: &[&Tree], owner: &Tree) -> (Traits, Option<ManagedNodeGroup>) {
    let Some(document) = infrastructure_of(documents, owner) else {
        return Default::default();
    };
    let template = document.at(&["spec", "awsLaunchTemplate"]);
    let spec = template.or_else(|| document.at(&TEMPLATE));
    let looked_up = spec.and_then(|spec| looked_up_family(documents, spec));
    if is_of_kind(document, MANAGED_POOL) {
        let Some(pool) = managed_pool::described(document) else {
            return Default::default();
        };
        // EKS chooses the AMI of the others.
        let looked_up = looked_up.filter(|_| pool.managed.is_none());
        let mut traits = pool.traits;
        traits.ami_family = traits.ami_family.or(looked_up);
        return (traits, pool.managed);
    }
    let traits = spec.map(|spec| machine_traits(spec, looked_up));
    (traits.unwrap_or_default(), None)
}

/// Cluster API's defaults of the metadata service differ from those of EKS.
fn machine_traits(spec: &Tree, ami_family: Option<AmiFamily>) -> Traits {
    let option = |key: &str| spec.text_at(&["instanceMetadataOptions", key]);
    let hops = option("httpPutResponseHopLimit").and_then(|limit| limit.parse().ok());
    Traits {
        ami_family,
        ami_id: spec.text_at(&["ami", "id"]),
        instance_type: spec.text_at(&["instanceType"]),
        instance_profile: spec.text_at(&["iamInstanceProfile"]),
        is_spot: spec.get("spotMarketOptions").is_some(),
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
