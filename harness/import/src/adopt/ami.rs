//! Which AMI user data is written for: its family, and the age of its bootstrap script.

use super::error::AdoptError;
use super::stated::Stated;
use crate::eks::{is_al2_by_version, is_bottlerocket};
use crate::machine::{AmiFamily, Machine, System};

/// Flags that the bootstrap script of 2022 does not know, each with the first release of AMIs whose script does
/// (amazon-eks-ami 6e67c1ca, fcfca678, 4376066e).
const LATER_FLAGS: [(&str, &str); 3] = [
    ("--service-ipv4-cidr", "v20250610"),
    ("--local-disks", "v20230501"),
    ("--mount-bpf-fs", "v20230406"),
];

/// Why user data without another sign is for Amazon Linux 2.
const CALLS_SCRIPT: &str = "the user data calls /etc/eks/bootstrap.sh";
/// Why EKS takes Amazon Linux 2 although the user data does not ask for it.
const OF_VERSION: &str = "the default of EKS for managed node groups of Kubernetes before 1.30";
/// The built-in node image with nodeadm.
const AL2023: &str = "al2023";

/// Files of an AMI that the node image lacks: a folder of `fixtures/overlays`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AmiFiles {
    Al2Of2026,
    /// Lets the files of 2026 start kubelets before 1.24.
    OldKubelet,
    Ubuntu,
    Kubeadm,
}

impl AmiFiles {
    /// Name of the folder.
    #[must_use]
    pub fn folder(self) -> &'static str {
        match self {
            Self::Al2Of2026 => "al2-2026",
            Self::OldKubelet => "al2-2026-old-kubelet",
            Self::Ubuntu => "ubuntu-bootstrap",
            Self::Kubeadm => "kubeadm",
        }
    }
}

/// The AMI of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AmiChoice {
    /// The built-in node image, unless it is the default one.
    pub(crate) image: Option<&'static str>,
    pub(crate) files: Vec<AmiFiles>,
    /// The AMI and the reason, for the report.
    pub(crate) text: String,
}

impl AmiChoice {
    /// Whether it is one for Amazon Linux 2.
    pub(crate) fn is_al2(&self) -> bool {
        let is_of_others = |files: &AmiFiles| matches!(files, AmiFiles::Ubuntu | AmiFiles::Kubeadm);
        self.image.is_none() && !self.files.iter().any(is_of_others)
    }
}

/// Chooses the AMI: the family that the file states, else the commands of the user data.
pub(crate) fn choose(machine: &Machine, stated: &Stated) -> Result<AmiChoice, AdoptError> {
    check_system(machine)?;
    if is_bottlerocket(machine) {
        return Ok(al2023(
            "AL2023 in place of Bottlerocket: its settings of the kubelet run as a NodeConfig, and nothing of its own boot \
             (deviation `bottlerocket-settings`)",
        ));
    }
    let choice = match machine.traits.ami_family {
        Some(AmiFamily::Al2023) => al2023("AL2023: the AMI family of the file, stated or by default"),
        Some(AmiFamily::Ubuntu) => of(AmiFiles::Ubuntu, "Ubuntu: the AMI family of the file"),
        Some(AmiFamily::Al2) => al2(stated, "the AMI family of the file, stated or by default"),
        _ => by_content(machine, stated),
    };
    Ok(choice)
}

fn check_system(machine: &Machine) -> Result<(), AdoptError> {
    let unsupported = |system, hint| {
        Err(AdoptError::UnsupportedSystem {
            machine: machine.name.clone(),
            system,
            hint,
        })
    };
    match (machine.system, machine.traits.ami_family) {
        (System::Windows, _) | (_, Some(AmiFamily::Windows)) => unsupported(
            "Windows",
            "a container uses its host's kernel; `scenarios/windows-role` shows what the API server allows a role of Windows nodes",
        ),
        (System::Linux | System::Bottlerocket, _) => Ok(()),
    }
}

