//! The machine of a bootstrap configuration.

use super::config::{BootstrapConfig, BootstrapKind};
use super::{eks_config, kubeadm_config, nodeadm_config};
use crate::error::ImportError;
use crate::machine::{AmiFamily, Machine};

impl BootstrapConfig<'_> {
    /// The machine with its user data.
    pub(super) fn machine(&self) -> Result<Machine, ImportError> {
        let (text, family) = match self.kind {
            BootstrapKind::Eks => (eks_config::render(self)?, Some(AmiFamily::Al2)),
            BootstrapKind::Nodeadm => {
                if let Some(hybrid) = self.spec.get("hybrid") {
                    return Err(ImportError::OutOfScope {
                        line: hybrid.line(),
                        what: "a hybrid node",
                        why: "it runs outside of EC2, and joins by another nodeadm",
                        hint: "only machines of EC2 can be tried",
                    });
                }
                (nodeadm_config::render(self), Some(AmiFamily::Al2023))
            }
            BootstrapKind::Kubeadm => (kubeadm_config::render(self), None),
        };
        let mut machine = Machine {
            name: self.name.clone(),
            line: self.spec.line(),
            user_data: Some(text.into_bytes()),
            traits: self.traits.clone(),
            ..Machine::default()
        };
        machine.managed = self.managed.clone();
        machine.traits.ami_family = family.map(|family| self.traits.ami_family.unwrap_or(family));
        self.stated.add_to(&mut machine.traits);
        machine.traits.stand_ins.extend(self.stand_ins());
        machine.problems.clone_from(&self.problems);
        machine.problems.extend(self.wrong_image().map(str::to_owned));
        match self.kind {
            BootstrapKind::Kubeadm => kubeadm_config::describe(self, &mut machine.traits)?,
            BootstrapKind::Eks => {
                eks_config::check(self, &mut machine.notes)?;
                machine.notes.extend(eks_config::stand_in_note(self));
            }
            BootstrapKind::Nodeadm => {
                machine
                    .notes
                    .extend(nodeadm_config::unknown_fields(self).map(|field| {
                        format!(
                            "`spec.{field}` is not in the user data: a NodeadmConfig does not have this field"
                        )
                    }))
            }
        }
        let note = self.stated.note.clone();
        machine
            .notes
            .extend(note.filter(|_| self.kind != BootstrapKind::Kubeadm));
        if self.text(&["format"]).as_deref() == Some("ignition") {
            machine
                .notes
                .push("the format of the configuration is Ignition: rendered as cloud-config".to_owned());
        }
        Ok(machine)
    }

    /// What is wrong with an AMI that lacks the program for which the configuration is.
    fn wrong_image(&self) -> Option<&'static str> {
        match (self.kind, self.traits.ami_family?) {
            (BootstrapKind::Eks, AmiFamily::Al2023) if !eks_config::has_own_command(self) => Some(
                "the AMI of the machines is one of Amazon Linux 2023, and the user data of an EKSConfig calls /etc/eks/bootstrap.sh, which \
                 starts no node there: write a NodeadmConfig",
            ),
            (BootstrapKind::Nodeadm, AmiFamily::Al2) if self.managed.is_none() => Some(
                "the AMI of the machines is one of Amazon Linux 2, which Cluster API looks up unless `ami.eksLookupType` is another one, and \
                 it has no nodeadm: nothing reads the NodeConfig of a NodeadmConfig; set `eksLookupType: AmazonLinux2023`",
            ),
            _ => None,
        }
    }
}
