//! The fields of a ClusterConfig: eksctl refuses a file with another one. From the schema of eksctl 0.231.

use super::cluster::is_ipv6;
use crate::error::ImportError;
use crate::known_fields::{KnownFields, check_text, check_texts};
use crate::tree::{Tree, TreeValue};

/// What eksctl does with a field or a value that it does not know.
pub(super) const REFUSED: &str = "eksctl refuses it";

const TOP: KnownFields = KnownFields {
    place: "a ClusterConfig",
    consequence: REFUSED,
    fields: &[&[
        "apiVersion",
        "kind",
        "metadata",
        "accessConfig",
        "addons",
        "addonsConfig",
        "autoModeConfig",
        "availabilityZones",
        "capabilities",
        "cloudWatch",
        "controlPlaneScalingConfig",
        "fargateProfiles",
        "gitops",
        "iam",
        "iamIdentityMappings",
        "identityProviders",
        "karpenter",
        "kubeAPIServerConfig",
        "kubeControllerManagerConfig",
        "kubeSchedulerConfig",
        "kubernetesNetworkConfig",
        "localZones",
        "managedNodeGroups",
        "nodeGroups",
        "outpost",
        "privateCluster",
        "remoteNetworkConfig",
        "secretsEncryption",
        "upgradePolicy",
        "vpc",
        "zonalShiftConfig",
    ]],
    elsewhere: None,
};

const METADATA: KnownFields = KnownFields {
    place: "`metadata` of a ClusterConfig",
    consequence: REFUSED,
    fields: &[&[
        "name",
        "region",
        "version",
        "annotations",
        "forceUpdateVersion",
        "rollbackConfig",
        "tags",
    ]],
    elsewhere: None,
};

const NETWORK: KnownFields = KnownFields {
    place: "`kubernetesNetworkConfig`",
    consequence: REFUSED,
    fields: &[&["ipFamily", "serviceIPv4CIDR", "serviceIPv6CIDR"]],
    elsewhere: None,
};

/// Fields of both kinds of groups.
const SHARED: &[&str] = &[
    "additionalVolumes",
    "ami",
    "amiFamily",
    "asgSuspendProcesses",
    "availabilityZones",
    "bottlerocket",
    "capacityReservation",
    "desiredCapacity",
    "disableIMDSv1",
    "disablePodIMDS",
    "ebsOptimized",
    "efaEnabled",
    "enableDetailedMonitoring",
    "iam",
    "instanceMarketOptions",
    "instanceName",
    "instancePrefix",
    "instanceSelector",
    "instanceType",
    "labels",
    "maxPodsPerNode",
    "maxSize",
    "minSize",
    "name",
    "outpostARN",
    "overrideBootstrapCommand",
    "placement",
    "preBootstrapCommands",
    "privateNetworking",
    "propagateASGTags",
    "securityGroups",
    "ssh",
    "subnets",
    "tags",
    "taints",
    "updateConfig",
    "volumeEncrypted",
    "volumeIOPS",
    "volumeKmsKeyID",
    "volumeName",
    "volumeSize",
    "volumeThroughput",
    "volumeType",
];

const OF_SELF_MANAGED: &[&str] = &[
    "asgMetricsCollection",
    "classicLoadBalancerNames",
    "clusterDNS",
    "containerRuntime",
    "cpuCredits",
    "enclaveEnabled",
    "instancesDistribution",
    "kubeletExtraConfig",
    "localZones",
    "maxInstanceLifetime",
    "targetGroupARNs",
];

const OF_MANAGED: &[&str] = &[
    "instanceTypes",
    "launchTemplate",
    "nodeRepairConfig",
    "releaseVersion",
    "spot",
];

const SELF_MANAGED: KnownFields = KnownFields {
    place: "a group of `nodeGroups`",
    consequence: REFUSED,
    fields: &[SHARED, OF_SELF_MANAGED],
    elsewhere: Some(("`managedNodeGroups`", OF_MANAGED)),
};

const MANAGED: KnownFields = KnownFields {
    place: "a group of `managedNodeGroups`",
    consequence: REFUSED,
    fields: &[SHARED, OF_MANAGED],
    elsewhere: Some(("`nodeGroups`", OF_SELF_MANAGED)),
};

