//! The resources and verbs of the Kubernetes API that a scenario may name.

/// Resources by API group; the core group is empty. The last groups are those of the VPC CNI.
const RESOURCES: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "bindings",
            "componentstatuses",
            "configmaps",
            "endpoints",
            "events",
            "limitranges",
            "namespaces",
            "nodes",
            "persistentvolumeclaims",
            "persistentvolumes",
            "pods",
            "podtemplates",
            "replicationcontrollers",
            "resourcequotas",
            "secrets",
            "serviceaccounts",
            "services",
        ],
    ),
    (
        "admissionregistration.k8s.io",
        &[
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "validatingwebhookconfigurations",
        ],
    ),
    ("apiextensions.k8s.io", &["customresourcedefinitions"]),
    ("apiregistration.k8s.io", &["apiservices"]),
    (
        "apps",
        &[
            "controllerrevisions",
            "daemonsets",
            "deployments",
            "replicasets",
            "statefulsets",
        ],
    ),
    ("authentication.k8s.io", &["selfsubjectreviews", "tokenreviews"]),
    (
        "authorization.k8s.io",
        &[
            "localsubjectaccessreviews",
            "selfsubjectaccessreviews",
            "selfsubjectrulesreviews",
            "subjectaccessreviews",
        ],
    ),
    ("autoscaling", &["horizontalpodautoscalers"]),
    ("batch", &["cronjobs", "jobs"]),
    (
        "certificates.k8s.io",
        &[
            "certificatesigningrequests",
            "clustertrustbundles",
            "podcertificaterequests",
        ],
    ),
    ("coordination.k8s.io", &["leasecandidates", "leases"]),
    ("discovery.k8s.io", &["endpointslices"]),
    ("events.k8s.io", &["events"]),
    (
        "flowcontrol.apiserver.k8s.io",
        &["flowschemas", "prioritylevelconfigurations"],
    ),
    (
        "networking.k8s.io",
        &[
            "ingressclasses",
            "ingresses",
            "ipaddresses",
            "networkpolicies",
            "servicecidrs",
        ],
    ),
    ("node.k8s.io", &["runtimeclasses"]),
    ("policy", &["poddisruptionbudgets", "podsecuritypolicies"]),
    (
        "rbac.authorization.k8s.io",
        &["clusterrolebindings", "clusterroles", "rolebindings", "roles"],
    ),
    (
        "resource.k8s.io",
        &[
            "deviceclasses",
            "resourceclaims",
            "resourceclaimtemplates",
            "resourceslices",
        ],
    ),
    ("scheduling.k8s.io", &["priorityclasses"]),
    (
        "storage.k8s.io",
        &[
            "csidrivers",
            "csinodes",
            "csistoragecapacities",
            "storageclasses",
            "volumeattachments",
            "volumeattributesclasses",
        ],
    ),
    ("crd.k8s.amazonaws.com", &["eniconfigs"]),
    ("networking.k8s.aws", &["policyendpoints"]),
    ("vpcresources.k8s.aws", &["cninodes", "securitygrouppolicies"]),
];

/// Subresources of any of these resources.
pub const SUBRESOURCES: &[&str] = &[
    "approval",
    "attach",
    "binding",
    "checkpoint",
    "configz",
    "ephemeralcontainers",
    "eviction",
    "exec",
    "finalize",
    "healthz",
    "log",
    "metrics",
    "nodeclient",
    "pods",
    "portforward",
    "proxy",
    "resize",
    "scale",
    "selfnodeclient",
    "selfnodeserver",
    "spec",
    "stats",
    "status",
    "token",
];

/// Verbs of requests in the audit log.
pub const VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "head",
    "list",
    "options",
    "patch",
    "post",
    "put",
    "update",
    "watch",
];

/// Further verbs of permissions.
pub const ACCESS_VERBS: &[&str] = &[
    "approve",
    "attest",
    "bind",
    "escalate",
    "impersonate",
    "sign",
    "use",
    "*",
];

/// Domains that prefix the labels of nodes.
pub const LABEL_DOMAINS: &[&str] = &[
    "alpha.eksctl.io",
    "alpha.kubernetes.io",
    "beta.kubernetes.io",
    "eks.amazonaws.com",
    "failure-domain.beta.kubernetes.io",
    "k8s.amazonaws.com",
    "k8s.io",
    "karpenter.k8s.aws",
    "karpenter.sh",
    "kops.k8s.io",
    "kubelet.kubernetes.io",
    "kubernetes.io",
    "node-restriction.kubernetes.io",
    "node-role.kubernetes.io",
    "node.cluster.x-k8s.io",
    "node.kubernetes.io",
    "nvidia.com",
    "topology.ebs.csi.aws.com",
    "topology.k8s.aws",
    "topology.kubernetes.io",
    "vpc.amazonaws.com",
];

/// The API groups.
pub fn groups() -> impl Iterator<Item = &'static str> {
    RESOURCES.iter().map(|(group, _)| *group)
}

/// The resources of a group, or of all groups.
pub fn resources(group: Option<&str>) -> impl Iterator<Item = &'static str> {
    let rows = RESOURCES
        .iter()
        .filter(move |(name, _)| group.is_none_or(|group| group == *name));
    rows.flat_map(|(_, resources)| resources.iter().copied())
}
