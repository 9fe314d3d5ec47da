//! What eksctl refuses although it knows each field. From the validation of eksctl 0.231.

use nodejoin_core::kubernetes::node_labels::is_set_by_kubelets;

use super::group::EksctlGroup;
use crate::error::ImportError;
use crate::machine::AmiFamily;
use crate::text;

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

impl EksctlGroup<'_> {
    /// Checks the group as eksctl does before it creates anything.
    ///
    /// # Errors
    /// eksctl refuses the group.
    pub(super) fn check(&self, family: AmiFamily) -> Result<(), ImportError> {
        self.check_own_ami(family)?;
        self.check_family(family)?;
        self.check_labels()?;
        self.check_runtime(family)?;
        let extra = self
            .tree
            .get("kubeletExtraConfig")
            .map(crate::tree::Tree::entries);
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
        let is_own = self.text("ami").is_some_and(|ami| ami.starts_with("ami-"));
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
        if self.is_bootstrapped_by_eks() && needs_command && command.is_some() {
            return Err(self.invalid_at(
                "overrideBootstrapCommand",
                "eksctl refuses `overrideBootstrapCommand` of a managed group without `ami`: EKS appends its own part".to_owned(),
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
        if family == AmiFamily::Al2023 && command.is_some_and(|command| !text::is_node_config(&command)) {
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

    fn check_labels(&self) -> Result<(), ImportError> {
        let labels = self.labels();
        match labels.keys().find(|label| !is_set_by_kubelets(label)) {
            Some(label) => Err(self.invalid_at(
                "labels",
                format!("eksctl refuses the label `{label}`: a kubelet may not set it itself"),
                "use a label of another domain, or give it to the Node after the join: `kubectl label node`",
            )),
            None => Ok(()),
        }
    }

    fn check_runtime(&self, family: AmiFamily) -> Result<(), ImportError> {
        let Some(runtime) = self.text("containerRuntime").filter(|word| word != "containerd") else {
            return Ok(());
        };
        let version = self.cluster.version.as_deref().unwrap_or_default();
        let minor = version
            .split('.')
            .nth(1)
            .and_then(|minor| minor.parse::<u32>().ok());
        if family == AmiFamily::Al2023 || minor.is_some_and(|minor| minor >= CONTAINERD_SINCE) {
            return Err(self.invalid_at(
                "containerRuntime",
                format!("eksctl refuses `containerRuntime: {runtime}`: AmazonLinux2023 and Kubernetes from 1.{CONTAINERD_SINCE} on have containerd alone"),
                "remove `containerRuntime`",
            ));
        }
        Ok(())
    }
}