const DISTRIBUTION: KnownFields = KnownFields {
    place: "`instancesDistribution`",
    consequence: REFUSED,
    fields: &[&[
        "capacityRebalance",
        "instanceTypes",
        "maxPrice",
        "onDemandBaseCapacity",
        "onDemandPercentageAboveBaseCapacity",
        "spotAllocationStrategy",
        "spotInstancePools",
    ]],
    elsewhere: None,
};

const IAM: KnownFields = KnownFields {
    place: "`iam` of a node group",
    consequence: REFUSED,
    fields: &[&[
        "attachPolicy",
        "attachPolicyARNs",
        "instanceProfileARN",
        "instanceRoleARN",
        "instanceRoleName",
        "instanceRolePermissionsBoundary",
        "withAddonPolicies",
    ]],
    elsewhere: None,
};

const ADDON_POLICIES: KnownFields = KnownFields {
    place: "`iam.withAddonPolicies` of a node group",
    consequence: REFUSED,
    fields: &[&[
        "albIngress",
        "appMesh",
        "appMeshPreview",
        "autoScaler",
        "awsLoadBalancerController",
        "certManager",
        "cloudWatch",
        "ebs",
        "efs",
        "externalDNS",
        "fsx",
        "imageBuilder",
        "xRay",
    ]],
    elsewhere: None,
};

const SSH: KnownFields = KnownFields {
    place: "`ssh` of a node group",
    consequence: REFUSED,
    fields: &[&[
        "allow",
        "enableSsm",
        "publicKey",
        "publicKeyName",
        "publicKeyPath",
        "sourceSecurityGroupIds",
    ]],
    elsewhere: None,
};

const BOTTLEROCKET: KnownFields = KnownFields {
    place: "`bottlerocket` of a node group",
    consequence: REFUSED,
    fields: &[&["enableAdminContainer", "settings"]],
    elsewhere: None,
};

const TAINT: KnownFields = KnownFields {
    place: "a taint of a node group",
    consequence: REFUSED,
    fields: &[&["key", "value", "effect"]],
    elsewhere: None,
};

const VOLUME: KnownFields = KnownFields {
    place: "a volume of a node group",
    consequence: REFUSED,
    fields: &[&[
        "snapshotID",
        "volumeEncrypted",
        "volumeIOPS",
        "volumeKmsKeyID",
        "volumeName",
        "volumeSize",
        "volumeThroughput",
        "volumeType",
    ]],
    elsewhere: None,
};

/// Checks the fields outside of the groups.
pub(super) fn check_config(document: &Tree, notes: &mut Vec<String>) -> Result<(), ImportError> {
    check_name(document)?;
    TOP.check(document, notes)?;
    for (key, known) in [("metadata", METADATA), ("kubernetesNetworkConfig", NETWORK)] {
        if let Some(tree) = document.get(key) {
            known.check(tree, notes)?;
        }
    }
    check_metadata(document)?;
    check_network(document)?;
    check_lists(document)
}

/// eksctl fills in nothing itself: a name with a place to fill in is not the name of a cluster.
fn check_name(document: &Tree) -> Result<(), ImportError> {
    let Some(name) = document.at(&["metadata", "name"]) else {
        return Ok(());
    };
    let text = name.text().unwrap_or_default();
    if !is_open(text) {
        return Ok(());
    }
    Err(ImportError::Invalid {
        line: name.line(),
        column: name.line().map(|_| name.column),
        problem: format!("`metadata.name` is `{text}`, which is not filled in"),
        hint: "give the values of its names: `--set NAME=VALUE`".to_owned(),
    })
}

/// Whether a text has a name in place of a value, such as `${NAME}` or `<name>`.
pub(super) fn is_open(text: &str) -> bool {
    let has_both =
        |begin: &str, end: &str| text.split_once(begin).is_some_and(|(_, rest)| rest.contains(end));
    text.contains("${") || has_both("<", ">") || has_both("{{", "}}")
}

