//! Rules for scenarios with several nodes, and for snapshots.

use crate::input::problems::Problems;
use crate::plan::{InstancePlan, Plan};
use crate::scenario::Scenario;
use crate::scenario::file::InstanceFile;
use crate::scenario::replicas::MAX_NODES;

pub(super) fn many(scenario: &Scenario, plan: &Plan, problems: &mut Problems<'_>) {
    let count = scenario.count.unwrap_or(1);
    if !(1..=MAX_NODES).contains(&count) {
        let what = format!("invalid number of nodes: {count}");
        problems.add("count", what, "", format!("use 1 to {MAX_NODES}"));
    }
    if count <= 1 {
        return;
    }
    let found = plan.others.len() + 1;
    if found < count.min(MAX_NODES) as usize {
        problems.add(
            "count",
            format!(
                "the subnet {} is too small for {count} nodes",
                plan.instance.subnet_cidr
            ),
            format!("it has {found} usable addresses"),
            "enlarge `instance.subnet_cidr`, or remove it",
        );
    }
    let instance = &scenario.instance;
    for (key, is_given) in [
        ("id", instance.id.is_some()),
        ("private_ip", instance.private_ip.is_some()),
        ("private_dns_name", instance.private_dns_name.is_some()),
        ("host_name", instance.host_name.is_some()),
        ("mac", instance.mac.is_some()),
    ] {
        if is_given {
            problems.add(
                &format!("instance.{key}"),
                format!("{count} instances cannot share one value"),
                "",
                "remove it; each instance gets its own value",
            );
        }
    }
    if !scenario.then.is_empty() {
        problems.add(
            "then",
            "steps require a scenario with one node",
            "",
            "remove `count`",
        );
    }
    if scenario.golden.is_some() {
        problems.add(
            "golden",
            "a snapshot requires a scenario with one node",
            "",
            "remove `count`",
        );
    }
    if scenario.pod.is_some() {
        problems.add(
            "pod",
            "a pod requires a scenario with one node",
            "",
            "remove `count`",
        );
    }
    let after = scenario.cluster.restart_api_server_after;
    if after.is_some_and(|after| after > count) {
        problems.add(
            "cluster.restart_api_server_after",
            "the API server never restarts",
            format!("the scenario has {count} nodes"),
            "",
        );
    }
}

/// Rules for the instances that an account file lists.
pub(super) fn listed(files: &[InstanceFile], plan: &Plan, problems: &mut Problems<'_>) {
    if files.len() > MAX_NODES as usize {
        let what = format!("the account has {} instances", files.len());
        problems.add("instances", what, "", format!("list at most {MAX_NODES}"));
        return;
    }
    if plan.others.len() + 1 < files.len() {
        let what = format!(
            "the subnet {} is too small for {} instances",
            plan.instance.subnet_cidr,
            files.len()
        );
        problems.add("instances[0].subnet_cidr", what, "", "enlarge it");
        return;
    }
    for (index, file) in files.iter().enumerate().skip(1) {
        for (key, is_given) in [
            ("role", file.role.is_some()),
            ("availability_zone", file.availability_zone.is_some()),
            ("subnet_cidr", file.subnet_cidr.is_some()),
            ("vpc_cidrs", file.vpc_cidrs.is_some()),
        ] {
            if is_given {
                let what = format!("the instances of an account share `{key}`");
                let hint = "set it in the first instance only";
                problems.add(&format!("instances[{index}].{key}"), what, "", hint);
            }
        }
    }
    distinct("id", plan, problems, |instance| instance.id.to_string());
    distinct("private_ip", plan, problems, |instance| {
        instance.private_ip.to_string()
    });
    distinct("private_dns_name", plan, problems, |instance| {
        instance.private_dns_name.clone()
    });
    distinct("mac", plan, problems, |instance| instance.mac.clone());
    for (index, instance) in plan.others.iter().enumerate() {
        let mut others = plan.aws.instances.iter();
        if others.any(|other| other.id == instance.id.as_str()) {
            let what = format!("`{}` is also in `aws.instances`", instance.id);
            problems.add(
                &format!("instances[{}].id", index + 1),
                what,
                "",
                "remove one of them",
            );
        }
    }
}

/// Reports instances that have the value of an earlier one.
fn distinct(key: &str, plan: &Plan, problems: &mut Problems<'_>, value: fn(&InstancePlan) -> String) {
    let all: Vec<String> = std::iter::once(&plan.instance)
        .chain(&plan.others)
        .map(value)
        .collect();
    for (index, value) in all.iter().enumerate() {
        let earlier = all.iter().position(|earlier| earlier == value);
        if let Some(earlier) = earlier.filter(|earlier| *earlier < index) {
            let what = format!("`{value}` is also the `{key}` of `instances[{earlier}]`");
            problems.add(
                &format!("instances[{index}].{key}"),
                what,
                "",
                "give each instance its own, or remove the key",
            );
        }
    }
}

pub(super) fn golden(scenario: &Scenario, plan: &Plan, problems: &mut Problems<'_>) {
    let Some(golden) = &plan.golden else { return };
    if !golden.has_parts() && golden.machine.is_none() {
        problems.add(
            "golden",
            "the snapshot is empty",
            "",
            "set `machine: true`, `argv: true` or `files`",
        );
    }
    if let (None, Some(except)) = (
        &golden.machine,
        scenario.golden.iter().flat_map(|one| &one.except).next(),
    ) {
        problems.add(
            "golden.except",
            format!("`{except}` is a part of no snapshot"),
            "",
            "set `machine: true`",
        );
    }
    for (index, path) in golden.files.iter().enumerate() {
        if !path.starts_with('/') {
            problems.add(
                &format!("golden.files[{index}]"),
                format!("invalid path `{path}`: expected an absolute path"),
                "",
                "start it with `/`",
            );
        }
    }
}
