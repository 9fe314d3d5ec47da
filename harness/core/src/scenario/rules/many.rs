//! Rules for scenarios with several nodes, and for snapshots.

use crate::input::problems::Problems;
use crate::plan::Plan;
use crate::scenario::Scenario;
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

pub(super) fn golden(plan: &Plan, problems: &mut Problems<'_>) {
    let Some(golden) = &plan.golden else { return };
    if golden.files.is_empty() && !golden.argv {
        problems.add(
            "golden",
            "the snapshot is empty",
            "",
            "set `files` or `argv: true`",
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
