//! Rules for faults, IAM, metadata options, network and other resources of the account.

use std::collections::BTreeSet;

use super::names::{self, PolicyEffect, check_actions};
use crate::input::problems::Problems;
use crate::input::yaml::PathStep;
use crate::plan::aws::{GROUP_TAG, IpFamily, OtherRole};
use crate::plan::fault::{Effect, Fault};
use crate::plan::{LifeCycle, Plan};
use crate::vocabulary::cidr::Cidr;
use crate::vocabulary::ids::InstanceId;
use crate::vocabulary::phase::Phase;

/// The types of resources that `aws.tags` may name.
const TAGGED: [&str; 5] = ["network-interface", "security-group", "subnet", "volume", "vpc"];

pub(super) fn faults(plan: &Plan, problems: &mut Problems<'_>) {
    for (index, fault) in plan.faults.iter().enumerate() {
        when(index, fault, problems);
        if let Some(refusal) = fault.refusal() {
            super::refusals::check(index, fault, refusal, plan, problems);
        }
        names::check_fault(index, fault, problems);
        if let Effect::Response { status, .. } = &fault.effect
            && !(200..=599).contains(status)
        {
            problems.add(
                &format!("faults[{index}].effect"),
                format!("{status} is not the status of a response"),
                "",
                "use a status from 200 to 599",
            );
        }
        if let Effect::Error { status, .. } = &fault.effect
            && !(400..=599).contains(status)
        {
            problems.add(
                &format!("faults[{index}].effect"),
                format!("{status} is not an error status"),
                "",
                "use a status from 400 to 599, or the effect `response`, `body`, `empty-body` or `content-type`",
            );
        }
        if fault.path.as_deref().is_some_and(|path| !path.starts_with('/')) {
            problems.add(
                &format!("faults[{index}].path"),
                "invalid path: expected a leading `/`",
                "",
                "for example `/latest/meta-data/*`",
            );
        }
    }
}

fn when(index: usize, fault: &Fault, problems: &mut Problems<'_>) {
    if fault.above_per_second == Some(0) {
        problems.add(
            &format!("faults[{index}].above_per_second"),
            "the rate must be greater than 0",
            "",
            "remove the key to affect every request",
        );
    }
    if fault.times == Some(0) {
        problems.add(
            &format!("faults[{index}].times"),
            "the fault affects no request",
            "",
            "remove `times` to affect every request",
        );
    }
    let begins = fault.from_seconds.unwrap_or(0.0);
    if fault.until_seconds.is_some_and(|until| until <= begins) {
        problems.add(
            &format!("faults[{index}].until_seconds"),
            "the fault ends before it starts",
            "",
            "use a positive time after `from_seconds`",
        );
    }
}

pub(super) fn iam(plan: &Plan, problems: &mut Problems<'_>) {
    let Some(role) = &plan.role else { return };
    let allow = role.allow.as_deref().unwrap_or_default();
    check_actions("iam.allow", allow, PolicyEffect::Allow, problems);
    check_actions("iam.deny", &role.deny, PolicyEffect::Deny, problems);
    for (index, role) in plan.aws.roles.iter().enumerate() {
        let key = format!("aws.roles[{index}]");
        let allow = role.allow.as_deref().unwrap_or_default();
        check_actions(&format!("{key}.allow"), allow, PolicyEffect::Allow, problems);
        check_actions(&format!("{key}.deny"), &role.deny, PolicyEffect::Deny, problems);
    }
}

pub(super) fn metadata(plan: &Plan, problems: &mut Problems<'_>) {
    let metadata = &plan.instance.metadata;
    if !(1..=64).contains(&metadata.hop_limit) {
        problems.add(
            "instance.metadata.hop_limit",
            format!("invalid hop limit {}", metadata.hop_limit),
            "EC2 allows 1 to 64",
            "",
        );
    }
    if metadata.credentials.lifetime_seconds == 0 {
        problems.add(
            "instance.metadata.credentials.lifetime_seconds",
            "the lifetime must be greater than 0",
            "",
            "use the fault `expired-credentials` for expired credentials",
        );
    }
    if metadata.spot_notice.is_some() && plan.instance.life_cycle != LifeCycle::Spot {
        problems.add(
            "instance.metadata.spot_notice",
            "only Spot Instances receive an interruption notice",
            "",
            "set `instance.life_cycle: spot`",
        );
    }
}

