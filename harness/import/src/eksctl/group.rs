//! What a node group states.

use std::collections::BTreeMap;

use nodejoin_core::plan::Tokens;

use super::fields::refused;
use crate::ec2::is_all_spot;
use crate::error::ImportError;
use crate::machine::{
    AmiFamily, CapacityType, ClusterTraits, LaunchTemplateVersion, ManagedNodeGroup, Traits,
};
use crate::role_rights::{RoleRights, allowed_actions};
use crate::tree::Tree;
use crate::words::{list, texts};

/// The first minor release of Kubernetes for which EKS has AMIs of AL2023.
const FIRST_OF_AL2023: u32 = 23;

/// A node group, and the cluster that it joins.
pub(super) struct EksctlGroup<'a> {
    pub(super) tree: &'a Tree,
    pub(super) is_managed: bool,
    pub(super) cluster: &'a ClusterTraits,
    /// The control plane runs on an Outpost.
    pub(super) is_on_outpost: bool,
}

impl EksctlGroup<'_> {
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.tree.text_at(&[key])
    }

    pub(super) fn commands(&self) -> Vec<String> {
        list(self.tree.items_at(&["preBootstrapCommands"]))
    }

    pub(super) fn max_pods(&self) -> Option<u32> {
        self.text("maxPodsPerNode")?.parse().ok().filter(|pods| *pods > 0)
    }

    pub(super) fn dns_ip(&self) -> String {
        self.text("clusterDNS")
            .or_else(|| self.cluster.dns_ip.clone())
            .unwrap_or_default()
    }

    pub(super) fn has_own_ami(&self) -> bool {
        self.text("ami").is_some_and(|ami| ami.starts_with("ami-"))
    }

    /// The minor release of the cluster's Kubernetes version.
    pub(super) fn minor(&self) -> Option<u32> {
        self.cluster.version.as_deref()?.split('.').nth(1)?.parse().ok()
    }

    /// Whether EKS chooses the AMI and appends its own part. It has no AMI of Ubuntu: eksctl finds the id of one.
    pub(super) fn is_bootstrapped_by_eks(&self) -> bool {
        let is_ubuntu = self
            .text("amiFamily")
            .is_some_and(|word| word.to_ascii_lowercase().starts_with("ubuntu"));
        self.is_managed && !self.has_own_ami() && !is_ubuntu
    }

    pub(super) fn invalid(&self, problem: String, hint: &str) -> ImportError {
        self.invalid_at("", problem, hint)
    }

    /// A mistake in the line of a key.
    pub(super) fn invalid_at(&self, key: &str, problem: String, hint: &str) -> ImportError {
        let Some(value) = self.tree.get(key) else {
            return refused(self.tree, problem, hint);
        };
        // A value that does not stand behind its key stands below it.
        let is_below = value.column < self.tree.column + key.len();
        let line = value.line().map(|line| line - usize::from(is_below && line > 1));
        match (refused(value, problem, hint), line) {
            (error, Some(line)) => error.at_line(line),
            (error, None) => error,
        }
    }

    pub(super) fn family(&self) -> Result<AmiFamily, ImportError> {
        let Some(word) = self.text("amiFamily") else {
            return Ok(self.default_ami_family());
        };
        // eksctl reads the families in any case.
        match word.to_ascii_lowercase().as_str() {
            "amazonlinux2" => Ok(AmiFamily::Al2),
            "amazonlinux2023" => Ok(AmiFamily::Al2023),
            "bottlerocket" | "bottlerocketfips" => Ok(AmiFamily::Bottlerocket),
            ubuntu if ubuntu.starts_with("ubuntu") => Ok(AmiFamily::Ubuntu),
            windows if windows.starts_with("windowsserver") => Ok(AmiFamily::Windows),
            _ => Err(self.invalid(
                format!("unknown AMI family `{word}`"),
                "set `amiFamily` to AmazonLinux2023, AmazonLinux2, Ubuntu2204, Bottlerocket or \
                 WindowsServer2022CoreContainer",
            )),
        }
    }

    /// The family of a group that states none.
    pub(super) fn default_ami_family(&self) -> AmiFamily {
        match self.minor() {
            Some(minor) if minor < FIRST_OF_AL2023 => AmiFamily::Al2,
            _ => AmiFamily::Al2023,
        }
    }

    /// Whether each instance of the group is a spot instance.
    fn is_spot(&self) -> bool {
        let keys = ["onDemandBaseCapacity", "onDemandPercentageAboveBaseCapacity"];
        let is_stated = self.tree.get("spot").is_some_and(Tree::is_true);
        is_stated || is_all_spot(self.tree.get("instancesDistribution"), keys)
    }

    pub(super) fn managed(&self) -> ManagedNodeGroup {
        let is_spot = self.is_spot();
        ManagedNodeGroup {
            name: self.text("name"),
            labels: self.labels(),
            taints: self.taints(),
            capacity_type: Some(if is_spot {
                CapacityType::Spot
            } else {
                CapacityType::OnDemand
            }),
            instance_types: self.instance_types(),
            // eksctl makes one for every group.
            launch_template: Some(LaunchTemplateVersion::stand_in()),
        }
    }

    fn volumes(&self) -> BTreeMap<String, u32> {
        let volumes = self.tree.items_at(&["additionalVolumes"]).iter();
        let volume = |volume: &Tree| {
            let size = volume.text_at(&["volumeSize"])?.parse().ok()?;
            Some((volume.text_at(&["volumeName"])?, size))
        };
        volumes.filter_map(volume).collect()
    }

    pub(super) fn instance_types(&self) -> Vec<String> {
        let of_distribution = ["instancesDistribution", "instanceTypes"];
        let several = [
            list(self.tree.items_at(&["instanceTypes"])),
            list(self.tree.items_at(&of_distribution)),
        ]
        .concat();
        match self.text("instanceType") {
            Some(one) if several.is_empty() => vec![one],
            _ => several,
        }
    }

    /// The rights of the role that eksctl makes for a group that attaches policies itself: its own ones are not
    /// attached then. `None`: the group attaches none, or policies whose content eksctl knows.
    fn rights(&self) -> Option<RoleRights> {
        let iam = self.tree.get("iam")?;
        let mut policies = list(iam.items_at(&["attachPolicyARNs"]));
        let addons = iam.get("withAddonPolicies").map(Tree::entries);
        let has_addons = addons.unwrap_or_default().iter().any(|(_, tree)| tree.is_true());
        if policies.is_empty() || has_addons {
            return None;
        }
        let actions = match iam.get("attachPolicy") {
            Some(policy) => allowed_actions(policy)?,
            None => Vec::new(),
        };
        if !self.is_managed {
            policies.push("arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly".to_owned());
        }
        Some(RoleRights {
            policies: Some(policies),
            actions,
            ..RoleRights::default()
        })
    }

    pub(super) fn traits(&self, family: AmiFamily) -> Traits {
        let is_true = |key: &str| self.tree.get(key).is_some_and(Tree::is_true);
        let is_false = |key: &str| self.text(key).as_deref() == Some("false");
        Traits {
            ami_family: Some(family),
            ami_id: self.text("ami").filter(|_| self.has_own_ami()),
            instance_type: self.instance_types().first().cloned(),
            role: self.tree.text_at(&["iam", "instanceRoleARN"]),
            role_rights: self.rights().unwrap_or_default(),
            instance_profile: self.tree.text_at(&["iam", "instanceProfileARN"]),
            tags: texts(self.tree.get("tags")),
            volumes: self.volumes(),
            http_tokens: Some(if is_false("disableIMDSv1") {
                Tokens::Optional
            } else {
                Tokens::Required
            }),
            hop_limit: Some(if is_true("disablePodIMDS") { 1 } else { 2 }),
            labels: self.labels(),
            taints: self.taints(),
            max_pods: self.max_pods(),
            is_spot: self.is_spot(),
            ..Traits::default()
        }
    }
}
