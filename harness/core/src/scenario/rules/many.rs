//! Whether many nodes, or one node after the other, can be what they are asked to be.

use crate::plan::Plan;
use crate::report::Report;
use crate::scenario::Scenario;
use crate::scenario::siblings::MOST;
use crate::step::Action;

pub(super) fn many(scenario: &Scenario, report: &mut Report<'_>) {
    let count = scenario.count.unwrap_or(1);
    if !(1..=MOST).contains(&count) {
        let what = format!("{count} nodes cannot be");
        report.add("count", what, "", format!("give it 1 to {MOST}"));
    }
    if count <= 1 {
        return;
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
            report.add(
                &format!("instance.{key}"),
                format!("{count} instances cannot share it"),
                "",
                "leave it out: each gets one of its own",
            );
        }
    }
    if !scenario.then.is_empty() {
        report.add(
            "then",
            "steps are for a scenario with one node",
            "",
            "leave `count` out",
        );
    }
    if scenario.golden.is_some() {
        report.add(
            "golden",
            "a snapshot is of a scenario with one node",
            "",
            "leave `count` out",
        );
    }
    if scenario.pod.is_some() {
        report.add(
            "pod",
            "a pod is for a scenario with one node",
            "",
            "leave `count` out",
        );
    }
    let after = scenario.cluster.restart_api_server_after;
    if after.is_some_and(|after| after > count) {
        report.add(
            "cluster.restart_api_server_after",
            "the API server is never restarted",
            format!("there are {count} nodes"),
            "",
        );
    }
}

pub(super) fn golden(plan: &Plan, report: &mut Report<'_>) {
    let Some(golden) = &plan.golden else { return };
    if golden.files.is_empty() && !golden.argv {
        report.add(
            "golden",
            "there is nothing to keep",
            "",
            "name `files`, or set `argv: true`",
        );
    }
    for (index, path) in golden.files.iter().enumerate() {
        if !path.starts_with('/') {
            report.add(
                &format!("golden.files[{index}]"),
                format!("`{path}` is not an absolute path"),
                "",
                "begin it with `/`",
            );
        }
    }
}

pub(super) fn steps(plan: &Plan, report: &mut Report<'_>) {
    for (index, step) in plan.then.iter().enumerate() {
        if step.action == Action::RunUserDataAgain && plan.user_data.is_none() {
            report.add(
                &format!("then[{index}].do"),
                "there is no `user_data` to run again",
                "",
                "",
            );
        }
        if step.expect.pod.is_some() {
            report.add(
                &format!("then[{index}].expect.pod"),
                "a step runs no pod",
                "",
                "leave it out",
            );
        }
    }
    if !plan.then.is_empty() && plan.expect.diagnosis.is_some() {
        report.add(
            "then",
            "a join that fails has no steps after it",
            "`expect.diagnosis` wants a failure",
            "leave one of the two out",
        );
    }
}