pub(super) fn network(plan: &Plan, problems: &mut Problems<'_>) {
    let network = &plan.instance.network;
    let subnet: Option<Cidr> = plan.instance.subnet_cidr.parse().ok();
    for (index, address) in network.secondary_ips.iter().enumerate() {
        if subnet.is_some_and(|subnet| !subnet.contains(*address)) {
            problems.add(
                &format!("instance.network.secondary_ips[{index}]"),
                format!("{address} is outside of the subnet {}", plan.instance.subnet_cidr),
                "",
                "",
            );
        }
    }
    let mut macs = BTreeSet::from([plan.instance.mac.as_str()]);
    let mut devices = BTreeSet::from([0]);
    for (index, interface) in network.interfaces.iter().enumerate() {
        let key = format!("instance.network.interfaces[{index}]");
        if !super::shape::is_mac(&interface.mac) || interface.mac != interface.mac.to_lowercase() {
            problems.add(
                &format!("{key}.mac"),
                format!("invalid MAC address `{}`", interface.mac),
                "",
                "for example `0a:1b:2c:3d:4e:5f`, in lower case",
            );
        }
        if !devices.insert(interface.device(index)) {
            problems.add(
                &format!("{key}.device_index"),
                format!("device index {} is already in use", interface.device(index)),
                "the primary interface has index 0",
                "",
            );
        }
        if !macs.insert(&interface.mac) {
            problems.add(
                &format!("{key}.mac"),
                format!("MAC address `{}` is already in use", interface.mac),
                "",
                "",
            );
        }
        if interface.private_ips.is_empty() {
            problems.add(
                &format!("{key}.private_ips"),
                "an interface requires at least one address",
                "",
                "",
            );
        }
    }
}

pub(super) fn account(plan: &Plan, problems: &mut Problems<'_>) {
    let eks = &plan.cluster.eks;
    for (index, association) in eks.pod_identity_associations.iter().enumerate() {
        let name = |role: &str| role.rsplit('/').next().map(str::to_owned);
        let is_it = |role: &OtherRole| name(&role.name) == name(&association.role);
        if !plan.aws.roles.iter().any(is_it) {
            problems.add(
                &format!("cluster.eks.pod_identity_associations[{index}].role"),
                format!("the account has no role `{}`", association.role),
                "",
                format!(
                    "add `{{ name: {}, trusts: pods }}` to `aws.roles`",
                    association.role
                ),
            );
        }
    }
    if eks.ip_family == IpFamily::Ipv6 && eks.service_ipv6_cidr.is_none() {
        problems.add(
            "cluster.eks.ip_family",
            "an IPv6 cluster requires IPv6 service addresses",
            "",
            "set `cluster.eks.service_ipv6_cidr`, such as `fd30:1c53:5f8a::/108`",
        );
    }
    if plan
        .cluster
        .authenticator_until
        .is_some_and(|phase| phase != Phase::Registered && phase != Phase::Ready)
    {
        problems.add(
            "cluster.authenticator_until",
            "the control plane cannot observe this phase",
            "",
            "use `registered` or `ready`",
        );
    }
    for (index, cluster) in plan.aws.clusters.iter().enumerate() {
        let is_here = cluster
            .region
            .as_deref()
            .is_none_or(|region| region == plan.region.as_str());
        if is_here && cluster.name == plan.cluster.name {
            problems.add(
                &format!("aws.clusters[{index}].name"),
                format!("`{}` is the cluster of the scenario itself", cluster.name),
                "",
                "set its properties in `cluster`",
            );
        }
    }
    for (index, instance) in plan.aws.instances.iter().enumerate() {
        let key = format!("aws.instances[{index}].id");
        if problems
            .parse::<InstanceId>(&key, &instance.id, "")
            .is_some_and(|id| id == plan.instance.id)
        {
            problems.add(
                &key,
                format!("`{}` is the instance of the scenario itself", instance.id),
                "",
                "set its properties in `instance`",
            );
        }
    }
}

/// Checks that `aws.autoscaling` and the tag of the instance name the same group.
pub(super) fn autoscaling(plan: &Plan, problems: &mut Problems<'_>) {
    let Some(autoscaling) = &plan.aws.autoscaling else {
        return;
    };
    let tag = plan.instance.tags.get(GROUP_TAG);
    if tag.is_some_and(|tag| *tag != autoscaling.group) {
        problems.add(
            "aws.autoscaling.group",
            format!("the tag `{GROUP_TAG}` of the instance names another group"),
            "an instance is in one group",
            "remove the tag: the instance gets it from `aws.autoscaling`",
        );
    }
}

/// Checks that the tags in `aws.tags` belong to a resource.
pub(super) fn tags(plan: &Plan, problems: &mut Problems<'_>) {
    let addresses = plan.aws.addresses.iter();
    let ids = addresses.filter_map(|address| address.allocation_id.as_deref());
    let known: Vec<&str> = TAGGED.into_iter().chain(ids).collect();
    for key in plan.aws.tags.keys().filter(|key| !known.contains(&key.as_str())) {
        problems.add_at(
            &[PathStep::Key("aws"), PathStep::Key("tags"), PathStep::Key(key)],
            format!("no resource of the account is `{key}`"),
            "",
            names::meant(key, known.iter().copied(), "resources"),
        );
    }
}
