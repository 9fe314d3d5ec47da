//! The fields of Karpenter's objects of versions v1 and v1beta1, from its CRDs up to Karpenter 1.9.

use crate::adopt::kubelet_fields;
use crate::error::ImportError;
use crate::known_fields::{KnownFields, meant};
use crate::tree::{Tree, TreeValue};

const REFUSED: &str = "kubectl refuses it, and other clients lose it";

const CLASS: KnownFields = KnownFields {
    place: "`spec` of an EC2NodeClass",
    consequence: REFUSED,
    fields: &[&[
        "amiFamily",
        "amiSelectorTerms",
        "associatePublicIPAddress",
        "blockDeviceMappings",
        "capacityReservationSelectorTerms",
        "connectionTracking",
        "context",
        "cpuOptions",
        "detailedMonitoring",
        "instanceProfile",
        "instanceStorePolicy",
        "ipPrefixCount",
        "kubelet",
        "metadataOptions",
        "networkInterfaces",
        "placementGroupSelector",
        "role",
        "securityGroupSelectorTerms",
        "subnetSelectorTerms",
        "tags",
        "userData",
    ]],
    // A pool has these.
    elsewhere: Some((
        "a NodePool",
        &["labels", "taints", "startupTaints", "requirements", "limits"],
    )),
};

const METADATA_OPTIONS: KnownFields = KnownFields {
    place: "`metadataOptions` of an EC2NodeClass",
    consequence: REFUSED,
    fields: &[&[
        "httpEndpoint",
        "httpProtocolIPv6",
        "httpPutResponseHopLimit",
        "httpTokens",
    ]],
    elsewhere: None,
};

const DEVICE: KnownFields = KnownFields {
    place: "`blockDeviceMappings` of an EC2NodeClass",
    consequence: REFUSED,
    fields: &[&["deviceName", "ebs", "rootVolume"]],
    elsewhere: None,
};

const VOLUME: KnownFields = KnownFields {
    place: "`ebs` of an EC2NodeClass",
    consequence: REFUSED,
    fields: &[&[
        "deleteOnTermination",
        "encrypted",
        "iops",
        "kmsKeyID",
        "snapshotID",
        "throughput",
        "volumeInitializationRate",
        "volumeSize",
        "volumeType",
    ]],
    elsewhere: None,
};

const POOL: KnownFields = KnownFields {
    place: "`spec` of a NodePool",
    consequence: REFUSED,
    fields: &[&["disruption", "limits", "replicas", "template", "weight"]],
    elsewhere: Some((
        "`spec.template` of a NodePool",
        &[
            "labels",
            "taints",
            "startupTaints",
            "requirements",
            "nodeClassRef",
            "kubelet",
        ],
    )),
};

const TEMPLATE: KnownFields = KnownFields {
    place: "`spec.template` of a NodePool",
    consequence: REFUSED,
    fields: &[&["metadata", "spec"]],
    elsewhere: None,
};

const TEMPLATE_METADATA: KnownFields = KnownFields {
    place: "`spec.template.metadata` of a NodePool",
    consequence: REFUSED,
    fields: &[&["annotations", "labels"]],
    elsewhere: None,
};

const NODE: KnownFields = KnownFields {
    place: "`spec.template.spec` of a NodePool",
    consequence: REFUSED,
    fields: &[&[
        "expireAfter",
        "kubelet",
        "nodeClassRef",
        "requirements",
        "resources",
        "startupTaints",
        "taints",
        "terminationGracePeriod",
    ]],
    elsewhere: Some((
        "`spec.template.metadata` of a NodePool",
        &["labels", "annotations"],
    )),
};

const TAINT: KnownFields = KnownFields {
    place: "a taint of a NodePool",
    consequence: REFUSED,
    fields: &[&["key", "value", "effect", "timeAdded"]],
    elsewhere: None,
};

/// Settings of the kubelet, which moved from a pool to its class with v1.
struct MovedKubelet {
    /// The version whose objects have no such field.
    version: &'static str,
    path: &'static [&'static str],
    /// The place without the field, such as `spec` of a kind.
    place: &'static str,
    hint: &'static str,
}

const KUBELET_OF_POOL: MovedKubelet = MovedKubelet {
    version: "karpenter.sh/v1",
    path: &["spec", "template", "spec", "kubelet"],
    place: "`spec.template.spec` of a NodePool",
    hint: "write it as `spec.kubelet` of the EC2NodeClass",
};

const KUBELET_OF_CLASS: MovedKubelet = MovedKubelet {
    version: "karpenter.k8s.aws/v1beta1",
    path: &["spec", "kubelet"],
    place: "`spec` of an EC2NodeClass",
    hint: "write it as `spec.template.spec.kubelet` of the NodePool, or use v1 of both",
};

fn check_kubelet(document: &Tree, moved: &MovedKubelet) -> Result<(), ImportError> {
    let is_without = document.text_at(&["apiVersion"]).as_deref() == Some(moved.version);
    match document.at(moved.path).filter(|_| is_without) {
        None => Ok(()),
        Some(kubelet) => Err(ImportError::Invalid {
            line: kubelet.line(),
            column: None,
            problem: format!(
                "{} of {} has no field `kubelet`: {REFUSED}",
                moved.place, moved.version
            ),
            hint: moved.hint.to_owned(),
        }),
    }
}

