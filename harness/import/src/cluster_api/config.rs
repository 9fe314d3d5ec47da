//! A bootstrap configuration, and what the other manifests of the file state about its machines.

use nodejoin_core::plan::Tokens;

use super::{eks_config, kubeadm_config, nodeadm_config};
use crate::ec2::tokens;
use crate::error::ImportError;
use crate::input::Import;
use crate::machine::{AmiFamily, ClusterTraits, Machine, Traits};
use crate::tree::Tree;
use crate::words::{dns_ip, list, texts};

/// The kinds of bootstrap configurations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BootstrapKind {
    Eks,
    Nodeadm,
    Kubeadm,
}

/// A bootstrap configuration with its cluster.
pub(super) struct BootstrapConfig<'a> {
    pub(super) name: String,
    kind: BootstrapKind,
    /// Without the template around it.
    pub(super) spec: &'a Tree,
    pub(super) cluster: ClusterTraits,
    /// What the file itself states about the cluster.
    stated: ClusterTraits,
    traits: Traits,
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
        let stated = cluster(documents);
        Some(Self {
            kind,
            spec: document.at(path).unwrap_or(document),
            cluster: stated.clone().or(input.cluster).or(&ClusterTraits::stand_in()),
            stated,
            traits: infrastructure(documents, &name),
            name,
        })
    }

    pub(super) fn text(&self, path: &[&str]) -> Option<String> {
        self.spec.text_at(path)
    }

    /// The range of services that the Cluster names.
    pub(super) fn service_cidr(&self) -> Option<String> {
        self.stated.service_cidr.clone()
    }

    pub(super) fn commands(&self, key: &str) -> Vec<String> {
        list(self.spec.items_at(&[key]))
    }

    /// The machine with its user data.
    pub(super) fn machine(&self) -> Result<Machine, ImportError> {
        let (text, family) = match self.kind {
            BootstrapKind::Eks => (eks_config::render(self)?, Some(AmiFamily::Al2)),
            BootstrapKind::Nodeadm => (nodeadm_config::render(self), Some(AmiFamily::Al2023)),
            BootstrapKind::Kubeadm => (kubeadm_config::render(self), None),
        };
        let mut machine = Machine {
            name: self.name.clone(),
            line: self.spec.line(),
            user_data: Some(text.into_bytes()),
            traits: self.traits.clone(),
            ..Machine::default()
        };
        machine.traits.ami_family = family;
        machine.traits.cluster = self.stated.clone();
        if self.text(&["format"]).as_deref() == Some("ignition") {
            machine
                .notes
                .push("the format of the configuration is Ignition: rendered as cloud-config".to_owned());
        }
        Ok(machine)
    }
}

/// What Cluster and AWSManagedControlPlane state.
fn cluster(documents: &[&Tree]) -> ClusterTraits {
    let of_kind = |kind: &str| {
        documents
            .iter()
            .find(|document| document.text_at(&["kind"]).as_deref() == Some(kind))
    };
    let control_plane = of_kind("AWSManagedControlPlane");
    let service_cidr = of_kind("Cluster")
        .and_then(|cluster| cluster.text_at(&["spec", "clusterNetwork", "services", "cidrBlocks", "0"]));
    let made_up = |plane: &Tree| {
        let namespace = plane
            .text_at(&["metadata", "namespace"])
            .unwrap_or_else(|| "default".to_owned());
        Some(format!("{namespace}_{}", plane.text_at(&["metadata", "name"])?))
    };
    ClusterTraits {
        name: control_plane.and_then(|plane| {
            plane
                .text_at(&["spec", "eksClusterName"])
                .or_else(|| made_up(plane))
        }),
        version: control_plane
            .and_then(|plane| plane.text_at(&["spec", "version"]))
            .map(|version| version.trim_start_matches('v').to_owned()),
        dns_ip: service_cidr.as_deref().and_then(dns_ip),
        service_cidr,
        ..ClusterTraits::default()
    }
}

/// What AWSMachineTemplate or AWSMachinePool states, which a MachineDeployment or MachinePool connects with the
/// configuration.
fn infrastructure(documents: &[&Tree], config: &str) -> Traits {
    let template = ["spec", "template", "spec"];
    let owners = documents
        .iter()
        .filter_map(|document| document.at(&template))
        .find(|spec| spec.text_at(&["bootstrap", "configRef", "name"]).as_deref() == Some(config));
    let Some(name) = owners.and_then(|spec| spec.text_at(&["infrastructureRef", "name"])) else {
        return Traits::default();
    };
    let machines = documents.iter().find(|document| {
        let kind = document.text_at(&["kind"]).unwrap_or_default();
        kind.starts_with("AWSMachine") && document.text_at(&["metadata", "name"]).as_deref() == Some(&name)
    });
    let spec = machines.and_then(|machines| {
        machines
            .at(&["spec", "awsLaunchTemplate"])
            .or_else(|| machines.at(&template))
    });
    spec.map(machine_traits).unwrap_or_default()
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
