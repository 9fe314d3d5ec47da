//! Rules for the format of expectations.

use crate::input::mode::octal;
use crate::input::problems::Problems;
use crate::input::yaml::PathStep;
use crate::plan::Plan;
use crate::plan::expect::Expect;
use crate::user_data::Values;
use crate::vocabulary::nearest::nearest;
use crate::vocabulary::service::Service;

const STATES: [&str; 6] = [
    "active",
    "inactive",
    "failed",
    "activating",
    "deactivating",
    "reloading",
];
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

pub(super) fn expectations(plan: &Plan, problems: &mut Problems<'_>) {
    let expect = &plan.expect;
    expect.unknown_names(&Values::of(plan, ""), &mut |keys, unknown| {
        let what = format!("unknown name `{{{{ {} }}}}`", unknown.name);
        problems.add_at(keys, what, "", unknown.hint());
    });
    for name in expect.aws.keys() {
        call(
            name,
            &[PathStep::Key("expect"), PathStep::Key("aws"), PathStep::Key(name)],
            problems,
        );
    }
    for (index, name) in expect.aws_order.iter().enumerate() {
        call(
            name,
            &[
                PathStep::Key("expect"),
                PathStep::Key("aws_order"),
                PathStep::Index(index),
            ],
            problems,
        );
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
        if file.exists == Some(false)
            && (file.mode.is_some() || !file.contains.is_empty() || !file.lacks.is_empty())
        {
            problems.add_at(
                &at,
                "a missing file has no content and no mode",
                "",
                "remove `exists: false`, or the other keys",
            );
        }
    }
    for (unit, state) in &expect.units {
        if !STATES.contains(&state.as_str()) {
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
    taints(expect, problems);
}

/// Checks a `service.Operation` against the services of the fake AWS.
fn call(name: &str, at: &[PathStep<'_>], problems: &mut Problems<'_>) {
    let words: Vec<&str> = Service::ALL.iter().map(|service| service.word()).collect();
    let Some((service, _)) = name.split_once('.') else {
        return problems.add_at(
            at,
            format!("invalid call `{name}`: expected `service.Operation`"),
            "",
            "for example `eks.DescribeCluster`",
        );
    };
    if !words.contains(&service) {
        let hint = nearest(service, words.iter().copied()).map_or_else(
            || format!("services: {}", words.join(", ")),
            |right| format!("did you mean `{right}`?"),
        );
        problems.add_at(at, format!("unknown service `{service}`"), "", hint);
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
