//! What happens to a machine after its start in other worlds: it reboots, its units restart, its user data runs again.

use super::arguments::ScriptArguments;
use super::state::MachineState;
use super::world_name::{slug, without_values};
use super::worlds::{Dimension, WorldChange, change};
use crate::plan::step::{Action, StepPlan};
use crate::plan::{Cni, Plan};
use crate::vocabulary::phase::Phase;

/// The most units that restart, each in a world of its own.
const MOST_UNITS: usize = 4;

/// The steps that a machine should survive unchanged. `base` is the machine in the world of the scenario. For each of
/// `arguments`, user data passes them the first time, and not the second time.
#[must_use]
pub fn step_changes(plan: &Plan, base: &MachineState, arguments: &[ScriptArguments]) -> Vec<WorldChange> {
    if plan.user_data.is_none() {
        return Vec::new();
    }
    let mut changes = vec![
        step("reboot", Action::Reboot, None),
        step("user-data-twice", Action::RunUserDataAgain, None),
        step("restart-kubelet", Action::RestartKubelet, None),
    ];
    let units = services(base).into_iter().take(MOST_UNITS);
    changes.extend(units.map(|unit| {
        let name = format!("restart-{}", slug(unit.trim_end_matches(".service")));
        step(&name, Action::RestartUnit, Some(unit))
    }));
    changes.extend(arguments.iter().filter_map(|one| {
        one.added_to(plan.user_data.as_ref()?)?;
        let one = one.clone();
        let name = format!("user-data-after-{}", slug(&without_values(&one.arguments)));
        Some(change(Dimension::Step, &name, move |plan| {
            let Some(first) = plan.user_data.as_ref().and_then(|data| one.added_to(data)) else {
                return;
            };
            plan.user_data = Some(first);
            push(
                plan,
                Action::RunUserDataAgain,
                None,
                Some(format!(" {}", one.arguments)),
            );
        }))
    }));
    changes
}

/// The steps that show what user data leaves for later: a reboot, and user data that runs again.
#[must_use]
pub(super) fn lasting_steps(plan: &Plan) -> Vec<WorldChange> {
    let mut changes = step_changes(plan, &MachineState::default(), &[]);
    changes.retain(|change| ["reboot", "user-data-twice"].contains(&change.name.as_str()));
    changes
}

fn step(name: &str, action: Action, unit: Option<String>) -> WorldChange {
    change(Dimension::Step, name, move |plan| {
        push(plan, action, unit.clone(), None);
    })
}

fn push(plan: &mut Plan, action: Action, unit: Option<String>, without: Option<String>) {
    let mut expect = action.expected(unit.as_deref());
    // Without container networking no node becomes ready.
    if plan.cni == Cni::None {
        expect.phase = Some(Phase::Registered);
        expect.node.iter_mut().for_each(|node| node.ready = None);
    }
    plan.then.push(StepPlan {
        action,
        unit,
        without,
        instance: plan.instance.clone(),
        expect,
    });
}

/// Services that user data started, besides the kubelet.
fn services(base: &MachineState) -> Vec<String> {
    let runs = |part: &&str| {
        let lines = base.lines(part);
        lines.contains(&"ActiveState=active") && lines.contains(&"SubState=running")
    };
    let units = base.names().filter(|part| part.starts_with("unit ")).filter(runs);
    let units = units.filter_map(|part| part.strip_prefix("unit "));
    units
        .filter(|unit| unit.ends_with(".service") && !unit.contains("kubelet"))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::testing::{plan, user_data_of};

    fn steps(plan: &Plan) -> Vec<(String, Plan)> {
        let running = "ActiveState=active\nSubState=running\n";
        let parts = BTreeMap::from([
            ("unit containerd.service".to_owned(), running.to_owned()),
            ("unit kubelet.service".to_owned(), running.to_owned()),
            (
                "unit docker.service".to_owned(),
                "ActiveState=inactive\nSubState=dead\n".to_owned(),
            ),
            ("unit data.mount".to_owned(), running.to_owned()),
        ]);
        let arguments = ScriptArguments {
            path: "/etc/eks/bootstrap.sh".to_owned(),
            arguments: "--dns-cluster-ip 10.200.0.10".to_owned(),
        };
        let changes = step_changes(plan, &MachineState::of_machine(parts), &[arguments]);
        let changed = |change: &WorldChange| {
            let mut changed = plan.clone();
            change.apply(&mut changed);
            (change.name.clone(), changed)
        };
        changes.iter().map(changed).collect()
    }

    #[test]
    fn a_machine_reboots_restarts_what_runs_and_runs_user_data_again() {
        let mut plan = plan();
        assert!(steps(&plan).is_empty());
        plan.user_data = Some(user_data_of("#!/bin/sh\n/etc/eks/bootstrap.sh demo\n"));
        let steps = steps(&plan);
        let names: Vec<&str> = steps.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "reboot",
                "user-data-twice",
                "restart-kubelet",
                "restart-containerd",
                "user-data-after-dns-cluster-ip"
            ]
        );
        let unit = |index: usize| steps[index].1.then[0].unit.as_deref();
        assert_eq!((unit(0), unit(3)), (None, Some("containerd.service")));
        let last = &steps[4].1;
        let bytes = STANDARD.decode(&last.user_data.as_ref().unwrap().base64).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let without = last.then[0].without.as_deref().unwrap();
        assert_eq!(
            text.replacen(without, "", 1),
            "#!/bin/sh\n/etc/eks/bootstrap.sh demo\n"
        );
    }

    #[test]
    fn a_node_without_networking_need_not_be_ready_again() {
        let mut plan = plan();
        plan.user_data = Some(user_data_of("#!/bin/sh\n"));
        plan.cni = Cni::None;
        let steps = steps(&plan);
        let expect = &steps[0].1.then[0].expect;
        assert_eq!(expect.phase, Some(Phase::Registered));
        assert_eq!(expect.node.as_ref().unwrap().ready, None);
    }
}
