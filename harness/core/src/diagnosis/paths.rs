//! Paths of an AMI that the user data misspells, and paths in messages.

use super::facts::{Evidence, Facts};
use super::types::Finding;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// Files of the EKS AMIs that scripts use (awslabs/amazon-eks-ami).
const PATHS: [&str; 14] = [
    "/etc/cni/net.d",
    "/etc/containerd/config.toml",
    "/etc/docker/daemon.json",
    "/etc/eks/bootstrap.sh",
    "/etc/eks/containerd/containerd-config.toml",
    "/etc/eks/containerd/kubelet-containerd.service",
    "/etc/eks/containerd/pull-sandbox-image.sh",
    "/etc/eks/eni-max-pods.txt",
    "/etc/eks/image-credential-provider/config.json",
    "/etc/eks/max-pods-calculator.sh",
    "/etc/eks/nodeadm/config.yaml",
    "/etc/kubernetes/kubelet/kubelet-config.json",
    "/etc/kubernetes/pki/ca.crt",
    "/var/lib/kubelet/kubeconfig",
];

/// The user data uses a path that the node does not have, and a similar one exists.
pub(super) fn misspelt(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    facts.user_data_done?;
    let overlay = facts.plan.image.added().map(|file| file.to.as_str());
    let known: Vec<&str> = PATHS.into_iter().chain(overlay).collect();
    let (at, line, path, right) = facts.user_data_lines().find_map(|(at, line)| {
        let path = missing_path(&line.message).filter(|path| !known.contains(path))?;
        Some((
            at,
            line,
            path,
            known.iter().copied().find(|known| is_close(path, known))?,
        ))
    })?;
    let because = format!(
        "the user data uses `{path}`, which the node does not have, and the kubelet was never started"
    );
    let remedy = format!("write `{right}`");
    facts.final_(Cause::ScriptFailed, because, &Evidence::journal(at, line), remedy)
}

/// Whether a path differs from one of an AMI by a letter or two: a file of that name exists nowhere.
pub(super) fn is_misspelt(path: &str) -> bool {
    !PATHS.contains(&path) && PATHS.iter().any(|known| is_close(path, known))
}

fn is_close(path: &str, known: &str) -> bool {
    strsim::damerau_levenshtein(path, known) <= 2
}

/// The path in a message about a file that does not exist.
pub(super) fn missing_path(message: &str) -> Option<&str> {
    let before = message.split_once(": No such file or directory")?.0;
    let path = before
        .rsplit([' ', '\'', '"', '‘', '’'])
        .find(|word| !word.is_empty())?;
    (path.starts_with('/') && path.len() > 1).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_misspelt_if_one_of_an_ami_is_close() {
        assert!(is_misspelt("/etc/eks/boostrap.sh"));
        assert!(is_misspelt("/etc/eks/bootstarp.sh"));
        assert!(!is_misspelt("/etc/eks/bootstrap.sh"), "an AMI has it");
        assert!(!is_misspelt("/etc/eks/log-collector.sh"), "a file of its own");
        assert!(
            !is_misspelt("/etc/logrotate.conf"),
            "not near to /etc/containerd/config.toml"
        );
    }

    #[test]
    fn the_missing_path_is_the_last_word() {
        for (message, expected) in [
            (
                "/a/part-001: line 2: /etc/eks/boostrap.sh: No such file or directory",
                Some("/etc/eks/boostrap.sh"),
            ),
            (
                "cat: /etc/eks/eni-max-pod.txt: No such file or directory",
                Some("/etc/eks/eni-max-pod.txt"),
            ),
            (
                "sed: can't read '/etc/x': No such file or directory",
                Some("/etc/x"),
            ),
            ("bash: line 1: x: No such file or directory", None),
            ("/etc/eks/bootstrap.sh: line 3: jq: command not found", None),
        ] {
            assert_eq!(missing_path(message), expected, "{message}");
        }
    }
}
