//! What a node group states.

use std::collections::BTreeMap;

use nodejoin_core::plan::Tokens;

use super::fields::{check_group, refused};
use super::render::user_data;
use crate::error::ImportError;
use crate::machine::{
    AmiFamily, CapacityType, ClusterTraits, LaunchTemplateVersion, Machine, ManagedNodeGroup, Traits,
};
use crate::tree::Tree;
use crate::words::{list, texts};

/// The first minor release whose managed groups had AL2023 before eksctl 0.219, unless they named another family.
const MANAGED_AL2023_SINCE: u32 = 30;
/// That of self-managed groups.
const AL2023_SINCE: u32 = 33;

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

    /// Whether the user data of the group gives its labels and taints to the kubelet.
    fn passes_labels(&self, family: AmiFamily) -> bool {
        match family {
            AmiFamily::Al2023 => true,
            AmiFamily::Ubuntu => self.text("overrideBootstrapCommand").is_none(),
            AmiFamily::Al2 | AmiFamily::Bottlerocket | AmiFamily::Windows | AmiFamily::Custom => false,
        }
    }

    /// The machine with its user data.
    ///
    /// # Errors
    /// The family is unknown, or another file has the user data.
    pub(super) fn machine(&self, name: &str) -> Result<Machine, ImportError> {
        if let Some(template) = self.tree.text_at(&["launchTemplate", "id"]) {
            return Err(self.invalid(
                format!("the user data of the group is in launch template `{template}`"),
                "give the output of `aws ec2 describe-launch-template-versions --launch-template-id ID`",
            ));
        }
        if let Some(ami) = self.text("ami").filter(|ami| ami.contains(['<', '>'])) {
            return Err(self.invalid(
                format!("`ami: {ami}` is not filled in"),
                "give the id of an AMI, such as `ami: ami-0123456789abcdef0`",
            ));
        }
        let mut notes = Vec::new();
        check_group(self.tree, self.is_managed, &mut notes)?;
        let family = self.family()?;
        self.check(family)?;
        let mut machine = Machine {
            name: name.to_owned(),
            line: self.tree.line(),
            user_data: user_data(self, family)?,
            managed: self.is_bootstrapped_by_eks().then(|| self.managed()),
            traits: self.traits(family),
            notes,
            ..Machine::default()
        };
        if self.text("overrideBootstrapCommand").is_some() && !self.is_bootstrapped_by_eks() {
            // The command decides what the node becomes.
            machine.traits.max_pods = None;
            if !self.is_managed && family != AmiFamily::Al2023 {
                let note = "eksctl leaves labels and taints of the group to `overrideBootstrapCommand`: source \
                            /var/lib/cloud/scripts/eksctl/bootstrap.helper.sh in it, and pass `$NODE_LABELS` to the kubelet";
                machine.notes.push(note.to_owned());
            }
        }
        if self.is_managed && !self.is_bootstrapped_by_eks() && !self.passes_labels(family) {
            machine.traits.leave_group_to_eks();
        }
        machine.notes.extend(self.default_family());
        machine.notes.extend(self.outpost_id());
        Ok(machine)
    }

    /// Says what an older eksctl chooses for a group without a family.
    fn default_family(&self) -> Option<String> {
        let since = if self.is_managed {
            MANAGED_AL2023_SINCE
        } else {
            AL2023_SINCE
        };
        let is_old = self.text("amiFamily").is_none() && self.minor()? < since;
        is_old.then(|| {
            "the group has no `amiFamily`: it gets AmazonLinux2023, and eksctl before 0.219 took AmazonLinux2 for this version of \
             Kubernetes; state `amiFamily: AmazonLinux2` for that"
                .to_owned()
        })
    }

    /// Says what stands for the id of a local cluster, which its nodes must know.
    fn outpost_id(&self) -> Option<String> {
        self.is_on_outpost.then(|| {
            "only AWS knows the id of a local cluster on an Outpost: its name stands for it in the user data".to_owned()
        })
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

    fn family(&self) -> Result<AmiFamily, ImportError> {
        let Some(word) = self.text("amiFamily") else {
            return Ok(AmiFamily::Al2023);
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

    fn managed(&self) -> ManagedNodeGroup {
        let is_spot = self.tree.get("spot").is_some_and(Tree::is_true);
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

    fn instance_types(&self) -> Vec<String> {
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

    fn traits(&self, family: AmiFamily) -> Traits {
        let is_true = |key: &str| self.tree.get(key).is_some_and(Tree::is_true);
        let is_false = |key: &str| self.text(key).as_deref() == Some("false");
        Traits {
            ami_family: Some(family),
            ami_id: self.text("ami").filter(|_| self.has_own_ami()),
            instance_type: self.instance_types().first().cloned(),
            role: self.tree.text_at(&["iam", "instanceRoleARN"]),
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
            is_spot: is_true("spot"),
            ..Traits::default()
        }
    }
}
