//! AWSManagedMachinePool: a managed node group, whose nodes EKS bootstraps.

use super::manifests::{MANAGED_POOL, is_of_kind};
use crate::error::ImportError;
use crate::known_fields::{KnownFields, check_texts};
use crate::machine::{CapacityType, Machine, ManagedNodeGroup, Taint, TaintEffect, Traits};
use crate::tree::Tree;
use crate::words::{family_of_ami_type, texts};

/// The type of an AMI that the launch template names.
const CUSTOM: &str = "CUSTOM";
/// The type of a pool that states none.
const DEFAULT_AMI_TYPE: &str = "AL2_x86_64";
/// What becomes of a value that the CRD does not allow.
const REFUSED: &str = "the API server refuses it";

const SPEC: KnownFields = KnownFields {
    place: "`spec` of an AWSManagedMachinePool",
    consequence: "kubectl refuses it, and other clients lose it",
    fields: &[&[
        "additionalTags",
        "amiType",
        "amiVersion",
        "availabilityZoneSubnetType",
        "availabilityZones",
        "awsLaunchTemplate",
        "capacityType",
        "diskSize",
        "eksNodegroupName",
        "instanceType",
        "labels",
        "lifecycleHooks",
        "providerIDList",
        "remoteAccess",
        "roleAdditionalPolicies",
        "roleName",
        "rolePath",
        "rolePermissionsBoundary",
        "scaling",
        "subnetIDs",
        "taints",
        "updateConfig",
    ]],
    elsewhere: None,
};

const TAINT: KnownFields = KnownFields {
    place: "a taint of an AWSManagedMachinePool",
    consequence: "kubectl refuses it, and other clients lose it",
    fields: &[&["effect", "key", "value"]],
    elsewhere: None,
};

/// Whether the pool has no launch template; one with a template has a bootstrap configuration.
pub(super) fn is_alone(document: &Tree) -> bool {
    is_of_kind(document, MANAGED_POOL)
        && document
            .get("spec")
            .is_some_and(|spec| spec.get("awsLaunchTemplate").is_none())
}

/// What EKS refuses of a pool with a launch template: Cluster API names an AMI in it, also if the manifest names none
/// (`DiscoverLaunchTemplateAMI`), and passes the type of an AMI besides.
pub(super) fn refused_type(document: &Tree) -> Option<String> {
    let template = document.at(&["spec", "awsLaunchTemplate"])?;
    let stated = document.text_at(&["spec", "amiType"]);
    let ami_type = stated.as_deref().unwrap_or(DEFAULT_AMI_TYPE);
    let has_id = template.text_at(&["ami", "id"]).is_some();
    let is_refused = is_of_kind(document, MANAGED_POOL) && !has_id && ami_type != CUSTOM;
    is_refused.then(|| {
        format!(
            "EKS refuses the node group: Cluster API writes the AMI that it looks up into the launch template, and beside an AMI in a \
             launch template EKS takes the type {CUSTOM} alone; write `amiType: {CUSTOM}` in place of {ami_type}"
        )
    })
}

/// Checks the fields of a pool, and its labels and taints.
///
/// # Errors
/// The API server refuses the pool.
pub(super) fn check(document: &Tree, notes: &mut Vec<String>) -> Result<(), ImportError> {
    let Some(spec) = document.get("spec") else {
        return Ok(());
    };
    SPEC.check(spec, notes)?;
    check_texts(spec.get("labels"), "the label", REFUSED)?;
    for tree in spec.items_at(&["taints"]) {
        TAINT.check(tree, notes)?;
        if taint(tree).is_none() {
            return Err(ImportError::Invalid {
                line: tree.get("effect").unwrap_or(tree).line(),
                column: None,
                problem: format!("a taint of an AWSManagedMachinePool has no key, or no effect that it knows: {REFUSED}"),
                hint: "give the taint a `key`, and one of the effects no-schedule, prefer-no-schedule and no-execute".to_owned(),
            });
        }
    }
    Ok(())
}

/// The pool without its user data. EKS bootstraps its nodes unless the launch template names an AMI.
pub(super) fn described(document: &Tree) -> Option<Machine> {
    let spec = document.get("spec")?;
    let name = document.text_at(&["metadata", "name"])?;
    let text = |key: &str| spec.text_at(&[key]);
    let labels = texts(spec.get("labels"));
    let taints: Vec<Taint> = spec.items_at(&["taints"]).iter().filter_map(taint).collect();
    let is_spot = text("capacityType").as_deref() == Some("spot");
    let template = |path: &[&str]| spec.at(&["awsLaunchTemplate"])?.text_at(path);
    let ami_id = template(&["ami", "id"]);
    let group = ManagedNodeGroup {
        name: text("eksNodegroupName").or_else(|| Some(name.clone())),
        labels: labels.clone(),
        taints: taints.clone(),
        capacity_type: Some(if is_spot {
            CapacityType::Spot
        } else {
            CapacityType::OnDemand
        }),
        instance_types: text("instanceType").into_iter().collect(),
        ..ManagedNodeGroup::default()
    };
    let has_ami = ami_id.is_some() || text("amiType").as_deref() == Some(CUSTOM);
    let family = text("amiType").as_deref().and_then(family_of_ami_type);
    // Cluster API passes no type of an AMI beside the id of one.
    let ami_family = family.filter(|_| ami_id.is_none());
    let mut traits = Traits {
        is_spot,
        ami_family,
        instance_type: text("instanceType").or_else(|| template(&["instanceType"])),
        ami_id,
        role: text("roleName"),
        tags: texts(spec.get("additionalTags")),
        labels,
        taints,
        ..Traits::default()
    };
    if has_ami {
        traits.leave_group_to_eks();
    }
    Some(Machine {
        line: document.line(),
        managed: (!has_ami).then_some(group),
        traits,
        name,
        ..Machine::default()
    })
}

/// Effects are written with a hyphen here.
fn taint(tree: &Tree) -> Option<Taint> {
    let effect = match tree.text_at(&["effect"])?.as_str() {
        "no-schedule" => TaintEffect::NoSchedule,
        "no-execute" => TaintEffect::NoExecute,
        "prefer-no-schedule" => TaintEffect::PreferNoSchedule,
        _ => return None,
    };
    Some(Taint {
        key: tree.text_at(&["key"])?,
        value: tree.text_at(&["value"]).unwrap_or_default(),
        effect,
    })
}
