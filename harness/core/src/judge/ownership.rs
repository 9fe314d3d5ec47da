//! Checks of the audit log: who set the labels and taints of the Node, and other requests.

use serde_json::Value;

use super::join::{audits, count_matches, counted};
use super::{check, groups_without_authenticated, list, same};
use crate::judge::verdict::Check;
use crate::kubernetes::taints_of_node;
use crate::observation::{Audit, Observation, ObservedEvent};
use crate::plan::expect::AuditExpect;
use crate::plan::expect::objects::NodeExpect;

/// Who set which label or taint. Needs the kubelet's arguments, which are collected at the end.
pub(super) fn set_by(required: &NodeExpect, observation: &Observation) -> Vec<Check> {
    let labels = required.labels_set_by.iter().map(|(key, by)| {
        let seen = label_set_by(key, observation);
        set_by_check(format!("node.labels_set_by.{key}"), by, seen)
    });
    let taints = required.taints_set_by.iter().map(|(taint, by)| {
        let seen = taint_set_by(taint, observation);
        set_by_check(format!("node.taints_set_by.{taint}"), by, seen)
    });
    labels.chain(taints).collect()
}

fn set_by_check(key: String, required: &str, seen: Option<String>) -> Check {
    let held = seen.as_deref() == Some(required);
    check(
        key,
        held,
        required,
        seen.unwrap_or_else(|| "no request in the audit log".to_owned()),
    )
}

/// The successful writes of the Node in their order, each with its result.
///
/// The API server logs concurrent requests in any order, and it can log a request that changes nothing before the
/// request whose result it returns. The order is that of the Node's resource versions; of two requests with the same
/// version, the kubelet's report of its status is the one that changed nothing.
fn writes(observation: &Observation) -> Vec<(&Audit, &Value)> {
    let timeline = observation.timeline.iter();
    let mut writes: Vec<_> = timeline
        .filter_map(|seen| match &seen.what {
            ObservedEvent::Audit(audit) if is_write(audit) => Some((seen.at, audit, audit.object.as_ref()?)),
            _ => None,
        })
        .collect();
    writes.sort_by_key(|(at, audit, node)| (resource_version(node), audit.resource != "nodes", *at));
    writes.into_iter().map(|(_, audit, node)| (audit, node)).collect()
}

fn is_write(audit: &Audit) -> bool {
    let writes = matches!(audit.verb.as_str(), "create" | "update" | "patch");
    let is_node = audit.resource == "nodes" || audit.resource.starts_with("nodes/");
    writes && is_node && (200..300).contains(&audit.code)
}

fn resource_version(node: &Value) -> Option<u64> {
    node.pointer("/metadata/resourceVersion")?.as_str()?.parse().ok()
}

/// The last request that changed the Node so that `has` holds.
fn last_setter(observation: &Observation, has: impl Fn(&Value) -> bool) -> Option<&Audit> {
    let mut had = false;
    let mut setter = None;
    for (audit, node) in writes(observation) {
        let has = has(node);
        if has && !had {
            setter = Some(audit);
        }
        had = has;
    }
    setter.filter(|_| had)
}

fn label_set_by(key: &str, observation: &Observation) -> Option<String> {
    let value = |node: &Value| Some(node.pointer("/metadata/labels")?.get(key)?.as_str()?.to_owned());
    let now = value(observation.node.as_ref()?)?;
    let setter = last_setter(observation, |node| value(node).as_deref() == Some(now.as_str()))?;
    let is_in_flag = |argument: &str| {
        let labels = argument.strip_prefix("--node-labels=").unwrap_or_default();
        labels
            .split(',')
            .any(|label| label.split('=').next() == Some(key))
    };
    Some(name(setter, observation, "node-labels", is_in_flag))
}

fn taint_set_by(taint: &str, observation: &Observation) -> Option<String> {
    let required = taint.replacen("=:", ":", 1);
    let setter = last_setter(observation, |node| taints_of_node(node).contains(&required))?;
    let is_in_flag = |argument: &str| {
        let taints = argument
            .strip_prefix("--register-with-taints=")
            .unwrap_or_default();
        taints
            .split(',')
            .any(|given| given.replacen("=:", ":", 1) == required)
    };
    Some(name(setter, observation, "register-with-taints", is_in_flag))
}

/// The user of a write; for a kubelet, the flag if it has one for this.
fn name(setter: &Audit, observation: &Observation, flag: &str, is_in_flag: impl Fn(&str) -> bool) -> String {
    if !setter.username.starts_with("system:node:") {
        return setter.username.clone();
    }
    let collected = observation.collected.as_ref();
    let argv = collected.and_then(|collected| collected.kubelet_argv.as_deref());
    let words = argv.unwrap_or_default();
    let joined = words.windows(2).map(|pair| format!("{}={}", pair[0], pair[1]));
    let mut all = words.iter().cloned().chain(joined);
    if all.any(|argument| is_in_flag(&argument)) {
        flag.to_owned()
    } else {
        "kubelet".to_owned()
    }
}

