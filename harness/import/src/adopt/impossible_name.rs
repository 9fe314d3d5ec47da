//! Names that no cluster of EKS has.

use super::cluster_names::{LONGEST, is_cluster_name};
use super::stated::Stated;

/// What is wrong with the name of a cluster. A cluster of kubeadm can have any.
pub(super) fn impossible_name(name: &str, stated: &Stated) -> Option<String> {
    let is_open = name.contains(['$', '{', '<']);
    if stated.kubeadm.is_some() || is_open || is_cluster_name(name) {
        return None;
    }
    Some(format!(
        "EKS does not create a cluster with the name `{name}`: a name has letters, digits, `-` and `_` only, begins with a letter or a \
         digit, and has at most {LONGEST} characters"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_eks_creates() {
        let stated = Stated::default();
        for name in ["demo", "1-Demo_x", &"a".repeat(100), "${name}"] {
            assert_eq!(impossible_name(name, &stated), None, "{name}");
        }
        for name in [
            "10.100.0.10",
            "-demo",
            "_demo",
            "de mo",
            "d\u{e9}mo",
            &"a".repeat(101),
        ] {
            assert!(impossible_name(name, &stated).is_some(), "{name}");
        }
        let kubeadm =
            Stated::of(b"#!/bin/bash\nkubeadm join 10.0.0.1:6443 --token abcdef.0123456789abcdef\n");
        assert_eq!(impossible_name("k8s.example.com", &kubeadm), None);
    }
}
