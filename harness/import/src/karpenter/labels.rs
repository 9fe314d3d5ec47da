//! Which labels of a pool reach the kubelet. Its flags may not set most labels of Kubernetes' own domains.

use super::node_pool::NodePool;

/// Labels of Kubernetes that Karpenter knows. The kubelet or the cloud provider sets them.
const WELL_KNOWN: [&str; 13] = [
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "topology.k8s.aws/zone-id",
    "node.kubernetes.io/instance-type",
    "node.kubernetes.io/windows-build",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "kubernetes.io/hostname",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
];
/// The domain whose labels Karpenter passes to the kubelet, which may set them.
const OF_KUBELET: &str = "node.kubernetes.io";
/// Domains that Karpenter accepts, and keeps from the kubelet.
const AFTER_THE_JOIN: [&str; 2] = ["node-restriction.kubernetes.io", "kops.k8s.io"];

/// Whether Karpenter keeps a label from the kubelet.
pub(super) fn is_kept(label: &str) -> bool {
    WELL_KNOWN.contains(&label) || (is_of_kubernetes(label) && !is_in(label, OF_KUBELET))
}

/// What happens to the labels of a pool that do not reach the kubelet.
pub(super) fn notes(pool: &NodePool<'_>) -> Vec<String> {
    let labels = pool.labels().into_iter();
    let kept = labels.filter(|(label, _)| is_kept(label) && !WELL_KNOWN.contains(&label.as_str()));
    let note = |(label, value): (String, String)| {
        let is_accepted = AFTER_THE_JOIN.iter().any(|domain| is_in(&label, domain));
        let later =
            "give it to the Node after the join, which is not checked: a kubelet may not set it itself";
        match is_accepted {
            true => format!("the label {label}={value}: Karpenter's controllers {later}"),
            false => format!(
                "the label {label}={value}: Karpenter up to 1.8 refuses the pool `{}`, because the domain of the label is restricted; \
                 later versions {later}",
                pool.name
            ),
        }
    };
    kept.map(note).collect()
}

/// What the verdict does not check: labels of the instance type that requirements state.
pub(super) fn not_checked(pool: &NodePool<'_>) -> Option<String> {
    let labels = pool.labels_of_type();
    (!labels.is_empty()).then(|| {
        format!(
            "labels of the instance type ({}): requirements are not part of the user data, and Karpenter's controllers give these labels \
             to the Node after the join",
            labels.join(", ")
        )
    })
}

fn is_of_kubernetes(label: &str) -> bool {
    is_in(label, "kubernetes.io") || is_in(label, "k8s.io")
}

/// Whether a label belongs to a domain or to one below it.
fn is_in(label: &str, domain: &str) -> bool {
    let own = label
        .split_once('/')
        .map(|(domain, _)| domain)
        .unwrap_or_default();
    own == domain || own.ends_with(&format!(".{domain}"))
}