/// Requests that the audit log must contain.
pub(super) fn requests(required: &[AuditExpect], observation: &Observation) -> Vec<Check> {
    let checks = (0..).zip(required).map(|(index, required): (usize, _)| {
        let found = requests_of(required, observation);
        if let Some(times) = &required.times {
            let (held, times) = count_matches(times, found, "request");
            let expected = format!("{}, {times}", expected_text(required));
            return check(
                format!("audit[{index}]"),
                held,
                expected,
                counted(found, "request"),
            );
        }
        let held = found > 0;
        let close = audits(observation)
            .filter(|audit| is_close(audit, required))
            .map(audit_text);
        let mut close: Vec<String> = close.collect();
        close.dedup();
        check(
            format!("audit[{index}]"),
            held,
            expected_text(required),
            list(close),
        )
    });
    checks.collect()
}

/// The number of requests that an entry matches.
pub(super) fn requests_of(required: &AuditExpect, observation: &Observation) -> usize {
    let requests = audits(observation);
    requests.filter(|audit| is_like(audit, required)).count()
}

fn is_close(audit: &Audit, required: &AuditExpect) -> bool {
    let is =
        |required: &Option<String>, seen: &str| required.as_deref().is_none_or(|required| required == seen);
    is(&required.verb, &audit.verb) && is(&required.resource, &audit.resource)
}

fn is_like(audit: &Audit, required: &AuditExpect) -> bool {
    let is_by = match required.username.as_deref() {
        None => true,
        Some("node") => audit.username.starts_with("system:node:"),
        Some(name) => audit.username == name,
    };
    let message = audit.message.as_deref().unwrap_or_default();
    is_close(audit, required)
        && is_by
        && required.groups.as_ref().is_none_or(|groups| is_of(audit, groups))
        && required.code.is_none_or(|code| code == audit.code)
        && required
            .message
            .as_deref()
            .is_none_or(|text| message.contains(text))
}

fn is_of(audit: &Audit, groups: &[String]) -> bool {
    let seen = groups_without_authenticated(&audit.groups);
    same(&seen, &groups_without_authenticated(groups))
}

fn audit_text(audit: &Audit) -> String {
    let message = audit.message.as_deref().unwrap_or_default();
    let text = format!(
        "{} {} by {} ({}): {} {message}",
        audit.verb,
        audit.resource,
        audit.username,
        list(groups_without_authenticated(&audit.groups)),
        audit.code
    );
    text.trim_end().to_owned()
}

