//! Operations, metadata paths and IAM actions.

use super::meant;
use crate::input::problems::Problems;
use crate::input::yaml::PathStep;
use crate::observation::CalledService;
use crate::plan::answer::canonical_service;
use crate::plan::fault::Fault;
use crate::vocabulary::aws_service::AwsService;
use crate::vocabulary::metadata_path;
use crate::vocabulary::nearest::nearest;
use crate::vocabulary::operation::{ApiOperation as _, EksOperation, iam_actions};
use crate::vocabulary::service::Service;
use crate::vocabulary::wildcard;

/// Checks a `service.Operation`, whose operation may end in `*`.
pub(in crate::scenario::rules) fn check_call(name: &str, at: &[PathStep<'_>], problems: &mut Problems<'_>) {
    let Some((word, operation)) = name.split_once('.') else {
        return problems.add_at(
            at,
            format!("invalid call `{name}`: expected `service.Operation`"),
            "",
            "for example `eks.DescribeCluster`",
        );
    };
    if word == CalledService::Outside.word() {
        return check_outside(operation, at, problems);
    }
    let Some(service) = Service::ALL.into_iter().find(|service| service.word() == word) else {
        // The transcript has one name of a service that is not emulated, and any operation of it.
        return match canonical_service(word) {
            Some(name) if name != word => problems.add_at(
                at,
                format!("`{word}` is the name of the service in the AWS CLI"),
                "",
                format!("use `{name}.{operation}`"),
            ),
            _ => check_service(word, at, problems),
        };
    };
    let start = operation.strip_suffix('*');
    match (service, start) {
        (Service::Imds, Some(start)) if metadata_path::starts_any(&filled(start)) => {}
        (Service::Imds, None) if metadata_path::exists(&filled(operation)) => {}
        (Service::Imds, _) => unknown_path(operation, at, problems),
        (_, Some(start)) if service.operations().iter().any(|name| name.starts_with(start)) => {}
        (_, None) if service.operations().contains(&operation) => {}
        (_, _) => unknown_operation(service, operation, at, problems),
    }
}

/// Checks a request to a host outside, `METHOD URL`, or to an HTTP proxy, `CONNECT HOST:PORT`. Both may end in `*`.
fn check_outside(operation: &str, at: &[PathStep<'_>], problems: &mut Problems<'_>) {
    let is_valid = match operation.split_once(' ') {
        Some(("CONNECT", target)) => target.ends_with('*') || target.contains(':') && !target.contains('/'),
        Some((_, url)) => url.starts_with("https://") || url.starts_with("http://"),
        None => false,
    };
    if !is_valid {
        let what =
            format!("invalid request `{operation}`: expected a method and a URL, or `CONNECT HOST:PORT`");
        let hint = "for example `outside.GET https://downloads.example.com/agent.tar.gz`";
        problems.add_at(at, what, "", hint);
    }
}

/// Checks the name of a service of AWS, emulated or not.
pub(in crate::scenario::rules) fn check_service(
    word: &str,
    at: &[PathStep<'_>],
    problems: &mut Problems<'_>,
) {
    if canonical_service(word).is_some() {
        return;
    }
    // The emulated services come first among equals: they are more likely in a bootstrap script.
    let emulated: Vec<&str> = Service::ALL.iter().map(|service| service.word()).collect();
    let hint = match nearest(word, AwsService::names().chain(emulated.iter().copied())) {
        Some(right) => format!("did you mean `{right}`?"),
        None => format!(
            "emulated services: {}; others have the start of their host names, such as `kms`",
            emulated.join(", ")
        ),
    };
    problems.add_at(at, format!("unknown service `{word}`"), "", hint);
}

/// A placeholder stands for one segment of a path.
fn filled(path: &str) -> String {
    let mut text = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once("{{") {
        text.push_str(before);
        text.push('x');
        rest = after.split_once("}}").map_or("", |(_, after)| after);
    }
    text + rest
}

fn unknown_path(path: &str, at: &[PathStep<'_>], problems: &mut Problems<'_>) {
    let hint = nearest(path, metadata_path::patterns()).map_or_else(
        || "paths start with `meta-data/`, `dynamic/` or `user-data`, without a version".to_owned(),
        |right| format!("did you mean `{right}`?"),
    );
    problems.add_at(
        at,
        format!("unknown metadata path `{path}`"),
        "the metadata service of no instance has it",
        hint,
    );
}

fn unknown_operation(service: Service, operation: &str, at: &[PathStep<'_>], problems: &mut Problems<'_>) {
    let word = service.word();
    problems.add_at(
        at,
        format!("unknown operation `{operation}` of {word}"),
        "the fake AWS does not implement it",
        meant(operation, service.operations().iter().copied(), "operations"),
    );
}

/// Checks the operation and the path of a fault.
pub(in crate::scenario::rules) fn check_fault(index: usize, fault: &Fault, problems: &mut Problems<'_>) {
    let faults = [PathStep::Key("faults"), PathStep::Index(index)];
    if let Some(operation) = &fault.operation {
        let at = [&faults[..], &[PathStep::Key("operation")]].concat();
        match fault.service {
            Service::Imds if metadata_path::exists(operation) => {}
            Service::Imds => unknown_path(operation, &at, problems),
            service if service.operations().contains(&operation.as_str()) => {}
            service => unknown_operation(service, operation, &at, problems),
        }
    }
    let Some(path) = fault.path.as_deref().and_then(|path| path.strip_prefix('/')) else {
        return;
    };
    let at = [&faults[..], &[PathStep::Key("path")]].concat();
    match fault.service {
        Service::Imds => versioned_path(path, &at, problems),
        Service::Eks if !is_eks_path(path) => problems.add_at(
            &at,
            format!("no operation of eks has the path `/{path}`"),
            "",
            "for example `/clusters/*`",
        ),
        Service::Sts
        | Service::Ec2
        | Service::Ecr
        | Service::Cloudformation
        | Service::Ssm
        | Service::Secretsmanager
        | Service::Autoscaling
        | Service::Logs
            if !path.trim_end_matches('*').is_empty() =>
        {
            let why = format!("requests to {} have the path `/`", fault.service.word());
            problems.add_at(
                &at,
                format!("no request has the path `/{path}`"),
                why,
                "use `operation`",
            );
        }
        Service::Registry if !"v2/".starts_with(path.trim_end_matches('*')) && !path.starts_with("v2/") => {
            problems.add_at(
                &at,
                format!("no request to the registry has the path `/{path}`"),
                "",
                "for example `/v2/*`",
            )
        }
        _ => {}
    }
}

/// Checks a path of the metadata service with its version, which may end in `*`.
fn versioned_path(path: &str, at: &[PathStep<'_>], problems: &mut Problems<'_>) {
    let Some((version, rest)) = path.split_once('/') else {
        return;
    };
    let is_version = version == "latest" || version.starts_with(|first: char| first.is_ascii_digit());
    if !is_version {
        let what = format!("invalid path `/{path}`: expected a version, such as `/latest/{rest}`");
        return problems.add_at(at, what, "", "");
    }
    let is_known = match rest.strip_suffix('*') {
        Some(start) => metadata_path::starts_any(start),
        None => metadata_path::exists(rest),
    };
    if !is_known {
        unknown_path(rest, at, problems);
    }
}

fn is_eks_path(path: &str) -> bool {
    let (start, is_prefix) = path
        .strip_suffix('*')
        .map_or((path, false), |start| (start, true));
    let given: Vec<&str> = start.split('/').collect();
    EksOperation::ALL.iter().any(|operation| {
        let template: Vec<&str> = operation.path().split('/').collect();
        let last = given.len() - 1;
        let fits = |(index, segment): (usize, &&str)| {
            template.get(index).is_some_and(|part| {
                *part == "{}" || part == segment || (is_prefix && index == last && part.starts_with(*segment))
            })
        };
        (is_prefix || template.len() == given.len()) && given.iter().enumerate().all(fits)
    })
}

/// Whether a list of actions grants or denies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::scenario::rules) enum PolicyEffect {
    /// A policy may allow more than a bootstrap script needs.
    Allow,
    /// A denied action that nothing checks has no effect.
    Deny,
}

/// Checks IAM actions, which may contain `*` and `?`.
pub(in crate::scenario::rules) fn check_actions(
    key: &str,
    actions: &[String],
    effect: PolicyEffect,
    problems: &mut Problems<'_>,
) {
    let known = iam_actions();
    for (index, action) in actions.iter().enumerate() {
        let is_formed = action
            .split_once(':')
            .is_some_and(|(service, name)| !service.is_empty() && !name.is_empty());
        let at = format!("{key}[{index}]");
        if !is_formed && action != "*" {
            problems.add(
                &at,
                format!("invalid IAM action `{action}`: expected `SERVICE:OPERATION`"),
                "",
                "for example `eks:DescribeCluster`",
            );
        } else if !is_checked(action, &known) {
            unchecked_action(&at, action, &known, effect, problems);
        }
    }
}

fn unchecked_action(
    at: &str,
    action: &str,
    known: &[&str],
    effect: PolicyEffect,
    problems: &mut Problems<'_>,
) {
    let near = known
        .iter()
        .find(|known| strsim::osa_distance(&action.to_lowercase(), &known.to_lowercase()) <= 2);
    match (near, effect) {
        (Some(right), _) => {
            problems.add(
                at,
                format!("unknown IAM action `{action}`"),
                "",
                format!("did you mean `{right}`?"),
            );
        }
        (None, PolicyEffect::Allow) => {}
        (None, PolicyEffect::Deny) => problems.add(
            at,
            format!("the denied action `{action}` has no effect"),
            "the fake AWS does not implement it",
            meant(action, known.iter().copied(), "actions"),
        ),
    }
}

/// Whether the fake AWS checks an action that a pattern of IAM matches, without regard to case.
fn is_checked(pattern: &str, known: &[&str]) -> bool {
    let pattern = pattern.to_ascii_lowercase();
    let mut known = known.iter().map(|action| action.to_ascii_lowercase());
    known.any(|action| wildcard::matches(&pattern, &action))
}
