//! A call of the bootstrap script of AL2 in user data for AMIs of AL2023.

use super::stated::Stated;
use crate::machine::{AmiFamily, Machine};

const SCRIPT: &str = "/etc/eks/bootstrap.sh";
/// Words of scripts that are for AL2 and for AL2023.
const OF_BOTH: [&str; 3] = ["nodeadm", "os-release", "system-release"];

/// The problem of a machine whose file names an AMI of AL2023, if its own user data runs the script on any AMI.
pub(super) fn missing_script(machine: &Machine) -> Option<String> {
    if machine.traits.ami_family != Some(AmiFamily::Al2023) {
        return None;
    }
    let own = Stated::of(machine.user_data.as_deref()?);
    let lines = own.text.lines().map(str::trim_start);
    let code = lines.filter(|line| !line.starts_with('#'));
    let named = code.flat_map(|line| line.matches(SCRIPT)).count();
    // What names it without a call can test for it, or write it.
    let is_alone = named == own.calls.len() && !OF_BOTH.iter().any(|word| own.text.contains(word));
    // amazon-eks-ami 1675cca3.
    (named > 0 && is_alone).then(|| {
        format!(
            "the user data calls {SCRIPT}, and the AMI of the file is one of AL2023, which lacks it, or has since v20241121 a script that \
             only ends with an error: a node of AL2023 joins by a NodeConfig, and the flags of the call have no effect"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(family: Option<AmiFamily>, user_data: &str) -> Option<String> {
        let mut machine = Machine {
            user_data: Some(user_data.as_bytes().to_vec()),
            ..Machine::default()
        };
        machine.traits.ami_family = family;
        missing_script(&machine)
    }

    #[test]
    fn a_call_of_the_script_of_al2_is_named_before_the_boot() {
        let call = "#!/bin/bash\nset -o xtrace\n# starts the kubelet by /etc/eks/bootstrap.sh\n\
                    /etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=team=web'\n";
        let al2023 = Some(AmiFamily::Al2023);
        let problem = of(al2023, call).unwrap();
        assert!(
            problem.contains("the AMI of the file is one of AL2023"),
            "{problem}"
        );
        let message = format!(
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: text/x-shellscript\n\n{call}--B\n\
             Content-Type: application/node.eks.aws\n\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {{}}\n--B--\n"
        );
        assert!(of(al2023, &message).is_some());
        for (family, user_data) in [
            (None, call),
            (Some(AmiFamily::Al2), call),
            (
                al2023,
                "#!/bin/bash\n[ ! -e /etc/eks/bootstrap.sh ] || /etc/eks/bootstrap.sh demo\n",
            ),
            (
                al2023,
                "#!/bin/bash\nif command -v nodeadm; then nodeadm init; else /etc/eks/bootstrap.sh demo; fi\n",
            ),
            (
                al2023,
                "#!/bin/bash\ncurl -o /etc/eks/bootstrap.sh https://example.com\n/etc/eks/bootstrap.sh demo\n",
            ),
            (al2023, "#!/bin/bash\necho\n"),
        ] {
            assert_eq!(of(family, user_data), None, "{user_data}");
        }
    }
}
