//! What eksctl refuses although it knows each field. From the validation of eksctl 0.231.

use super::fields::REFUSED;
use super::group::EksctlGroup;
use crate::error::ImportError;
use crate::here_document::HereDocument;
use crate::instance_values::AL2_UNTIL;
use crate::known_fields::check_texts;
use crate::machine::AmiFamily;
use crate::tree::{Tree, yaml};
use crate::{mime, text};

/// Settings of the kubelet that eksctl writes itself.
const OF_EKSCTL: [&str; 7] = [
    "kind",
    "apiVersion",
    "address",
    "clusterDomain",
    "authentication",
    "authorization",
    "serverTLSBootstrap",
];
/// The first minor release of Kubernetes without dockerd.
const CONTAINERD_SINCE: u32 = 24;
/// Releases of Ubuntu, each with the first and the last minor release of Kubernetes that has an AMI of it.
const UBUNTU: [(&str, u32, u32); 8] = [
    ("ubuntu2004", 21, 29),
    ("ubuntupro2004", 27, 29),
    ("ubuntu2204", 29, u32::MAX),
    ("ubuntupro2204", 29, u32::MAX),
    ("ubuntu2404", 31, u32::MAX),
    ("ubuntupro2404", 31, u32::MAX),
    ("ubuntu2604", 35, u32::MAX),
    ("ubuntupro2604", 35, u32::MAX),
];

/// Whether eksctl can read a text as a NodeConfig. A script or a message with one in it is not YAML.
fn is_node_config(text: &str) -> bool {
    let has_document = || text.lines().any(|line| HereDocument::begun(line).is_some());
    let is_around = text.trim_start().starts_with("#!") || mime::is_mime(text) || has_document();
    text::is_node_config(text) && !(is_around && yaml(text).is_err())
}

