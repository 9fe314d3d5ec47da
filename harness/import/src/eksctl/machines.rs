//! The machine of a node group.

use super::fields::check_group;
use super::group::EksctlGroup;
use super::render::user_data;
use crate::error::ImportError;
use crate::instance_values::misspelt_size;
use crate::machine::{AmiFamily, Machine};

/// The first minor release whose managed groups had AL2023 before eksctl 0.219, unless they named another family.
const MANAGED_AL2023_SINCE: u32 = 30;
/// That of self-managed groups.
const AL2023_SINCE: u32 = 33;

impl EksctlGroup<'_> {
    /// The machine with its user data.
    ///
    /// # Errors
    /// The family is unknown, or another file has the user data.
    pub(super) fn machine(&self, name: &str) -> Result<Machine, ImportError> {
        if let Some(template) = self.tree.text_at(&["launchTemplate", "id"]) {
            return Err(ImportError::InLaunchTemplate {
                line: self.tree.line(),
                owner: "the group".to_owned(),
                template,
            });
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
            problems: self
                .instance_types()
                .iter()
                .filter_map(|name| misspelt_size(name))
                .collect(),
            ..Machine::default()
        };
        if self.text("overrideBootstrapCommand").is_some() && !self.is_bootstrapped_by_eks() {
            // The command decides what the node becomes.
            machine.traits.max_pods = None;
            if !self.is_managed && family != AmiFamily::Al2023 && !self.command_passes_labels() {
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

    /// Whether the command in place of the bootstrap script reads the group's labels and passes them on.
    fn command_passes_labels(&self) -> bool {
        const FILES: [&str; 2] = ["bootstrap.helper.sh", "/etc/eksctl/kubelet.env"];
        const VARIABLES: [&str; 2] = ["NODE_LABELS", "KUBELET_EXTRA_ARGS"];
        let command = self.text("overrideBootstrapCommand").unwrap_or_default();
        let has = |words: [&str; 2]| words.iter().any(|word| command.contains(word));
        has(FILES) && has(VARIABLES)
    }

    /// Whether the user data of the group gives its labels and taints to the kubelet.
    fn passes_labels(&self, family: AmiFamily) -> bool {
        match family {
            AmiFamily::Al2023 => true,
            AmiFamily::Ubuntu => self.text("overrideBootstrapCommand").is_none(),
            AmiFamily::Al2 | AmiFamily::Bottlerocket | AmiFamily::Windows | AmiFamily::Custom => false,
        }
    }

    /// Says what an older eksctl chooses for a group without a family.
    fn default_family(&self) -> Option<String> {
        let since = if self.is_managed {
            MANAGED_AL2023_SINCE
        } else {
            AL2023_SINCE
        };
        let minor = self.minor()?;
        if self.text("amiFamily").is_some() || minor >= since {
            return None;
        }
        let note = match self.default_ami_family() {
            AmiFamily::Al2 => {
                "the group has no `amiFamily`: it gets AmazonLinux2, which eksctl before 0.219 took; EKS never had an AMI of \
                 AmazonLinux2023 for this version of Kubernetes"
            }
            _ => {
                "the group has no `amiFamily`: it gets AmazonLinux2023, and eksctl before 0.219 took AmazonLinux2 for this version of \
                 Kubernetes; state `amiFamily: AmazonLinux2` for that"
            }
        };
        Some(note.to_owned())
    }

    /// Says what stands for the id of a local cluster, which its nodes must know.
    fn outpost_id(&self) -> Option<String> {
        self.is_on_outpost.then(|| {
            "only AWS knows the id of a local cluster on an Outpost: its name stands for it in the user data".to_owned()
        })
    }
}
