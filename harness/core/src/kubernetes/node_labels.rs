//! Labels of nodes.

/// Whether a kubelet may set a label itself, such as `team=web` or its key: of Kubernetes' own domains, only some.
#[must_use]
pub fn is_set_by_kubelets(label: &str) -> bool {
    const OWN: [&str; 2] = ["kubernetes.io", "k8s.io"];
    const ALLOWED: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];
    const KEYS: [&str; 10] = [
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
    ];
    let key = label.split('=').next().unwrap_or_default();
    let Some((domain, _)) = key.split_once('/') else {
        return true;
    };
    let is_in = |domains: &[&str]| {
        domains
            .iter()
            .any(|of| domain == *of || domain.ends_with(&format!(".{of}")))
    };
    !is_in(&OWN) || is_in(&ALLOWED) || KEYS.contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubelets_set_some_labels_of_the_domains_of_kubernetes() {
        for (label, is_set) in [
            ("team=web", true),
            ("example.com/team", true),
            ("node.kubernetes.io/role=web", true),
            ("kubernetes.io/arch=amd64", true),
            ("node-role.kubernetes.io/web", false),
            ("k8s.io/role=web", false),
        ] {
            assert_eq!(is_set_by_kubelets(label), is_set, "{label}");
        }
    }
}