/// Settings of the kubelet that are whole numbers; the API server refuses text in their place.
const NUMBERS: [&str; 5] = [
    "evictionMaxPodGracePeriod",
    "imageGCHighThresholdPercent",
    "imageGCLowThresholdPercent",
    "maxPods",
    "podsPerCore",
];
const KUBELET: [&str; 12] = [
    "clusterDNS",
    "cpuCFSQuota",
    "evictionHard",
    "evictionMaxPodGracePeriod",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "imageGCHighThresholdPercent",
    "imageGCLowThresholdPercent",
    "kubeReserved",
    "maxPods",
    "podsPerCore",
    "systemReserved",
];

/// Checks the settings of the kubelet. Releases after 1.14 allow all fields of its configuration, and their controller
/// refuses others.
fn check_kubelet_fields(kubelet: Option<&Tree>, notes: &mut Vec<String>) -> Result<(), ImportError> {
    for (key, value) in kubelet.map(Tree::entries).unwrap_or_default() {
        let line = value
            .line()
            .map(|line| format!("line {line}: "))
            .unwrap_or_default();
        let all = KUBELET.into_iter().chain(kubelet_fields());
        match meant(key, all) {
            _ if NUMBERS.contains(&key.as_str()) && is_expression(value) => notes.push(format!(
                "{line}`{key}` of `kubelet` is an expression: the API server refuses it with Karpenter 1.14 and earlier"
            )),
            _ if KUBELET.contains(&key.as_str()) => {}
            Some(field) if field == key => notes.push(format!(
                "{line}`kubelet` of Karpenter 1.14 and earlier has no field `{key}`: {REFUSED}"
            )),
            Some(field) => {
                return Err(ImportError::Invalid {
                    line: value.line(),
                    column: None,
                    problem: format!("`kubelet` of Karpenter has no field `{key}`: {REFUSED}"),
                    hint: format!("write `{field}`"),
                });
            }
            None => notes.push(format!(
                "{line}nodejoin knows no field `{key}` of `kubelet`: if your version has none either, {REFUSED}"
            )),
        }
    }
    Ok(())
}

/// Whether a number is computed, such as `default_enis * 2`: Karpenter's own repository has it, and no release.
fn is_expression(tree: &Tree) -> bool {
    tree.text().is_some_and(|text| text.contains(['_', '(', '*']))
}

/// Checks that numbers of the kubelet are not text.
///
/// # Errors
/// A number is in quotes, or other text.
pub(super) fn check_kubelet_numbers(kubelet: Option<&Tree>) -> Result<(), ImportError> {
    let Some(kubelet) = kubelet else { return Ok(()) };
    for key in NUMBERS {
        let Some(tree) = kubelet.get(key).filter(|tree| !is_expression(tree)) else {
            continue;
        };
        let TreeValue::Scalar { text, is_plain } = &tree.value else {
            continue;
        };
        if *is_plain && text.parse::<i64>().is_ok() {
            continue;
        }
        return Err(ImportError::Invalid {
            line: tree.line(),
            column: None,
            problem: format!(
                "`{key}` of `kubelet` is `{text}`, and not a whole number: the API server refuses it"
            ),
            hint: "write a number without quotes, such as `30`".to_owned(),
        });
    }
    Ok(())
}

/// Checks the fields of a class. Those of an AWSNodeTemplate are not checked: nothing serves it any more.
pub(super) fn check_class(class: &Tree, kind: &str, notes: &mut Vec<String>) -> Result<(), ImportError> {
    if kind != "EC2NodeClass" {
        return Ok(());
    }
    check_kubelet(class, &KUBELET_OF_CLASS)?;
    check_kubelet_fields(class.at(KUBELET_OF_CLASS.path), notes)?;
    let places: [(&[&str], KnownFields); 2] = [
        (&["spec"], CLASS),
        (&["spec", "metadataOptions"], METADATA_OPTIONS),
    ];
    check_all(class, &places, notes)?;
    for device in class.items_at(&["spec", "blockDeviceMappings"]) {
        DEVICE.check(device, notes)?;
        if let Some(volume) = device.get("ebs") {
            VOLUME.check(volume, notes)?;
        }
    }
    Ok(())
}

/// Checks the fields of a pool. Those of a Provisioner are not checked.
pub(super) fn check_pool(pool: &Tree, notes: &mut Vec<String>) -> Result<(), ImportError> {
    if pool.text_at(&["kind"]).as_deref() != Some("NodePool") {
        return Ok(());
    }
    check_kubelet(pool, &KUBELET_OF_POOL)?;
    check_kubelet_fields(pool.at(KUBELET_OF_POOL.path), notes)?;
    let node: [&str; 3] = ["spec", "template", "spec"];
    let places: [(&[&str], KnownFields); 4] = [
        (&["spec"], POOL),
        (&["spec", "template"], TEMPLATE),
        (&["spec", "template", "metadata"], TEMPLATE_METADATA),
        (&node, NODE),
    ];
    check_all(pool, &places, notes)?;
    for key in ["taints", "startupTaints"] {
        for taint in pool
            .at(&node)
            .map(|node| node.items_at(&[key]))
            .unwrap_or_default()
        {
            TAINT.check(taint, notes)?;
        }
    }
    Ok(())
}

fn check_all(
    document: &Tree,
    places: &[(&[&str], KnownFields)],
    notes: &mut Vec<String>,
) -> Result<(), ImportError> {
    for (path, known) in places {
        if let Some(tree) = document.at(path) {
            known.check(tree, notes)?;
        }
    }
    Ok(())
}