fn expected_text(required: &AuditExpect) -> String {
    let any = |text: &Option<String>| text.clone().unwrap_or_else(|| "any".to_owned());
    let code = required
        .code
        .map_or("any code".to_owned(), |code| code.to_string());
    let message = required
        .message
        .as_deref()
        .map(|text| format!(" `{text}`"))
        .unwrap_or_default();
    let groups = required.groups.as_ref();
    let groups = groups
        .map(|groups| format!(" ({})", list(groups)))
        .unwrap_or_default();
    format!(
        "{} {} by {}{groups}: {code}{message}",
        any(&required.verb),
        any(&required.resource),
        any(&required.username)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::observation::Collected;
    use crate::observation::phases::tests::observed;
    use crate::plan::expect::CountExpect;

    fn write(user: &str, verb: &str, labels: Value, taints: Value) -> ObservedEvent {
        ObservedEvent::Audit(Audit {
            verb: verb.into(),
            resource: "nodes".into(),
            namespace: None,
            name: Some("a".into()),
            username: user.into(),
            groups: vec![],
            code: 200,
            message: None,
            object: Some(json!({ "metadata": { "labels": labels }, "spec": { "taints": taints } })),
        })
    }

    fn seen() -> Observation {
        let kubelet = "system:node:a";
        let mut seen = observed([
            write(
                kubelet,
                "create",
                json!({ "os": "linux", "team": "x" }),
                json!([{ "key": "gpu", "effect": "NoSchedule" }]),
            ),
            write(
                "eks:cloud-controller-manager",
                "patch",
                json!({ "os": "linux", "team": "x", "zone": "a" }),
                json!([]),
            ),
            write(
                "ann",
                "patch",
                json!({ "os": "linux", "team": "y", "zone": "a" }),
                json!([{ "key": "gpu", "effect": "NoSchedule" }]),
            ),
            write(
                kubelet,
                "patch",
                json!({ "os": "linux", "team": "y", "zone": "a" }),
                json!([{ "key": "gpu", "effect": "NoSchedule" }]),
            ),
        ]);
        seen.node = Some(
            json!({ "metadata": { "labels": { "os": "linux", "team": "y", "zone": "a", "lost": "1" } } }),
        );
        seen.collected = Some(Collected {
            kubelet_argv: Some(
                ["kubelet", "--node-labels", "team=x,os=linux2"]
                    .map(String::from)
                    .to_vec(),
            ),
            ..Collected::default()
        });
        seen
    }

    #[test]
    fn the_last_setter_of_a_label_counts_and_a_kubelet_can_have_a_flag_for_it() {
        let seen = seen();
        let by = |key: &str| label_set_by(key, &seen);
        assert_eq!(by("team").as_deref(), Some("ann"));
        assert_eq!(by("zone").as_deref(), Some("eks:cloud-controller-manager"));
        assert_eq!(by("os").as_deref(), Some("node-labels"));
        assert_eq!(by("lost"), None);
        let mut silent = seen.clone();
        silent.collected = None;
        assert_eq!(label_set_by("os", &silent).as_deref(), Some("kubelet"));
    }

    #[test]
    fn writes_are_ordered_by_resource_version() {
        let node = |team: Option<&str>| match team {
            Some(team) => json!({ "team": team }),
            None => json!({}),
        };
        let write = |user: &str, version: &str, team| {
            let mut what = write(user, "patch", node(team), json!([]));
            if let ObservedEvent::Audit(audit) = &mut what {
                audit.object.as_mut().unwrap()["metadata"]["resourceVersion"] = json!(version);
            }
            what
        };
        let mut seen = observed([
            write("ann", "10", Some("x")),
            write("kubelet", "9", None),
            // Changes nothing, and is logged before the request that did.
            write("bob", "12", Some("y")),
            write("carol", "12", Some("y")),
            write("bob", "11", Some("x")),
        ]);
        let last = &mut seen.timeline;
        let (early, late) = (last[2].at, last[3].at);
        (last[2].at, last[3].at) = (late, early);
        seen.node = Some(json!({ "metadata": { "labels": { "team": "y" } } }));
        assert_eq!(label_set_by("team", &seen).as_deref(), Some("carol"));
        seen.node = Some(json!({ "metadata": { "labels": { "team": "x" } } }));
        seen.timeline.drain(2..4);
        assert_eq!(label_set_by("team", &seen).as_deref(), Some("ann"));
    }

    #[test]
    fn a_status_without_a_change_sets_no_label() {
        let mut seen = observed(["nodes", "nodes/status", "nodes"].map(|resource| {
            let mut what = write("kubelet", "patch", json!({ "zone": "a" }), json!([]));
            if let ObservedEvent::Audit(audit) = &mut what {
                audit.resource = resource.into();
                audit.object.as_mut().unwrap()["metadata"]["resourceVersion"] = json!("2");
            }
            what
        }));
        if let [created, _, patched] = seen.timeline.as_mut_slice()
            && let (ObservedEvent::Audit(created), ObservedEvent::Audit(patched)) =
                (&mut created.what, &mut patched.what)
        {
            created.object = Some(json!({ "metadata": { "resourceVersion": "1" } }));
            patched.username = "eks:cloud-controller-manager".into();
        }
        seen.node = Some(json!({ "metadata": { "labels": { "zone": "a" } } }));
        assert_eq!(
            label_set_by("zone", &seen).as_deref(),
            Some("eks:cloud-controller-manager")
        );
    }

    #[test]
    fn a_taint_that_was_removed_and_added_again_belongs_to_the_second_user() {
        assert_eq!(taint_set_by("gpu:NoSchedule", &seen()).as_deref(), Some("ann"));
        assert_eq!(taint_set_by("gpu=:NoSchedule", &seen()).as_deref(), Some("ann"));
        assert_eq!(taint_set_by("other:NoSchedule", &seen()), None);
    }

    #[test]
    fn a_refused_request_is_found_by_its_message() {
        let refused = |text: &str| AuditExpect {
            verb: Some("patch".into()),
            username: Some("node".into()),
            message: Some(text.into()),
            ..AuditExpect::default()
        };
        let mut events: Vec<ObservedEvent> = seen().timeline.into_iter().map(|seen| seen.what).collect();
        let ObservedEvent::Audit(last) = &mut events[3] else {
            unreachable!("the last is a request")
        };
        last.code = 403;
        last.message = Some("is not allowed to modify labels".into());
        let seen = observed(events);
        let created = |times| AuditExpect {
            verb: Some("create".into()),
            times: Some(CountExpect::Count(times)),
            ..AuditExpect::default()
        };
        let counted = requests(&[created(1), created(2)], &seen);
        assert_eq!((counted[0].held, counted[1].held), (true, false));
        assert_eq!(
            (counted[1].expected.as_str(), counted[1].seen.as_str()),
            ("create any by any: any code, 2 requests", "1 request")
        );
        let checks = requests(&[refused("modify labels"), refused("something else")], &seen);
        assert_eq!((checks[0].held, checks[1].held), (true, false));
        assert!(
            checks[1].seen.contains("403 is not allowed"),
            "{}",
            checks[1].seen
        );
    }
}