/// A version such as `1.30` is a number without quotes.
fn check_metadata(document: &Tree) -> Result<(), ImportError> {
    for key in ["name", "region", "version"] {
        if let Some(tree) = document.at(&["metadata", key]) {
            check_text(tree, &format!("`metadata.{key}`"), REFUSED)?;
        }
    }
    check_texts(document.at(&["metadata", "tags"]), "the tag", REFUSED)
}

fn check_network(document: &Tree) -> Result<(), ImportError> {
    let network = |key: &str| document.at(&["kubernetesNetworkConfig", key]);
    let family = network("ipFamily").and_then(Tree::text).unwrap_or("IPv4");
    if !["ipv4", "ipv6"].contains(&family.to_ascii_lowercase().as_str()) {
        return Err(refused(
            network("ipFamily").unwrap_or(document),
            format!("eksctl knows no `ipFamily` with the name `{family}`"),
            "write IPv4 or IPv6",
        ));
    }
    match network("serviceIPv4CIDR").filter(|_| is_ipv6(document)) {
        None => Ok(()),
        Some(cidr) => Err(refused(
            cidr,
            "eksctl refuses `serviceIPv4CIDR` of a cluster with `ipFamily: IPv6`".to_owned(),
            "remove `serviceIPv4CIDR`: EKS chooses the IPv6 network of services itself",
        )),
    }
}

fn check_lists(document: &Tree) -> Result<(), ImportError> {
    for key in ["nodeGroups", "managedNodeGroups"] {
        let other = document
            .get(key)
            .filter(|tree| !matches!(tree.value, TreeValue::List(_)));
        if let Some(tree) = other {
            return Err(refused(
                tree,
                format!("`{key}` is not a list: {REFUSED}"),
                "begin each group with `- name: NAME`",
            ));
        }
    }
    Ok(())
}

/// Something that eksctl refuses, in the line of a value.
pub(super) fn refused(place: &Tree, problem: String, hint: &str) -> ImportError {
    ImportError::Invalid {
        line: place.line(),
        column: None,
        problem,
        hint: hint.to_owned(),
    }
}

/// Checks the fields of a group.
pub(super) fn check_group(
    group: &Tree,
    is_managed: bool,
    notes: &mut Vec<String>,
) -> Result<(), ImportError> {
    let own = if is_managed { MANAGED } else { SELF_MANAGED };
    own.check(group, notes)?;
    check_are_text(group)?;
    let mappings: [(&[&str], KnownFields); 5] = [
        (&["instancesDistribution"], DISTRIBUTION),
        (&["iam"], IAM),
        (&["iam", "withAddonPolicies"], ADDON_POLICIES),
        (&["ssh"], SSH),
        (&["bottlerocket"], BOTTLEROCKET),
    ];
    for (path, known) in mappings {
        if let Some(tree) = group.at(path) {
            check_is_map(tree, &path.join("."))?;
            known.check(tree, notes)?;
        }
    }
    for (key, known) in [("taints", TAINT), ("additionalVolumes", VOLUME)] {
        for tree in group.items_at(&[key]) {
            known.check(tree, notes)?;
        }
    }
    Ok(())
}

/// Fields of groups that are text.
const TEXTS: [&str; 12] = [
    "ami",
    "amiFamily",
    "clusterDNS",
    "containerRuntime",
    "instanceName",
    "instancePrefix",
    "instanceType",
    "name",
    "overrideBootstrapCommand",
    "volumeKmsKeyID",
    "volumeName",
    "volumeType",
];

fn check_are_text(group: &Tree) -> Result<(), ImportError> {
    for key in TEXTS {
        let value = group.get(key);
        if let Some(tree) = value.filter(|tree| !matches!(tree.value, TreeValue::Scalar { .. })) {
            return Err(refused(
                tree,
                format!("`{key}` of a node group is not text: {REFUSED}"),
                &format!("write `{key}: VALUE`"),
            ));
        }
    }
    Ok(())
}

fn check_is_map(tree: &Tree, path: &str) -> Result<(), ImportError> {
    if tree.is_map() {
        return Ok(());
    }
    Err(refused(
        tree,
        format!("`{path}` of a node group is not a mapping: {REFUSED}"),
        &format!("write its fields below `{path}`"),
    ))
}
