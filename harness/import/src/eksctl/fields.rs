//! The fields of a ClusterConfig: eksctl refuses a file with another one. From the schema of eksctl 0.231.

use crate::error::ImportError;
use crate::known_fields::KnownFields;
use crate::tree::Tree;

const REFUSED: &str = "eksctl refuses it";

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
    TOP.check(document, notes)?;
    for (key, known) in [("metadata", METADATA), ("kubernetesNetworkConfig", NETWORK)] {
        if let Some(tree) = document.get(key) {
            known.check(tree, notes)?;
        }
    }
    Ok(())
}

/// Checks the fields of a group.
pub(super) fn check_group(
    group: &Tree,
    is_managed: bool,
    notes: &mut Vec<String>,
) -> Result<(), ImportError> {
    let own = if is_managed { MANAGED } else { SELF_MANAGED };
    own.check(group, notes)?;
    let mappings = [
        ("instancesDistribution", DISTRIBUTION),
        ("iam", IAM),
        ("bottlerocket", BOTTLEROCKET),
    ];
    for (key, known) in mappings {
        if let Some(tree) = group.get(key) {
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
