//! What a node group states.

use std::collections::BTreeMap;

use nodejoin_core::plan::Tokens;

use super::fields::check_group;
use super::render::user_data;
use crate::error::ImportError;
use crate::machine::{
    AmiFamily, CapacityType, ClusterTraits, LaunchTemplateVersion, Machine, ManagedNodeGroup, Taint, Traits,
};
use crate::tree::{Tree, TreeValue};
use crate::words::{list, taint, taint_of_text, texts};

/// The first minor release whose node groups use AL2023 unless they name another family.
const AL2023_SINCE: u32 = 30;

/// A node group, and the cluster that it joins.
pub(super) struct EksctlGroup<'a> {
    pub(super) tree: &'a Tree,
    pub(super) is_managed: bool,
    pub(super) cluster: &'a ClusterTraits,
}

impl<'a> EksctlGroup<'a> {
    pub(super) fn of(tree: &'a Tree, is_managed: bool, cluster: &'a ClusterTraits) -> Self {
        Self {
            tree,
            is_managed,
            cluster,
        }
    }

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

    /// Whether EKS chooses the AMI and appends its own part.
    pub(super) fn is_bootstrapped_by_eks(&self) -> bool {
        self.is_managed && !self.text("ami").is_some_and(|ami| ami.starts_with("ami-"))
    }

    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = texts(self.tree.get("labels"));
        // A label without a value, such as `{ gpu }`, has an empty one for eksctl.
        let stated = self.tree.get("labels").map(Tree::entries).unwrap_or_default();
        let empty = stated.iter().filter(|(_, value)| value.is_null());
        labels.extend(empty.map(|(key, _)| (key.clone(), String::new())));
        let own = [
            ("cluster-name", self.cluster.name.clone()),
            ("nodegroup-name", self.text("name")),
        ];
        for (key, value) in own {
            labels.insert(format!("alpha.eksctl.io/{key}"), value.unwrap_or_default());
        }
        labels
    }

    /// A list of mappings, or `KEY: VALUE:EFFECT`.
    pub(super) fn taints(&self) -> Vec<Taint> {
        let Some(taints) = self.tree.get("taints") else {
            return Vec::new();
        };
        if let TreeValue::List(items) = &taints.value {
            return items.iter().filter_map(taint).collect();
        }
        let pairs = texts(Some(taints)).into_iter();
        pairs
            .filter_map(|(key, value)| taint_of_text(&format!("{key}={value}")))
            .collect()
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
            if !self.is_managed {
                let note = "eksctl leaves labels and taints of the group to `overrideBootstrapCommand`: source \
                            /var/lib/cloud/scripts/eksctl/bootstrap.helper.sh in it, and pass `$NODE_LABELS` to the kubelet";
                machine.notes.push(note.to_owned());
            }
        }
        if self.is_managed && !self.is_bootstrapped_by_eks() {
            machine.traits.later_labels = std::mem::take(&mut machine.traits.labels);
            machine.traits.later_taints = std::mem::take(&mut machine.traits.taints);
        }
        if self.text("amiFamily").is_none() {
            let (family, other) = match family {
                AmiFamily::Al2 => ("AmazonLinux2", "AmazonLinux2023"),
                _ => ("AmazonLinux2023", "AmazonLinux2"),
            };
            machine.notes.push(format!(
                "the group has no `amiFamily`: eksctl uses {family} for this version of Kubernetes; set `amiFamily: {other}` for the other"
            ));
        }
        Ok(machine)
    }

    pub(super) fn invalid(&self, problem: String, hint: &str) -> ImportError {
        self.invalid_at("", problem, hint)
    }

    /// A mistake in the line of a key.
    pub(super) fn invalid_at(&self, key: &str, problem: String, hint: &str) -> ImportError {
        let place = self.tree.get(key).unwrap_or(self.tree);
        ImportError::Invalid {
            line: place.line(),
            column: None,
            problem,
            hint: hint.to_owned(),
        }
    }

    fn family(&self) -> Result<AmiFamily, ImportError> {
        let Some(word) = self.text("amiFamily") else {
            let version = self.cluster.version.as_deref().unwrap_or_default();
            let minor = version
                .split('.')
                .nth(1)
                .and_then(|minor| minor.parse::<u32>().ok());
            let is_old = minor.is_some_and(|minor| minor < AL2023_SINCE);
            return Ok(if is_old { AmiFamily::Al2 } else { AmiFamily::Al2023 });
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
            ami_id: self.text("ami").filter(|ami| ami.starts_with("ami-")),
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
            ..Traits::default()
        }
    }
}
