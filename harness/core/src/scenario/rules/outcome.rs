//! Rules for the expected outcome: phase, diagnosis and pod must be possible.

use crate::input::problems::Problems;
use crate::plan::{Cni, Plan, UserDataEngine};
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;
use crate::vocabulary::service::Service;

/// Rules for the expected outcome: phase, diagnosis and pod must be possible.
pub(super) fn outcome(plan: &Plan, problems: &mut Problems<'_>) {
    let expect = &plan.expect;
    ending(plan, problems);
    if let (Some(phase), None) = (expect.phase, expect.diagnosis) {
        startable(phase, plan, problems);
    }
    pods(plan, problems);
}

/// Checks the expected end of a join or of a step.
pub(super) fn ending(plan: &Plan, problems: &mut Problems<'_>) {
    let expect = &plan.expect;
    if expect.diagnosis.is_none() && !expect.diagnosis_contains.is_empty() {
        problems.add(
            "expect.diagnosis_contains",
            "`diagnosis` is missing",
            "a join without an expected diagnosis has no report of one",
            "add `diagnosis: CAUSE`; `nodejoin explain` lists all causes",
        );
    }
    if expect.diagnosis.is_some() && expect.notes.is_some() {
        problems.add(
            "expect.notes",
            "an expected diagnosis has no notes",
            "only a join that should succeed has notes",
            "remove `notes`, or use `diagnosis_contains`",
        );
    }
    match (expect.phase, expect.diagnosis) {
        (Some(Phase::Ready), Some(cause)) if !cause.is_after_ready() => {
            let hint = "remove `diagnosis`, or expect the phase at which the join stops";
            problems.add(
                "expect.diagnosis",
                "a join that reaches ready has no diagnosis",
                "",
                hint,
            );
        }
        (Some(phase), Some(cause)) => stage(phase, cause, problems),
        (Some(phase), None) => reachable(phase, plan, problems),
        (None, _) => {}
    }
    if expect.node.as_ref().is_none_or(|node| node.ready != Some(true)) {
        return;
    }
    if expect.diagnosis.is_some() && expect.phase < Some(Phase::Registered) {
        problems.add(
            "expect.node.ready",
            "a failed join has no ready node",
            "",
            "remove it",
        );
    }
    if plan.cni == Cni::None {
        problems.add(
            "expect.node.ready",
            "the node cannot become ready",
            "`cni: none` prevents it",
            "set `cni: bridge`",
        );
    }
}

/// Checks that the pod can run and answer as expected.
fn pods(plan: &Plan, problems: &mut Problems<'_>) {
    let expect = &plan.expect;
    let is_to_answer = expect.pod.as_ref().is_some_and(|pod| pod.answers == Some(true));
    if expect.diagnosis.is_some() && is_to_answer {
        problems.add(
            "expect.pod.answers",
            "a failed join does not run the pod",
            "",
            "remove it",
        );
    }
    if expect.pod.is_some() && plan.pod.is_none() {
        problems.add(
            "expect.pod",
            "`pod` is missing",
            "",
            "add `pod: { image: nodejoin/echo }`",
        );
    }
    if plan.pod.is_some() && expect.phase.is_some_and(|phase| phase < Phase::Ready) {
        let why = "the node must be ready";
        problems.add(
            "pod",
            "the pod cannot run",
            why,
            "expect `ready`, or remove `pod`",
        );
    }
    if plan.pod.is_some() && plan.cni == Cni::None {
        problems.add(
            "pod",
            "the pod cannot run",
            "`cni: none` prevents it",
            "set `cni: bridge`",
        );
    }
}

/// Checks that a successful join can reach the expected phase.
fn reachable(phase: Phase, plan: &Plan, problems: &mut Problems<'_>) {
    if phase == Phase::Ready && plan.cni == Cni::None {
        let hint = "set `cni: bridge`, or expect `registered`";
        refuse(phase, "`cni: none` prevents it", hint, problems);
    }
    if phase >= Phase::Certified && !plan.cluster.approve_serving.is_on() {
        let why = "`cluster.approve_serving` is off, so the serving certificate is never approved";
        refuse(phase, why, "expect `registered`", problems);
    }
}

fn refuse(phase: Phase, why: &str, hint: &str, problems: &mut Problems<'_>) {
    let what = format!("the join cannot reach {phase}");
    problems.add("expect.phase", what, why, hint);
}

/// Checks that a node that boots for the first time can start its join.
fn startable(phase: Phase, plan: &Plan, problems: &mut Problems<'_>) {
    if plan.user_data.is_none()
        && plan.image.overlay.is_empty()
        && plan.image.name == "al2"
        && phase > Phase::Metadata
    {
        let why = "without `user_data`, nothing starts the kubelet";
        refuse(phase, why, "add `user_data`", problems);
    }
    let by_metadata = plan
        .user_data
        .as_ref()
        .is_some_and(|data| data.engine == UserDataEngine::CloudInit);
    let is_down = !plan.instance.metadata.enabled
        || plan.faults.iter().any(|fault| {
            let is_whole = fault.operation.is_none()
                && fault.path.is_none()
                && fault.after == 0
                && fault.from_seconds.is_none();
            let is_for_ever = fault.times.is_none()
                && fault
                    .until_seconds
                    .is_none_or(|until| until >= plan.limits.join_seconds);
            let is_fatal = !fault.effect.spares_the_answer();
            fault.service == Service::Imds && is_whole && is_for_ever && is_fatal && !fault.may_fire
        });
    if by_metadata && is_down && phase >= Phase::Metadata {
        let why = "the metadata service never responds, so cloud-init cannot read the user data";
        let hint = "set `user_data.engine: direct`, or end the fault earlier";
        refuse(phase, why, hint, problems);
    }
}

/// Checks that a join can stop at this phase with this diagnosis.
fn stage(phase: Phase, cause: Cause, problems: &mut Problems<'_>) {
    let (first, last) = cause.phases();
    if (first..=last).contains(&phase) {
        return;
    }
    let word = cause.word();
    let range = if first == last {
        format!("at {first}")
    } else {
        format!("between {first} and {last}")
    };
    let hint = if phase < first { first } else { last };
    problems.add(
        "expect.phase",
        format!("a join with the diagnosis {word} does not stop at {phase}"),
        format!("it stops {range}"),
        format!("expect `{hint}`"),
    );
}
