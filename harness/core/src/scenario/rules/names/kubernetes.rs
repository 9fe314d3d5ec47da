//! Verbs, resources and labels of Kubernetes.

use super::{is_misspelt, meant};
use crate::input::problems::Problems;
use crate::input::yaml::PathStep;
use crate::kubernetes::resources::{ACCESS_VERBS, LABEL_DOMAINS, SUBRESOURCES, VERBS, groups, resources};
use crate::plan::expect::objects::NodeExpect;
use crate::plan::expect::{AccessExpect, AuditExpect};

/// Checks verbs and resources of requests in the audit log.
pub(in crate::scenario::rules) fn audit(required: &[AuditExpect], problems: &mut Problems<'_>) {
    for (index, required) in required.iter().enumerate() {
        let key = format!("expect.audit[{index}]");
        if let Some(verb) = required.verb.as_deref().filter(|verb| !VERBS.contains(verb)) {
            let hint = meant(verb, VERBS.iter().copied(), "verbs");
            problems.add(&format!("{key}.verb"), format!("unknown verb `{verb}`"), "", hint);
        }
        if let Some(name) = &required.resource {
            resource(&format!("{key}.resource"), name, None, problems);
        }
    }
}

/// Checks verbs, resources and groups of permissions.
pub(in crate::scenario::rules) fn access(required: &[AccessExpect], problems: &mut Problems<'_>) {
    for (index, required) in required.iter().enumerate() {
        let key = format!("expect.access[{index}]");
        let verbs = || VERBS.iter().chain(ACCESS_VERBS).copied();
        if verbs().all(|verb| verb != required.verb) {
            let hint = meant(&required.verb, verbs(), "verbs");
            let what = format!("unknown verb `{}`", required.verb);
            problems.add(&format!("{key}.verb"), what, "", hint);
        }
        let group = required.group.as_str();
        if groups().any(|known| known == group) {
            resource(
                &format!("{key}.resource"),
                &required.resource,
                Some(group),
                problems,
            );
        } else if let Some(right) = groups().find(|known| is_misspelt(group, known)) {
            let what = format!("unknown API group `{group}`");
            problems.add(
                &format!("{key}.group"),
                what,
                "",
                format!("did you mean `{right}`?"),
            );
        }
    }
}

/// Checks a plural resource with or without its subresource.
fn resource(key: &str, name: &str, group: Option<&str>, problems: &mut Problems<'_>) {
    let (plural, subresource) = name
        .split_once('/')
        .map_or((name, None), |(plural, sub)| (plural, Some(sub)));
    if plural != "*" && resources(group).all(|known| known != plural) {
        let what = match group {
            None | Some("") => format!("unknown resource `{plural}`"),
            Some(group) => format!("unknown resource `{plural}` of the API group {group}"),
        };
        problems.add(key, what, "", meant(plural, resources(group), "resources"));
    } else if let Some(sub) = subresource.filter(|sub| *sub != "*" && !SUBRESOURCES.contains(sub)) {
        let hint = meant(sub, SUBRESOURCES.iter().copied(), "subresources");
        problems.add(key, format!("unknown subresource `{sub}`"), "", hint);
    }
}

/// Checks the keys of labels.
pub(in crate::scenario::rules) fn labels(node: &NodeExpect, problems: &mut Problems<'_>) {
    let exactly = node.labels_exactly.iter().flatten();
    let maps = [
        ("labels", node.labels.keys().collect::<Vec<_>>()),
        ("labels_exactly", exactly.map(|(key, _)| key).collect()),
        ("labels_at_creation", node.labels_at_creation.keys().collect()),
        ("labels_set_by", node.labels_set_by.keys().collect()),
    ];
    for (map, keys) in maps {
        for key in keys {
            let at = ["expect", "node", map, key].map(PathStep::Key);
            label(key, &at, problems);
        }
    }
    for (index, key) in node.labels_absent.iter().enumerate() {
        let [expect, node, list] = ["expect", "node", "labels_absent"].map(PathStep::Key);
        label(key, &[expect, node, list, PathStep::Index(index)], problems);
    }
}

/// Checks one key: its syntax, and whether its domain is a misspelt one of nodes.
fn label(key: &str, at: &[PathStep<'_>], problems: &mut Problems<'_>) {
    if key.contains("{{") {
        return;
    }
    let (domain, name) = key
        .split_once('/')
        .map_or((None, key), |(domain, name)| (Some(domain), name));
    if !is_label_name(name) || domain.is_some_and(|domain| !is_domain(domain)) {
        let why =
            "Kubernetes allows up to 63 letters, digits, `-`, `_` and `.`, after an optional domain and `/`";
        return problems.add_at(at, format!("invalid label key `{key}`"), why, "");
    }
    let is_right = |domain: &str| LABEL_DOMAINS.contains(&domain);
    let Some(domain) = domain.filter(|domain| !is_right(domain)) else {
        return;
    };
    if let Some(right) = LABEL_DOMAINS.iter().find(|right| is_misspelt(domain, right)) {
        let what = format!("unknown domain `{domain}` of a label");
        problems.add_at(at, what, "", format!("did you mean `{right}/{name}`?"));
    }
}

fn is_label_name(name: &str) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    name.len() <= 63 && is_end(bytes.first()) && is_end(bytes.last()) && bytes.iter().all(is_inner)
}

fn is_domain(domain: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    !domain.is_empty() && domain.len() <= 253 && domain.bytes().all(is_inner)
}
