//! Whether what is done to a node after its join can be, and can be seen as it is asked for.

use super::{expectations, outcome};
use crate::input::problems::Problems;
use crate::input::yaml::Step;
use crate::observation::phase::Phase;
use crate::plan::Plan;
use crate::plan::step::{Action, StepPlan};

/// Everything that `then` asks for, and what only a step can show.
pub(super) fn steps(plan: &Plan, problems: &mut Problems<'_>) {
    if !plan.then.is_empty() && plan.expect.diagnosis.is_some() {
        problems.add(
            "then",
            "a join that fails has no steps after it",
            "`expect.diagnosis` wants a failure",
            "leave one of the two out",
        );
    }
    nothing_before(plan, problems);
    for (index, step) in plan.then.iter().enumerate() {
        problems.below(&[Step::Key("then"), Step::Index(index)], |problems| {
            possible(plan, step, problems);
            let after = plan.after(step);
            outcome::ending(&after, problems);
            expectations::expectations(&after, problems);
        });
    }
}

/// The first join has no Node and no boot to be compared with.
fn nothing_before(plan: &Plan, problems: &mut Problems<'_>) {
    let Some(node) = &plan.expect.node else { return };
    for (key, is_given) in [
        ("same", node.same.is_some()),
        ("booted_again", node.booted_again.is_some()),
    ] {
        if is_given {
            problems.add(
                &format!("expect.node.{key}"),
                "there is nothing to compare the node with",
                "no step came before",
                "say it of a step of `then`",
            );
        }
    }
}

/// Whether a step can be taken, and can show what is asked for.
fn possible(plan: &Plan, step: &StepPlan, problems: &mut Problems<'_>) {
    let (action, expect) = (step.action, &step.expect);
    if action == Action::RunUserDataAgain && plan.user_data.is_none() {
        problems.add("do", "there is no `user_data` to run again", "", "");
    }
    if expect.pod.is_some() {
        problems.add("expect.pod", "a step runs no pod", "", "leave it out");
    }
    if expect.user_data.is_some() && !action.minds_user_data() {
        let what = format!("`{}` runs no user data", action.word());
        problems.add("expect.user_data", what, "", "leave it out");
    }
    if action == Action::DeleteNode {
        return gone(step, problems);
    }
    let again = expect.node.as_ref().and_then(|node| node.booted_again);
    if again.is_some_and(|again| again != action.boots()) {
        let what = match action.boots() {
            true => format!("`{}` is another boot", action.word()),
            false => format!("`{}` boots nothing", action.word()),
        };
        problems.add(
            "expect.node.booted_again",
            what,
            "",
            "turn it round, or leave it out",
        );
    }
}

/// A kubelet that has registered once does not do so again by itself.
fn gone(step: &StepPlan, problems: &mut Problems<'_>) {
    let why = "a kubelet registers when it starts, and not again while it runs";
    if step.expect.node.is_some() {
        problems.add(
            "expect.node",
            "the Node is deleted",
            why,
            "leave it out, or restart the kubelet first",
        );
    }
    if step.expect.phase >= Some(Phase::Registered) {
        let hint = "expect `diagnosis: node-deleted`, or restart the kubelet first";
        problems.add("expect.phase", "the Node is deleted", why, hint);
    }
}
