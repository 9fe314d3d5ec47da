//! The fields of Karpenter's objects of versions v1 and v1beta1, from its CRDs up to Karpenter 1.9.

use crate::error::ImportError;
use crate::known_fields::KnownFields;
use crate::tree::Tree;

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

/// Checks the fields of a class. Those of an AWSNodeTemplate are not checked: nothing serves it any more.
pub(super) fn check_class(class: &Tree, kind: &str, notes: &mut Vec<String>) -> Result<(), ImportError> {
    if kind != "EC2NodeClass" {
        return Ok(());
    }
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
