//! Rules for the format of expectations.

use super::names;
use crate::input::mode::octal;
use crate::input::problems::Problems;
use crate::input::yaml::PathStep;
use crate::plan::Plan;
use crate::plan::expect::{Expect, FileExpect};
use crate::user_data::Values;
use crate::vocabulary::nearest::nearest;
use crate::vocabulary::phase::Phase;

const STATES: [&str; 7] = [
    "active",
    "inactive",
    "failed",
    "activating",
    "deactivating",
    "reloading",
    "not-found",
];
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

pub(super) fn expectations(plan: &Plan, problems: &mut Problems<'_>) {
    plan.expect
        .unknown_names(&Values::of(plan, ""), &mut |keys, unknown| {
            let what = format!("unknown name `{{{{ {} }}}}`", unknown.name);
            problems.add_at(keys, what, "", unknown.hint());
        });
    formats(plan, problems);
    for (index, alternative) in plan.expect.one_of.iter().enumerate() {
        if let Some(key) = alternative.key_of_no_alternative() {
            problems.add(
                &format!("expect.one_of[{index}].{key}"),
                format!("an alternative has no `{key}`"),
                "it describes a machine and its Node, not how the join ends",
                format!("move `{key}` out of `one_of`"),
            );
        }
        let plan = Plan {
            expect: alternative.clone(),
            ..plan.clone()
        };
        problems.with_alternative_at(index, |problems| formats(&plan, problems));
    }
    if let [_] = plan.expect.one_of.as_slice() {
        problems.add(
            "expect.one_of",
            "a single alternative",
            "it must hold in any case",
            "move its keys out of `one_of`, or add another one",
        );
    }
}

/// Rules of an expectation or of one of its alternatives.
fn formats(plan: &Plan, problems: &mut Problems<'_>) {
    let expect = &plan.expect;
    for name in expect.aws.keys() {
        names::check_call(
            name,
            &[PathStep::Key("expect"), PathStep::Key("aws"), PathStep::Key(name)],
            problems,
        );
    }
    for (index, name) in expect.aws_order.iter().enumerate() {
        let at = [
            PathStep::Key("expect"),
            PathStep::Key("aws_order"),
            PathStep::Index(index),
        ];
        ordered_event(name, &at, problems);
    }
    for (path, file) in &expect.files {
        let at = [
            PathStep::Key("expect"),
            PathStep::Key("files"),
            PathStep::Key(path),
        ];
        if !path.starts_with('/') {
            problems.add_at(
                &at,
                format!("invalid path `{path}`: expected an absolute path"),
                "",
                "start it with `/`",
            );
        }
        if file.mode.as_deref().is_some_and(|mode| octal(mode).is_none()) {
            problems.add_at(&at, "invalid `mode`", "", "use octal digits, such as \"0644\"");
        }
        if file.exists == Some(false) && *file != FileExpect::missing() {
            problems.add_at(
                &at,
                "a missing file has no content and no attributes",
                "",
                "remove `exists: false`, or the other keys",
            );
        }
    }
    let states = expect.units.iter();
    for (unit, state) in states.filter_map(|(unit, required)| Some((unit, required.state()?))) {
        if !STATES.contains(&state) {
            let at = [
                PathStep::Key("expect"),
                PathStep::Key("units"),
                PathStep::Key(unit),
            ];
            let hint = nearest(state, STATES).map_or_else(
                || format!("expected one of {}", STATES.join(", ")),
                |right| format!("did you mean `{right}`?"),
            );
            problems.add_at(&at, format!("unknown unit state `{state}`"), "", hint);
        }
    }
    for (index, certificate) in expect.certificates.iter().flatten().enumerate() {
        if certificate.signer.is_empty() {
            let hint = "add `signer: kubernetes.io/kubelet-serving`";
            problems.add(
                &format!("expect.certificates[{index}]"),
                "the key `signer` is missing",
                "",
                hint,
            );
        }
    }
    names::units(plan, problems);
    names::audit(&expect.audit, problems);
    names::access(&expect.access, problems);
    if let Some(node) = &expect.node {
        names::labels(node, problems);
    }
    taints(expect, problems);
}

/// An AWS call, a phase or the start of a unit.
fn ordered_event(name: &str, at: &[PathStep<'_>], problems: &mut Problems<'_>) {
    if let Some(phase) = name.strip_prefix("phase.") {
        let words = Phase::ALL.map(Phase::word);
        if !words.contains(&phase) {
            let hint = nearest(phase, words).map_or_else(
                || format!("expected one of {}", words.join(", ")),
                |right| format!("did you mean `phase.{right}`?"),
            );
            problems.add_at(at, format!("unknown phase `{phase}`"), "", hint);
        }
    } else if let Some(unit) = name.strip_prefix("start.") {
        if !unit.contains('.') {
            let what = format!("invalid unit `{unit}`: expected its name with the type");
            problems.add_at(at, what, "", format!("write `start.{unit}.service`"));
        }
    } else {
        names::check_call(name, at, problems);
    }
}

fn taints(expect: &Expect, problems: &mut Problems<'_>) {
    let Some(node) = &expect.node else { return };
    let exact = node.taints.as_deref().unwrap_or_default();
    for (key, taints) in [
        ("taints", exact),
        ("taints_include", &node.taints_include),
        ("taints_absent", &node.taints_absent),
        ("taints_at_creation", &node.taints_at_creation),
    ] {
        for (index, taint) in taints.iter().enumerate() {
            if !taint
                .rsplit_once(':')
                .is_some_and(|(name, effect)| !name.is_empty() && EFFECTS.contains(&effect))
            {
                let hint =
                    "for example `key=value:NoSchedule`; effects: NoSchedule, PreferNoSchedule, NoExecute";
                problems.add(
                    &format!("expect.node.{key}[{index}]"),
                    format!("invalid taint `{taint}`: expected `key=value:Effect`"),
                    "",
                    hint,
                );
            }
        }
    }
}
