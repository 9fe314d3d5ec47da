//! Whether many nodes can be what they are asked to be, and whether there is anything to keep of one.

use crate::input::problems::Problems;
use crate::plan::Plan;
use crate::scenario::Scenario;
use crate::scenario::replicas::MOST;

pub(super) fn many(scenario: &Scenario, plan: &Plan, problems: &mut Problems<'_>) {
    let count = scenario.count.unwrap_or(1);
    if !(1..=MOST).contains(&count) {
        let what = format!("{count} nodes cannot be");
        problems.add("count", what, "", format!("give it 1 to {MOST}"));
    }
    if count <= 1 {
        return;
    }
    let found = plan.others.len() + 1;
    if found < count.min(MOST) as usize {
        problems.add(
            "count",
            format!(
                "the subnet {} has no addresses for {count} nodes",
                plan.instance.subnet_cidr
            ),
            format!("it has {found}"),
            "make `instance.subnet_cidr` larger, or leave it out",
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
                format!("{count} instances cannot share it"),
                "",
                "leave it out: each gets one of its own",
            );
        }
    }
    if !scenario.then.is_empty() {
        problems.add(
            "then",
            "steps are for a scenario with one node",
            "",
            "leave `count` out",
        );
    }
    if scenario.golden.is_some() {
        problems.add(
            "golden",
            "a snapshot is of a scenario with one node",
            "",
            "leave `count` out",
        );
    }
    if scenario.pod.is_some() {
        problems.add(
            "pod",
            "a pod is for a scenario with one node",
            "",
            "leave `count` out",
        );
    }
    let after = scenario.cluster.restart_api_server_after;
    if after.is_some_and(|after| after > count) {
        problems.add(
            "cluster.restart_api_server_after",
            "the API server is never restarted",
            format!("there are {count} nodes"),
            "",
        );
    }
}

pub(super) fn golden(plan: &Plan, problems: &mut Problems<'_>) {
    let Some(golden) = &plan.golden else { return };
    if golden.files.is_empty() && !golden.argv {
        problems.add(
            "golden",
            "there is nothing to keep",
            "",
            "name `files`, or set `argv: true`",
        );
    }
    for (index, path) in golden.files.iter().enumerate() {
        if !path.starts_with('/') {
            problems.add(
                &format!("golden.files[{index}]"),
                format!("`{path}` is not an absolute path"),
                "",
                "begin it with `/`",
            );
        }
    }
}
