//! AMIs without a kubelet, in whose place the trial has one with the programs of EKS.

use super::stated::Stated;
use crate::amazon_linux::is_without_eks;
use crate::machine::Machine;

/// What user data can install itself.
const PROGRAMS: [&str; 3] = ["kubelet", "kubeadm", "nodeadm"];

/// Says that the AMI of a machine is not one of EKS, unless the user data installs the kubelet.
pub(super) fn image_without_kubelet(machine: &Machine, stated: &Stated) -> Option<String> {
    let name = machine.traits.image_name.as_deref();
    let name = name.filter(|name| is_without_eks(name))?;
    let installs =
        |line: &str| line.contains("install") && PROGRAMS.iter().any(|program| line.contains(program));
    if stated.kubeadm.is_some() || stated.text.lines().any(installs) {
        return None;
    }
    let name = name.trim_start_matches("{{").trim_end_matches("}}");
    let name = name.strip_prefix("resolve:ssm:").unwrap_or(name);
    Some(format!(
        "the AMI `{name}` is one of Amazon Linux without the programs of EKS: it has no kubelet, no /etc/eks/bootstrap.sh and no nodeadm, \
         and the trial has them; AMIs of EKS are named `amazon-eks-*`, and their parameters of SSM are below \
         /aws/service/eks/optimized-ami/"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(image: &str, text: &str) -> String {
        let mut machine = Machine::default();
        machine.traits.image_name = Some(image.to_owned());
        image_without_kubelet(&machine, &Stated::of(text.as_bytes())).unwrap_or_default()
    }

    #[test]
    fn an_ami_of_amazon_linux_has_no_kubelet() {
        let call = "#!/bin/bash\n/etc/eks/bootstrap.sh demo\n";
        let parameter = "/aws/service/ami-amazon-linux-latest/amzn2-ami-hvm-x86_64-gp2";
        let found = problem(&format!("{{{{resolve:ssm:{parameter}}}}}"), call);
        assert!(
            found.starts_with(&format!(
                "the AMI `{parameter}` is one of Amazon Linux without the programs of EKS"
            )),
            "{found}"
        );
        assert_ne!(problem("al2023-ami-2023*", call), "");
        assert_eq!(problem("amazon-eks-node-1.29-v20240227", call), "");
        for text in [
            "#!/bin/bash\nyum install -y kubelet\nsystemctl start kubelet\n",
            "#!/bin/bash\nkubeadm join 10.0.0.1:6443\n",
        ] {
            assert_eq!(problem("al2023-ami-2023*", text), "", "{text}");
        }
    }
}
