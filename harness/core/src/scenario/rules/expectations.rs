//! Whether what must be seen is written as it can be seen.

use crate::input::mode::octal;
use crate::input::problem::nearest;
use crate::input::problems::Problems;
use crate::input::yaml::Step;
use crate::plan::Plan;
use crate::plan::expect::Expect;
use crate::plan::fault::Service;
use crate::user_data::Values;

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
        let what = format!("there is no `{{{{ {} }}}}`", unknown.name);
        problems.add_at(keys, what, "", unknown.hint());
    });
    for name in expect.aws.keys() {
        call(
            name,
            &[Step::Key("expect"), Step::Key("aws"), Step::Key(name)],
            problems,
        );
    }
    for (index, name) in expect.aws_order.iter().enumerate() {
        call(
            name,
            &[Step::Key("expect"), Step::Key("aws_order"), Step::Index(index)],
            problems,
        );
    }
    for (path, file) in &expect.files {
        let at = [Step::Key("expect"), Step::Key("files"), Step::Key(path)];
        if !path.starts_with('/') {
            problems.add_at(
                &at,
                format!("`{path}` is not an absolute path"),
                "",
                "begin it with `/`",
            );
        }
        if file.mode.as_deref().is_some_and(|mode| octal(mode).is_none()) {
            problems.add_at(
                &at,
                "`mode` is not permission bits",
                "",
                "write it in octal, such as \"0644\"",
            );
        }
        if file.exists == Some(false)
            && (file.mode.is_some() || !file.contains.is_empty() || !file.lacks.is_empty())
        {
            problems.add_at(
                &at,
                "a file that is not there has no content and no mode",
                "",
                "leave `exists: false` out, or the rest",
            );
        }
    }
    for (unit, state) in &expect.units {
        if !STATES.contains(&state.as_str()) {
            let at = [Step::Key("expect"), Step::Key("units"), Step::Key(unit)];
            let hint = nearest(state, STATES).map_or_else(
                || format!("one of {}", STATES.join(", ")),
                |right| format!("did you mean `{right}`?"),
            );
            problems.add_at(&at, format!("`{state}` is not a state of a unit"), "", hint);
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

/// `service.Operation`, of a service that the fake has.
fn call(name: &str, at: &[Step<'_>], problems: &mut Problems<'_>) {
    let words: Vec<&str> = Service::ALL.iter().map(|service| service.word()).collect();
    let Some((service, _)) = name.split_once('.') else {
        return problems.add_at(
            at,
            format!("`{name}` is not a call"),
            "",
            "write it like `eks.DescribeCluster`",
        );
    };
    if !words.contains(&service) {
        let hint = nearest(service, words.iter().copied()).map_or_else(
            || format!("services: {}", words.join(", ")),
            |right| format!("did you mean `{right}`?"),
        );
        problems.add_at(at, format!("there is no service `{service}`"), "", hint);
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
                let hint = "write it like `key=value:NoSchedule`; effects are NoSchedule, PreferNoSchedule and NoExecute";
                problems.add(
                    &format!("expect.node.{key}[{index}]"),
                    format!("`{taint}` is not a taint"),
                    "",
                    hint,
                );
            }
        }
    }
}