fn by_content(machine: &Machine, stated: &Stated) -> AmiChoice {
    // Also in the parts of a broken message.
    let raw = String::from_utf8_lossy(machine.user_data.as_deref().unwrap_or_default());
    let has_config = stated.configs.is_any || raw.contains("node.eks.aws/");
    let is_for_al2023 = has_config || stated.text.contains("nodeadm init");
    // The call is in the part that EKS adds.
    let is_called_by_eks = is_al2_by_version(machine) && !raw.contains("/etc/eks/bootstrap.sh");
    if machine.managed.is_some() && is_called_by_eks && !stated.calls.is_empty() {
        return al2(stated, OF_VERSION);
    }
    if !stated.calls.is_empty() {
        return if stated.is_for_ubuntu() {
            of(
                AmiFiles::Ubuntu,
                "Ubuntu: the user data calls /etc/eks/bootstrap.sh, and snap or apt",
            )
        } else if is_for_al2023 {
            al2(
                stated,
                "the user data calls /etc/eks/bootstrap.sh; `--with 'image: al2023'` tries its NodeConfig or its call of nodeadm",
            )
        } else {
            al2(stated, CALLS_SCRIPT)
        };
    }
    if is_for_al2023 {
        return al2023("AL2023: the user data has a NodeConfig or calls nodeadm");
    }
    if stated.kubeadm.is_some() {
        return of(
            AmiFiles::Kubeadm,
            "a machine prepared for kubeadm: the user data calls `kubeadm join`",
        );
    }
    if stated.text.contains("kubelet-eks") {
        return of(
            AmiFiles::Ubuntu,
            "Ubuntu: the user data names the snap kubelet-eks",
        );
    }
    if stated.text.contains("docker.service.d") {
        return al2(stated, "the user data configures docker, which AL2023 AMIs lack");
    }
    if machine.managed.is_some() {
        return al2023("AL2023: the default of EKS for managed node groups");
    }
    al2(stated, "nothing in the user data points to another AMI")
}

fn al2(stated: &Stated, why: &str) -> AmiChoice {
    let lack = match why {
        // AMIs of AL2023 lack it, or have since v20241121 (1675cca3) one that only ends with an error.
        CALLS_SCRIPT => ", which starts no node of AL2023 (`--with 'image: al2023'` tries one)",
        OF_VERSION => " (`--with 'image: al2023'` for one of type AL2023_x86_64_STANDARD)",
        _ => "",
    };
    match LATER_FLAGS.iter().find(|(flag, _)| stated.has_flag(flag)) {
        Some((flag, release)) => AmiChoice {
            image: None,
            files: vec![AmiFiles::Al2Of2026, AmiFiles::OldKubelet],
            text: format!(
                "AL2 with its last bootstrap script, of 2026: {why}; `{flag}` is in the script of AMIs since {release}, and not in that of \
                 2022"
            ),
        },
        None => AmiChoice {
            image: None,
            files: Vec::new(),
            text: format!(
                "AL2 with the bootstrap script of 2022: {why}{lack}; no flag of a later one is passed"
            ),
        },
    }
}

fn al2023(text: &str) -> AmiChoice {
    AmiChoice {
        image: Some(AL2023),
        files: Vec::new(),
        text: text.to_owned(),
    }
}

