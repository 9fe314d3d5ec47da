//! Whether faults, and what else the account and the instance's network hold, can be.

use std::collections::BTreeSet;

use crate::input::problems::Problems;
use crate::observation::phase::Phase;
use crate::plan::Plan;
use crate::plan::aws::IpFamily;
use crate::plan::cidr::Cidr;
use crate::plan::fault::{Effect, Fault};
use crate::plan::ids::InstanceId;

pub(super) fn faults(plan: &Plan, problems: &mut Problems<'_>) {
    for (index, fault) in plan.faults.iter().enumerate() {
        when(index, fault, problems);
        if let Effect::Error { status, .. } = &fault.effect
            && !(400..=599).contains(status)
        {
            problems.add(
                &format!("faults[{index}].effect"),
                format!("{status} is not the status of an error"),
                "",
                "give it a status from 400 to 599, or use `body`, `empty-body` or `content-type`",
            );
        }
        if fault.path.as_deref().is_some_and(|path| !path.starts_with('/')) {
            problems.add(
                &format!("faults[{index}].path"),
                "a path starts with `/`",
                "",
                "write it like `/latest/meta-data/*`",
            );
        }
    }
}

fn when(index: usize, fault: &Fault, problems: &mut Problems<'_>) {
    if fault.above_per_second == Some(0) {
        problems.add(
            &format!("faults[{index}].above_per_second"),
            "it lets no request pass",
            "",
            "leave it out for every request",
        );
    }
    if fault.times == Some(0) {
        problems.add(
            &format!("faults[{index}].times"),
            "a fault that meets no request",
            "",
            "leave `times` out for every request",
        );
    }
    let begins = fault.from_seconds.unwrap_or(0.0);
    if fault.until_seconds.is_some_and(|until| until <= begins) {
        problems.add(
            &format!("faults[{index}].until_seconds"),
            "a fault that is over before it begins",
            "",
            "give it a positive time, after `from_seconds`",
        );
    }
}

pub(super) fn iam(plan: &Plan, problems: &mut Problems<'_>) {
    let Some(role) = &plan.role else { return };
    actions("iam.allow", role.allow.as_deref().unwrap_or_default(), problems);
    actions("iam.deny", &role.deny, problems);
    for (index, role) in plan.aws.roles.iter().enumerate() {
        let key = format!("aws.roles[{index}]");
        actions(
            &format!("{key}.allow"),
            role.allow.as_deref().unwrap_or_default(),
            problems,
        );
        actions(&format!("{key}.deny"), &role.deny, problems);
    }
}

fn actions(key: &str, actions: &[String], problems: &mut Problems<'_>) {
    for (index, action) in actions.iter().enumerate() {
        let named = action
            .split_once(':')
            .is_some_and(|(service, name)| !service.is_empty() && !name.is_empty());
        if !named && action != "*" {
            problems.add(
                &format!("{key}[{index}]"),
                format!("`{action}` is not an action"),
                "",
                "write it like `eks:DescribeCluster`",
            );
        }
    }
}

pub(super) fn metadata(plan: &Plan, problems: &mut Problems<'_>) {
    let metadata = &plan.instance.metadata;
    if !(1..=64).contains(&metadata.hop_limit) {
        problems.add(
            "instance.metadata.hop_limit",
            format!("{} hops cannot be", metadata.hop_limit),
            "EC2 takes 1 to 64",
            "",
        );
    }
    if metadata.credentials.lifetime_seconds == 0 {
        problems.add(
            "instance.metadata.credentials.lifetime_seconds",
            "credentials cannot live for no time",
            "",
            "for credentials that have expired, use the fault `expired-credentials`",
        );
    }
    if metadata.spot_notice.is_some() && plan.instance.life_cycle != "spot" {
        problems.add(
            "instance.metadata.spot_notice",
            "only a spot instance is taken back",
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
                format!("{address} is not in the subnet {}", plan.instance.subnet_cidr),
                "",
                "",
            );
        }
    }
    let mut macs = BTreeSet::from([plan.instance.mac.as_str()]);
    for (index, interface) in network.interfaces.iter().enumerate() {
        let key = format!("instance.network.interfaces[{index}]");
        if !super::shape::is_mac(&interface.mac) || interface.mac != interface.mac.to_lowercase() {
            problems.add(
                &format!("{key}.mac"),
                format!("`{}` is not a MAC address", interface.mac),
                "",
                "write it like `0a:1b:2c:3d:4e:5f`, in lower case",
            );
        }
        if !macs.insert(&interface.mac) {
            problems.add(
                &format!("{key}.mac"),
                format!("`{}` is another interface's", interface.mac),
                "",
                "",
            );
        }
        if interface.private_ips.is_empty() {
            problems.add(
                &format!("{key}.private_ips"),
                "an interface has an address at least",
                "",
                "",
            );
        }
    }
}

pub(super) fn account(plan: &Plan, problems: &mut Problems<'_>) {
    let eks = &plan.cluster.eks;
    if eks.ip_family == IpFamily::Ipv6 && eks.service_ipv6_cidr.is_none() {
        problems.add(
            "cluster.eks.ip_family",
            "an IPv6 cluster has IPv6 service addresses",
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
            "the control plane does not see that phase",
            "",
            "write `registered` or `ready`",
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
                format!("`{}` is the scenario's own cluster", cluster.name),
                "",
                "describe it under `cluster`",
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
                format!("`{}` is the scenario's own instance", instance.id),
                "",
                "describe it under `instance`",
            );
        }
    }
}
