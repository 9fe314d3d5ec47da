//! Rules for the steps of `then` and their expectations.

use super::{expectations, names, outcome};
use crate::input::problems::Problems;
use crate::input::yaml::PathStep;
use crate::plan::Plan;
use crate::plan::step::{Action, StepPlan};
use crate::vocabulary::phase::Phase;

/// Checks each step, and expectations of the join that only a step supports.
pub(super) fn steps(plan: &Plan, problems: &mut Problems<'_>) {
    if !plan.then.is_empty() && plan.expect.diagnosis.is_some() {
        problems.add(
            "then",
            "steps require a successful join",
            "`expect.diagnosis` expects a failure",
            "remove one of them",
        );
    }
    no_comparison(plan, problems);
    for (index, step) in plan.then.iter().enumerate() {
        problems.below(&[PathStep::Key("then"), PathStep::Index(index)], |problems| {
            possible(plan, step, problems);
            let after = plan.after(step);
            outcome::ending(&after, problems);
            expectations::expectations(&after, problems);
        });
    }
}

/// Rejects comparisons with an earlier Node or boot in the first join.
fn no_comparison(plan: &Plan, problems: &mut Problems<'_>) {
    let Some(node) = &plan.expect.node else { return };
    for (key, is_given) in [
        ("same", node.same.is_some()),
        ("booted_again", node.booted_again.is_some()),
    ] {
        if is_given {
            problems.add(
                &format!("expect.node.{key}"),
                "the first join cannot be compared with an earlier node",
                "",
                "move it to a step of `then`",
            );
        }
    }
}

/// Checks whether a step is possible and supports its expectations.
fn possible(plan: &Plan, step: &StepPlan, problems: &mut Problems<'_>) {
    let (action, expect) = (step.action, &step.expect);
    unit(plan, step, problems);
    if action == Action::RunUserDataAgain && plan.user_data.is_none() {
        problems.add("do", "`user_data` is missing", "", "");
    }
    if expect.same_as.is_some() {
        let what = "a step is not compared with another scenario";
        problems.add("expect.same_as", what, "", "move it to `expect` of the scenario");
    }
    if expect.pod.is_some() {
        problems.add("expect.pod", "steps do not run the pod", "", "remove it");
    }
    if expect.user_data.is_some() && !action.minds_user_data() {
        let what = format!("`{}` does not run user data", action.word());
        problems.add("expect.user_data", what, "", "remove it");
    }
    if action == Action::DeleteNode {
        return gone(step, problems);
    }
    let again = expect.node.as_ref().and_then(|node| node.booted_again);
    if again.is_some_and(|again| again != action.boots()) {
        let what = match action.boots() {
            true => format!("`{}` always boots the node", action.word()),
            false => format!("`{}` does not boot the node", action.word()),
        };
        problems.add(
            "expect.node.booted_again",
            what,
            "",
            "use the opposite value, or remove it",
        );
    }
}

/// Checks the unit of a step: only steps about units have one.
fn unit(plan: &Plan, step: &StepPlan, problems: &mut Problems<'_>) {
    let word = step.action.word();
    match &step.unit {
        None if step.action.has_unit() => {
            let hint = "name it, for example `unit: containerd.service`";
            problems.add("do", format!("`{word}` requires `unit`"), "", hint);
        }
        Some(_) if !step.action.has_unit() => {
            problems.add("unit", format!("`{word}` is not about a unit"), "", "remove it");
        }
        Some(unit) => names::unit(plan, unit, &[PathStep::Key("unit")], problems),
        None => {}
    }
}

/// A running kubelet does not register again after its Node is deleted.
fn gone(step: &StepPlan, problems: &mut Problems<'_>) {
    let why = "a kubelet registers only when it starts";
    if step.expect.node.is_some() {
        problems.add(
            "expect.node",
            "the Node is deleted",
            why,
            "remove it, or restart the kubelet first",
        );
    }
    if step.expect.phase >= Some(Phase::Registered) {
        let hint = "expect `diagnosis: node-deleted`, or restart the kubelet first";
        problems.add("expect.phase", "the Node is deleted", why, hint);
    }
}
