//! A kubeconfig that user data writes: it names the cluster that a kubelet joins without a program of EKS.

use crate::tree::{Tree, yaml};
use crate::words::list;

/// Flags with the name of the cluster, in the command that gets a token of EKS.
const FLAGS: [&str; 3] = ["--cluster-name", "--cluster-id", "-i"];

/// What a kubeconfig names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Kubeconfig {
    pub(super) endpoint: Option<String>,
    pub(super) name: Option<String>,
}

impl Kubeconfig {
    /// Adds what a file names, if it is a kubeconfig. The first one counts.
    pub(super) fn add(&mut self, text: &str) {
        if !text.contains("clusters:") || self.endpoint.is_some() {
            return;
        }
        let documents = yaml(text).unwrap_or_default();
        if let Some(found) = documents.iter().find_map(Self::of) {
            *self = found;
        }
    }

    /// What it names, if the kubelet joins with it. Beside a program that joins, it can be for another cluster.
    pub(super) fn of_kubelet(&self, has_program: bool) -> Self {
        match has_program {
            true => Self::default(),
            false => self.clone(),
        }
    }

    fn of(document: &Tree) -> Option<Self> {
        if document.text_at(&["kind"])? != "Config" {
            return None;
        }
        let users = document.items_at(&["users"]).iter();
        let mut arguments = users.map(|user| list(user.items_at(&["user", "exec", "args"])));
        Some(Self {
            endpoint: document.text_at(&["clusters", "0", "cluster", "server"]),
            name: arguments.find_map(|arguments| name_in(&arguments)),
        })
    }
}

/// The name of the cluster in the arguments of `aws eks get-token` or `aws-iam-authenticator token`.
fn name_in(arguments: &[String]) -> Option<String> {
    let at = arguments
        .iter()
        .position(|argument| FLAGS.contains(&argument.as_str()))?;
    arguments.get(at + 1).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_names_endpoint_and_cluster() {
        let text = |arguments: &str| {
            format!(
                "apiVersion: v1\nkind: Config\nclusters:\n- {{ name: kubernetes, cluster: {{ server: \"https://a\" }} }}\nusers:\n- name: kubelet\n  \
                 user: {{ exec: {{ command: aws, args: [{arguments}] }} }}\n"
            )
        };
        for (arguments, name) in [
            (
                "eks, get-token, --cluster-name, demo, --region, eu-west-1",
                Some("demo"),
            ),
            ("token, -i, demo", Some("demo")),
            ("token", None),
            ("token, -i", None),
        ] {
            let mut found = Kubeconfig::default();
            found.add(&text(arguments));
            assert_eq!(found.endpoint.as_deref(), Some("https://a"), "{arguments}");
            assert_eq!(found.name.as_deref(), name, "{arguments}");
            assert_eq!(found.of_kubelet(true), Kubeconfig::default());
        }
        for other in [
            "kind: Other\nclusters: [{ cluster: { server: \"https://a\" } }]\n",
            "#!/bin/bash\necho clusters: 3\n",
        ] {
            let mut found = Kubeconfig::default();
            found.add(other);
            assert_eq!(found, Kubeconfig::default(), "{other}");
        }
    }
}