impl EksctlGroup<'_> {
    /// Checks the group as eksctl does before it creates anything.
    ///
    /// # Errors
    /// eksctl refuses the group.
    pub(super) fn check(&self, family: AmiFamily) -> Result<(), ImportError> {
        check_texts(self.tree.get("tags"), "the tag", REFUSED)?;
        self.check_labels()?;
        self.check_taints()?;
        self.check_own_ami(family)?;
        self.check_family(family)?;
        self.check_version(family)?;
        self.check_types()?;
        self.check_bottlerocket()?;
        self.check_runtime(family)?;
        self.check_outpost(family)?;
        let extra = self.tree.get("kubeletExtraConfig").map(Tree::entries);
        let mut extra = extra.unwrap_or_default().iter();
        match extra.find(|(key, _)| OF_EKSCTL.contains(&key.as_str())) {
            Some((key, _)) => Err(self.invalid_at(
                "kubeletExtraConfig",
                format!("eksctl refuses `{key}` in `kubeletExtraConfig`: it sets it itself"),
                &format!("remove `{key}`"),
            )),
            None => Ok(()),
        }
    }

    fn check_own_ami(&self, family: AmiFamily) -> Result<(), ImportError> {
        let command = self.text("overrideBootstrapCommand");
        let is_own = self.has_own_ami();
        if is_own && self.text("amiFamily").is_none() {
            let is_script = command
                .as_ref()
                .is_some_and(|command| command.contains("bootstrap.sh"));
            let family = if is_script {
                "AmazonLinux2"
            } else {
                "AmazonLinux2023"
            };
            return Err(self.invalid(
                "eksctl refuses `ami` without `amiFamily`: its default is for its own AMIs only".to_owned(),
                &format!("add `amiFamily: {family}`, or the family of that AMI"),
            ));
        }
        let needs_command = matches!(family, AmiFamily::Al2 | AmiFamily::Ubuntu);
        if is_own && needs_command && command.is_none() {
            return Err(self.invalid(
                "eksctl refuses `ami` without `overrideBootstrapCommand` for this `amiFamily`".to_owned(),
                "add `overrideBootstrapCommand` with a call of /etc/eks/bootstrap.sh",
            ));
        }
        if self.is_managed && is_own && family == AmiFamily::Windows {
            return Err(self.invalid_at(
                "ami",
                "eksctl refuses `ami` of a managed group with Windows".to_owned(),
                "remove `ami`, or write the group below `nodeGroups`",
            ));
        }
        if self.is_managed && !is_own && needs_command && command.is_some() {
            return Err(self.invalid_at(
                "overrideBootstrapCommand",
                "eksctl refuses `overrideBootstrapCommand` of a managed group without `ami`: it is for AMIs of your own".to_owned(),
                "add `ami` with the id of an AMI, or write the commands as `preBootstrapCommands`",
            ));
        }
        if self.is_managed && is_own && self.tree.get("maxPodsPerNode").is_some() {
            return Err(self.invalid_at(
                "maxPodsPerNode",
                "eksctl refuses `maxPodsPerNode` of a managed group with `ami`".to_owned(),
                "set `maxPods` of the kubelet in `overrideBootstrapCommand`",
            ));
        }
        if family == AmiFamily::Al2023 && command.is_some_and(|command| !is_node_config(&command)) {
            return Err(self.invalid_at(
                "overrideBootstrapCommand",
                "eksctl reads `overrideBootstrapCommand` of AmazonLinux2023 as a NodeConfig, and this is none".to_owned(),
                "write a NodeConfig (`apiVersion: node.eks.aws/v1alpha1`); commands belong into `preBootstrapCommands`",
            ));
        }
        Ok(())
    }

    /// Fields that systems without a shell script, or managed groups, do not have.
    fn check_family(&self, family: AmiFamily) -> Result<(), ImportError> {
        let (without, system): (&[&str], &str) = match family {
            AmiFamily::Bottlerocket => (
                &[
                    "preBootstrapCommands",
                    "overrideBootstrapCommand",
                    "kubeletExtraConfig",
                ],
                "Bottlerocket",
            ),
            AmiFamily::Windows if self.is_managed => (&["overrideBootstrapCommand"], "Windows"),
            AmiFamily::Windows => (&["kubeletExtraConfig"], "Windows"),
            _ => (&["bottlerocket"], "another `amiFamily` than Bottlerocket"),
        };
        if let Some(key) = without.iter().find(|key| self.tree.get(key).is_some()) {
            return Err(self.invalid_at(
                key,
                format!("eksctl refuses `{key}` of a group with {system}"),
                &format!("remove `{key}`, or set `amiFamily` to the one that has it"),
            ));
        }
        let profile = self.tree.at(&["iam", "instanceProfileARN"]);
        if self.is_managed && profile.is_some() {
            return Err(self.invalid_at(
                "iam",
                "eksctl refuses `iam.instanceProfileARN` of a managed group".to_owned(),
                "give the role instead: `iam.instanceRoleARN`",
            ));
        }
        Ok(())
    }

    /// EKS and Canonical publish AMIs of a family for some versions of Kubernetes.
    fn check_version(&self, family: AmiFamily) -> Result<(), ImportError> {
        let Some(minor) = self.minor() else {
            return Ok(());
        };
        // With an AMI of its own, a managed group can have any version.
        let is_own = self.has_own_ami();
        if family == AmiFamily::Al2 && minor > AL2_UNTIL && !(self.is_managed && is_own) {
            return Err(self.invalid_at(
                "amiFamily",
                format!("eksctl refuses AmazonLinux2 for Kubernetes 1.{minor}: the last version with it is 1.{AL2_UNTIL}"),
                "set `amiFamily: AmazonLinux2023`; only a managed group with `ami` can have AmazonLinux2",
            ));
        }
        let word = self.text("amiFamily").unwrap_or_default().to_ascii_lowercase();
        let release = UBUNTU.iter().find(|(name, ..)| *name == word);
        match release.filter(|(_, first, last)| !is_own && !(*first..=*last).contains(&minor)) {
            None => Ok(()),
            Some((_, first, u32::MAX)) => Err(self.without_ami(minor, &format!("1.{first} on"))),
            Some((_, first, last)) => Err(self.without_ami(minor, &format!("1.{first} to 1.{last}"))),
        }
    }

    fn without_ami(&self, minor: u32, versions: &str) -> ImportError {
        let family = self.text("amiFamily").unwrap_or_default();
        self.invalid_at(
            "amiFamily",
            format!(
                "eksctl finds no AMI of {family} for Kubernetes 1.{minor}: Canonical has them from {versions}"
            ),
            "set `amiFamily` to another release of Ubuntu",
        )
    }

    /// Fields with types of instances that exclude each other.
    fn check_types(&self) -> Result<(), ImportError> {
        let (others, hint): (_, &str) = match self.is_managed {
            true => (["instanceTypes", "instanceSelector"], "remove one of the two"),
            false => (
                ["instancesDistribution", "instanceSelector"],
                "remove `instanceType`, or set it to `mixed`",
            ),
        };
        let is_mixed = !self.is_managed && self.text("instanceType").as_deref() == Some("mixed");
        let is_stated = |key: &&&str| {
            let tree = self.tree.get(key);
            tree.is_some_and(|tree| !tree.items().is_empty() || !tree.entries().is_empty())
        };
        match others.iter().find(is_stated) {
            Some(other) if self.text("instanceType").is_some() && !is_mixed => Err(self.invalid_at(
                "instanceType",
                format!("eksctl refuses `instanceType` beside `{other}`"),
                hint,
            )),
            _ => Ok(()),
        }
    }

    fn check_outpost(&self, family: AmiFamily) -> Result<(), ImportError> {
        if !self.is_on_outpost || matches!(family, AmiFamily::Al2 | AmiFamily::Al2023) {
            return Ok(());
        }
        Err(self.invalid_at(
            "amiFamily",
            "eksctl refuses this `amiFamily` for a local cluster on an Outpost".to_owned(),
            "set `amiFamily` to AmazonLinux2023 or AmazonLinux2",
        ))
    }

    fn check_runtime(&self, family: AmiFamily) -> Result<(), ImportError> {
        let Some(runtime) = self.text("containerRuntime").filter(|word| word != "containerd") else {
            return Ok(());
        };
        if family == AmiFamily::Al2023 || self.minor().is_some_and(|minor| minor >= CONTAINERD_SINCE) {
            return Err(self.invalid_at(
                "containerRuntime",
                format!("eksctl refuses `containerRuntime: {runtime}`: AmazonLinux2023 and Kubernetes from 1.{CONTAINERD_SINCE} on have containerd alone"),
                "remove `containerRuntime`",
            ));
        }
        Ok(())
    }
}