fn of(files: AmiFiles, text: &str) -> AmiChoice {
    AmiChoice {
        image: None,
        files: vec![files],
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(text: &str, change: impl FnOnce(&mut Machine)) -> Vec<&'static str> {
        let mut machine = Machine::default();
        change(&mut machine);
        let choice = choose(&machine, &Stated::of(text.as_bytes())).unwrap();
        let files = choice.files.into_iter().map(AmiFiles::folder);
        choice.image.into_iter().chain(files).collect()
    }

    #[test]
    fn a_node_config_in_a_broken_message_is_for_al2023() {
        let text = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=A\n\n--B\nContent-Type: application/node.eks.aws\n\n\
                    apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n--B--\n";
        let found = files(text, |machine| machine.user_data = Some(text.as_bytes().to_vec()));
        assert_eq!(found, ["al2023"]);
    }

    #[test]
    fn the_other_ami_of_user_data_for_two_is_named() {
        let chosen = |text: &str| {
            choose(&Machine::default(), &Stated::of(text.as_bytes()))
                .unwrap()
                .text
        };
        let call = "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n";
        let both = format!("{call}[ -e /etc/eks/bootstrap.sh ] || nodeadm init\n");
        assert!(chosen(&both).contains("`--with 'image: al2023'` tries its NodeConfig"));
        assert!(chosen(call).contains("which starts no node of AL2023"));
    }

    #[test]
    fn the_first_release_with_a_later_flag_is_named() {
        for (flags, expected) in [
            (
                "--mount-bpf-fs true",
                "`--mount-bpf-fs` is in the script of AMIs since v20230406",
            ),
            (
                "--local-disks raid0",
                "`--local-disks` is in the script of AMIs since v20230501",
            ),
            (
                "--local-disks raid0 --service-ipv4-cidr 10.0.0.0/16",
                "`--service-ipv4-cidr` is in the script of AMIs since v20250610",
            ),
        ] {
            let text = format!("#!/bin/bash\n/etc/eks/bootstrap.sh demo {flags}\n");
            let choice = choose(&Machine::default(), &Stated::of(text.as_bytes())).unwrap();
            assert!(choice.text.contains(expected), "{}", choice.text);
            assert!(
                choice.text.ends_with(", and not in that of 2022"),
                "{}",
                choice.text
            );
        }
    }

    #[test]
    fn the_content_of_user_data_determines_the_ami() {
        let call = |flags: &str| format!("#!/bin/bash\n/etc/eks/bootstrap.sh demo {flags}\n");
        let config = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n";
        for (text, expected) in [
            (call(""), vec![]),
            (
                call("--service-ipv4-cidr 10.0.0.0/16"),
                vec!["al2-2026", "al2-2026-old-kubelet"],
            ),
            (
                call("--local-disks raid0"),
                vec!["al2-2026", "al2-2026-old-kubelet"],
            ),
            (
                format!("#!/bin/bash\napt-get update\n{}", call("")),
                vec!["ubuntu-bootstrap"],
            ),
            (config.to_owned(), vec!["al2023"]),
            (
                "#!/bin/bash\nnodeadm init -c file:///x\n".to_owned(),
                vec!["al2023"],
            ),
            ("#!/bin/bash\nkubeadm join a:6443\n".to_owned(), vec!["kubeadm"]),
            (
                "#!/bin/bash\nsnap start kubelet-eks\n".to_owned(),
                vec!["ubuntu-bootstrap"],
            ),
            ("#!/bin/bash\necho\n".to_owned(), vec![]),
        ] {
            assert_eq!(files(&text, |_| {}), expected, "{text}");
        }
    }

    #[test]
    fn the_file_takes_precedence_over_the_content() {
        let text = "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n";
        assert_eq!(
            files(text, |machine| machine.traits.ami_family =
                Some(AmiFamily::Al2023)),
            ["al2023"]
        );
        let managed = |text: &str| files(text, |machine| machine.managed = Some(Default::default()));
        assert_eq!(managed(""), ["al2023"]);
        // AL2023 has no docker.
        let docker = "#!/bin/bash\ncp proxy.conf /etc/systemd/system/docker.service.d/\n";
        assert!(managed(docker).is_empty());
    }

    #[test]
    fn the_version_of_a_managed_node_group_is_the_reason_for_its_ami() {
        let chosen = |version: &str, own: &str| {
            let mut machine = Machine {
                user_data: Some(own.as_bytes().to_vec()),
                managed: Some(Default::default()),
                ..Machine::default()
            };
            machine.traits.cluster.version = Some(version.to_owned());
            // With the part of EKS.
            let complete = format!("{own}\n/etc/eks/bootstrap.sh demo\n");
            choose(&machine, &Stated::of(complete.as_bytes())).unwrap().text
        };
        let (plain, call) = ("#!/bin/bash\n", "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n");
        assert_eq!(
            chosen("1.29", plain),
            "AL2 with the bootstrap script of 2022: the default of EKS for managed node groups of Kubernetes before 1.30 \
             (`--with 'image: al2023'` for one of type AL2023_x86_64_STANDARD); no flag of a later one is passed"
        );
        for (version, own) in [("1.29", call), ("1.30", plain), ("1.30", call)] {
            let text = chosen(version, own);
            assert!(
                text.contains("the user data calls /etc/eks/bootstrap.sh"),
                "{text}"
            );
        }
    }

    #[test]
    fn windows_is_rejected() {
        for (system, family) in [(System::Windows, None), (System::Linux, Some(AmiFamily::Windows))] {
            let mut machine = Machine {
                system,
                ..Machine::default()
            };
            machine.traits.ami_family = family;
            assert!(choose(&machine, &Stated::default()).is_err(), "{system:?}");
        }
    }
}
