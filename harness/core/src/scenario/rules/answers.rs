//! Rules for `aws.answers` and `aws.allow`: an answer that no request can receive has no effect.

use std::collections::BTreeMap;

use super::names;
use crate::input::problems::Problems;
use crate::input::yaml::PathStep;
use crate::plan::Plan;
use crate::plan::answer::{Answer, canonical_service};
use crate::user_data::Values;
use crate::vocabulary::service::Service;

pub(super) fn check(plan: &Plan, problems: &mut Problems<'_>) {
    plan.aws
        .unknown_names(&Values::of(plan, ""), &mut |keys, unknown| {
            let what = format!("unknown name `{{{{ {} }}}}`", unknown.name);
            problems.add_at(keys, what, "", unknown.hint());
        });
    for (index, answer) in plan.aws.answers.iter().enumerate() {
        let key = format!("aws.answers[{index}]");
        requests(answer, index, problems);
        response(answer, &key, problems);
        when(answer, &key, problems);
    }
    upstream(plan, problems);
    for (index, call) in plan.aws.allow.iter().enumerate() {
        let at = [
            PathStep::Key("aws"),
            PathStep::Key("allow"),
            PathStep::Index(index),
        ];
        match call.split_once('.') {
            Some((service, _)) => names::check_service(service, &at, problems),
            None => problems.add_at(
                &at,
                format!("invalid call `{call}`: expected `service.Operation`"),
                "",
                "for example `ssm.UpdateInstanceInformation` or `logs.*`",
            ),
        }
    }
}

/// Checks the services that another emulator answers.
fn upstream(plan: &Plan, problems: &mut Problems<'_>) {
    let mut seen = BTreeMap::new();
    for name in plan.aws.upstream.keys() {
        let at = [
            PathStep::Key("aws"),
            PathStep::Key("upstream"),
            PathStep::Key(name),
        ];
        names::check_service(name, &at, problems);
        let service = canonical_service(name);
        if service == Some(Service::Imds.word()) || service == Some(Service::Registry.word()) {
            let what = format!("an upstream cannot answer `{name}`");
            problems.add_at(&at, what, "only the fake AWS knows the node", "use `aws.answers`");
        }
        if let Some(other) = service.and_then(|service| seen.insert(service, name)) {
            let what = format!("`{name}` and `{other}` are the same service");
            problems.add_at(&at, what, "", "remove one of them");
        }
    }
}

/// Checks which requests the answer is for.
fn requests(answer: &Answer, index: usize, problems: &mut Problems<'_>) {
    let key = format!("aws.answers[{index}]");
    if answer.host.is_none() && answer.service.is_none() {
        let hint = "for example `service: ssm` or `host: downloads.example.com`";
        problems.add(&key, "set `host` or `service`", "", hint);
    }
    if let Some(service) = &answer.service {
        let at = [
            PathStep::Key("aws"),
            PathStep::Key("answers"),
            PathStep::Index(index),
            PathStep::Key("service"),
        ];
        names::check_service(service, &at, problems);
    }
    if answer.path.as_deref().is_some_and(|path| !path.starts_with('/')) {
        problems.add(
            &format!("{key}.path"),
            "invalid path: expected a leading `/`",
            "",
            "for example `/latest/meta-data/tags/*`",
        );
    }
    let is_url = |host: &str| host.contains(['/', ':', ' ']) || host.is_empty();
    if answer.host.as_deref().is_some_and(is_url) {
        problems.add(
            &format!("{key}.host"),
            "invalid host: expected a host name without scheme and port",
            "",
            "for example `downloads.example.com`",
        );
    }
}

fn response(answer: &Answer, key: &str, problems: &mut Problems<'_>) {
    if !(200..=599).contains(&answer.status) {
        let what = format!("invalid status {}: expected 200 to 599", answer.status);
        problems.add(&format!("{key}.status"), what, "", "");
    }
    let bodies = [
        answer.body.is_some(),
        answer.json.is_some(),
        answer.file.is_some(),
    ];
    if bodies.into_iter().filter(|is_set| *is_set).count() > 1 {
        problems.add(key, "set at most one of `body`, `json` and `file`", "", "");
    }
    for name in answer.headers.keys() {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) {
            let what = format!("invalid header name `{name}`");
            problems.add(&format!("{key}.headers"), what, "", "for example `content-type`");
        }
    }
}

fn when(answer: &Answer, key: &str, problems: &mut Problems<'_>) {
    if answer.times == Some(0) {
        problems.add(
            &format!("{key}.times"),
            "the answer serves no request",
            "",
            "remove `times` to serve every request",
        );
    }
    let begins = answer.from_seconds.unwrap_or(0.0);
    if answer.until_seconds.is_some_and(|until| until <= begins) {
        problems.add(
            &format!("{key}.until_seconds"),
            "the answer ends before it starts",
            "",
            "use a positive time after `from_seconds`",
        );
    }
}
