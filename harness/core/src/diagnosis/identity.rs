//! Who the node is to the authenticator, and whether it may be the node that it says it is.

use super::facts::{Evidence, Facts, between, names, sentence};
use super::{Finding, access};
use crate::diagnosis::Cause;
use crate::input::problem::nearest;
use crate::judge::role_of;
use crate::observation::phase::Phase;
use crate::observation::{
    Audit, Authentication, JournalLine, MappingProblem, Millis, ObservedEvent, RejectionKind, TokenRejection,
};
use crate::plan::RoleMapping;

/// The first refusal of this kind, unless a token was accepted after it.
fn refused<'a>(facts: &Facts<'a>, kind: RejectionKind) -> Option<Refused<'a>> {
    let decisions = || {
        facts
            .observation
            .timeline
            .iter()
            .filter_map(|seen| match &seen.what {
                ObservedEvent::Authentication(decision) => Some((seen.at, decision)),
                _ => None,
            })
    };
    if decisions().any(|(_, decision)| decision.is_accepted()) {
        return None;
    }
    // The latest says what is wrong now; its first like tells since when.
    let (_, last) = decisions().next_back()?;
    if last.rejection()?.kind != kind {
        return None;
    }
    decisions().find_map(|(at, decision)| {
        let rejection = decision.rejection().filter(|rejection| rejection.kind == kind)?;
        Some(Refused {
            at,
            decision,
            rejection,
        })
    })
}

/// A token that the authenticator refused.
struct Refused<'a> {
    at: Millis,
    decision: &'a Authentication,
    rejection: &'a TokenRejection,
}

impl Refused<'_> {
    fn evidence(&self) -> Evidence {
        Evidence::new("authenticator", self.at, self.rejection.to_string())
    }
}

/// STS knows the role, and aws-auth does not.
pub(super) fn role_not_mapped(facts: &Facts<'_>) -> Option<Finding> {
    let refused = refused(facts, RejectionKind::NotMapped)?;
    let Refused {
        decision, rejection, ..
    } = &refused;
    let arn = decision.canonical_arn.clone().unwrap_or_default();
    let role = role_of(decision)
        .or_else(|| arn.rsplit('/').next())
        .unwrap_or("of the instance")
        .to_owned();
    if let Some(MappingProblem::UnreadableRows(errors)) = &rejection.problem {
        let because = format!(
            "kube-system/aws-auth cannot be read whole, so that role {role} is not mapped: {}",
            errors.join("; ")
        );
        let remedy = "mend the YAML in `data.mapRoles`: `kubectl edit` takes any text there, and every node that it maps \
                      is refused while it cannot be read"
            .to_owned();
        return facts.found(Cause::RoleNotMapped, because, &refused.evidence(), remedy);
    }
    if let Some(unmapped) = access::unmapped(&facts.plan.cluster, &role, &arn, rejection.problem.as_ref()) {
        let access::Unmapped { because, remedy } = unmapped;
        return facts.found(Cause::RoleNotMapped, because, &refused.evidence(), remedy);
    }
    let rows = &facts.plan.cluster.aws_auth;
    let with_path = rows.iter().find(|row| has_path(row) && name_of(row) == role);
    if let Some(row) = with_path {
        let because = format!(
            "the row of {role} in kube-system/aws-auth has the role's path, which the authenticator never sees"
        );
        let remedy = format!("write {arn} instead of {}", row.rolearn);
        return facts.found(Cause::RoleNotMapped, because, &refused.evidence(), remedy);
    }
    let because = format!("role {role} is in no mapRoles row of kube-system/aws-auth");
    let remedy = remedy_for_unmapped(&role, &arn, rows);
    facts.found(Cause::RoleNotMapped, because, &refused.evidence(), remedy)
}

/// The role is mapped, and not to a node: the node authorizer knows nodes by the group `system:nodes`.
pub(super) fn groups_missing(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Registered) {
        return None;
    }
    let (at, decision) = last_decision(facts).filter(|(_, decision)| decision.is_accepted())?;
    if decision.groups().iter().any(|group| group == NODES) {
        return None;
    }
    let user = decision.username().unwrap_or_default();
    let arn = decision.canonical_arn.as_deref().unwrap_or_default();
    let rows = facts.plan.cluster.aws_auth.iter();
    let rows = rows.filter(|row| row.rolearn.eq_ignore_ascii_case(arn)).count();
    let row = match rows {
        0 | 1 => format!("the row of {arn} in kube-system/aws-auth gives"),
        rows => format!("kube-system/aws-auth has {rows} rows for {arn}, of which the last counts: it gives"),
    };
    let entry = access::counting_entry(&facts.plan.cluster, arn);
    let row = entry.map_or(row, |entry| {
        format!(
            "the access entry of {arn} has the type {}: it gives",
            entry.entry_type.word()
        )
    });
    let because = format!(
        "{row} {user} the groups {}, and not {NODES}",
        names_or_none(decision.groups())
    );
    let remedy = if let Some(entry) = entry {
        access::remedy_for_type(entry)
    } else if rows > 1 {
        format!("leave one row for {arn}, with the groups system:bootstrappers and {NODES}")
    } else {
        format!("give the row of {arn} the groups system:bootstrappers and {NODES}")
    };
    let evidence = forbidden(facts, user).unwrap_or_else(|| {
        let line = format!("{arn} is {user} in {}", names_or_none(decision.groups()));
        Evidence::new("authenticator", at, line)
    });
    facts.found(Cause::GroupsMissing, because, &evidence, remedy)
}

fn last_decision<'a>(facts: &Facts<'a>) -> Option<(Millis, &'a Authentication)> {
    let mut timeline = facts.observation.timeline.iter().rev();
    timeline.find_map(|seen| match &seen.what {
        ObservedEvent::Authentication(decision) => Some((seen.at, decision)),
        _ => None,
    })
}

/// The first request of this user that no authorizer allowed.
fn forbidden(facts: &Facts<'_>, user: &str) -> Option<Evidence> {
    facts
        .observation
        .timeline
        .iter()
        .find_map(|seen| match &seen.what {
            ObservedEvent::Audit(audit) if audit.code == 403 && audit.username == user => {
                let message = audit.message.as_deref().unwrap_or_default();
                let line = format!("{} {} as {user}: 403 {message}", audit.verb, audit.resource);
                Some(Evidence::new("audit log", seen.at, line.trim_end()))
            }
            _ => None,
        })
}

fn names_or_none(groups: &[String]) -> String {
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    if groups.is_empty() {
        "(none)".to_owned()
    } else {
        groups.join(", ")
    }
}

const NODES: &str = "system:nodes";

fn remedy_for_unmapped(role: &str, arn: &str, rows: &[RoleMapping]) -> String {
    let mut mapped: Vec<&str> = rows.iter().map(name_of).collect();
    if mapped.is_empty() {
        return format!("add a row for {arn} to aws-auth, which has none");
    }
    if let Some(close) = nearest(role, mapped.iter().copied()) {
        mapped.retain(|name| *name != close);
        mapped.insert(0, close);
    }
    format!(
        "add a row for {arn} to aws-auth, or set `instance.role` to one of: {}",
        mapped.join(", ")
    )
}

fn name_of(row: &RoleMapping) -> &str {
    row.rolearn.rsplit('/').next().unwrap_or(&row.rolearn)
}

fn has_path(row: &RoleMapping) -> bool {
    row.rolearn
        .split_once(":role/")
        .is_some_and(|(_, name)| name.contains('/'))
}

/// STS refuses the signature: the name of another cluster was signed.
pub(super) fn token_for_another_cluster(facts: &Facts<'_>) -> Option<Finding> {
    let refused = refused(facts, RejectionKind::Signature)?;
    let own = &facts.plan.cluster.name;
    let because = match named_cluster(facts).filter(|name| name != own) {
        Some(other) => format!("the token was made for the cluster `{other}`, and this one is `{own}`"),
        None => format!(
            "STS refuses the token's signature for `{own}`: it was made for another cluster, or with other credentials"
        ),
    };
    let remedy = format!(
        "give the script the name `{own}` (`{{{{ cluster.name }}}}` in a scenario): it goes into every token"
    );
    facts.final_(
        Cause::TokenForAnotherCluster,
        because,
        &refused.evidence(),
        remedy,
    )
}

/// The cluster that the user data names to the bootstrap script.
fn named_cluster(facts: &Facts<'_>) -> Option<String> {
    let text = facts.user_data_text()?.replace("\\\n", " ");
    let own = text.replace("{{ cluster.name }}", &facts.plan.cluster.name);
    let after_script = own
        .split_once("bootstrap.sh ")
        .and_then(|(_, rest)| rest.split_whitespace().next());
    let assigned = between(&own, "CLUSTER_NAME=", &['\n', ' ']);
    let name = after_script
        .filter(|word| !word.starts_with(['-', '$']))
        .or(assigned)?;
    Some(name.trim_matches(['"', '\'']).to_owned())
        .filter(|name| !name.is_empty() && !name.contains(['{', '$']))
}

/// The API server answers 401 for another reason.
pub(super) fn unauthorized(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Authenticated) {
        return None;
    }
    let other = [
        RejectionKind::Malformed,
        RejectionKind::Expired,
        RejectionKind::Template,
        RejectionKind::Throttled,
        RejectionKind::Down,
    ];
    if let Some(refused) = other.into_iter().find_map(|kind| refused(facts, kind)) {
        let because = format!(
            "the authenticator refuses the node's token: {}",
            refused.rejection.reason
        );
        return facts.found(
            Cause::Unauthorized,
            because,
            &refused.evidence(),
            remedy_of(refused.rejection.kind),
        );
    }
    let (at, line) = facts
        .kubelet()
        .find(|(_, line)| is_without_token(line) || is_unauthorized(line))?;
    let because = if is_unauthorized(line) {
        "the API server answers 401, and no token of the node came to the authenticator".to_owned()
    } else {
        format!(
            "the kubelet got no token from its credential plugin: {}",
            sentence(&line.message)
        )
    };
    let remedy =
        "run the `exec` command of /var/lib/kubelet/kubeconfig in the node and see what it prints".to_owned();
    facts.found(Cause::Unauthorized, because, &Evidence::journal(at, line), remedy)
}

fn is_without_token(line: &JournalLine) -> bool {
    ["getting credentials: exec", "exec: executable"]
        .iter()
        .any(|word| line.message.contains(word))
}

/// The API server's own word ends the line; AWS has an `UnauthorizedOperation` of its own.
fn is_unauthorized(line: &JournalLine) -> bool {
    line.message
        .trim_end()
        .trim_end_matches('"')
        .ends_with("Unauthorized")
}

fn remedy_of(kind: RejectionKind) -> String {
    match kind {
        RejectionKind::Expired => "set the node's clock: tokens are good for 15 minutes",
        RejectionKind::Template => "see that the row of aws-auth names what the instance has: `{{EC2PrivateDNSName}}` needs an instance id as session name",
        RejectionKind::Down => "start the authenticator again; `cluster.authenticator_until` ends it in this scenario",
        RejectionKind::Throttled => "wait: STS throttles the authenticator",
        RejectionKind::Malformed | RejectionKind::Signature | RejectionKind::NotMapped => "see which program makes the tokens: `exec` in /var/lib/kubelet/kubeconfig",
    }
    .to_owned()
}

/// The API server knows the node, as another one than it says it is.
pub(super) fn node_name_refused(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Registered) {
        return None;
    }
    let refusal = audited(facts).or_else(|| {
        let words = ["is not allowed to modify node", "unknown node for user"];
        let (at, line) = facts
            .kubelet()
            .find(|(_, line)| words.iter().any(|word| line.message.contains(word)))?;
        Some((Evidence::journal(at, line), None, line.message.clone()))
    })?;
    let (evidence, user, message) = refusal;
    let own = facts.plan.instance.private_dns_name.as_str();
    let claimed = between(&message, "to modify node \"", &['"'])
        .or_else(|| between(&message, "nodes \"", &['"']))
        .unwrap_or(own);
    let named = || {
        message
            .split_once("\" is not allowed to modify node")
            .and_then(|(before, _)| before.rsplit('"').next())
    };
    let user = user.or_else(|| named().map(|name| format!("system:node:{name}")));
    let user = user.unwrap_or_else(|| "another user".to_owned());
    let because = format!("the kubelet registers as {claimed}, and to the API server it is {user}");
    let remedy = remedy_for_name(facts, claimed, &user);
    facts.found(Cause::NodeNameRefused, because, &evidence, remedy)
}

/// A refusal in the audit log: evidence, user, message.
fn audited(facts: &Facts<'_>) -> Option<(Evidence, Option<String>, String)> {
    facts.observation.timeline.iter().find_map(|seen| {
        let ObservedEvent::Audit(audit) = &seen.what else {
            return None;
        };
        is_refused_name(audit).then(|| {
            let message = audit.message.clone().unwrap_or_default();
            let line = format!(
                "{} {} as {}: {} {message}",
                audit.verb, audit.resource, audit.username, audit.code
            );
            (
                Evidence::new("audit log", seen.at, line),
                Some(audit.username.clone()),
                message,
            )
        })
    })
}

fn is_refused_name(audit: &Audit) -> bool {
    let message = audit.message.as_deref().unwrap_or_default();
    let is_node = audit.resource == "nodes" || audit.resource.starts_with("nodes/");
    let words = [
        "is not allowed to modify node",
        "unknown node for user",
        "not allowed to set",
    ];
    audit.code == 403 && is_node && words.iter().any(|word| message.contains(word))
}

fn remedy_for_name(facts: &Facts<'_>, claimed: &str, user: &str) -> String {
    let instance = &facts.plan.instance;
    let fixed: Vec<&str> = facts
        .plan
        .cluster
        .aws_auth
        .iter()
        .filter(|row| row.username == user)
        .map(name_of)
        .collect();
    if !fixed.is_empty() {
        return format!(
            "write `system:node:{{{{EC2PrivateDNSName}}}}` as username in the aws-auth row of {}",
            names(&fixed)
        );
    }
    if claimed == instance.id.as_str() {
        return "a node that is called by its instance id needs a user name by it: an access entry of the type EC2, or a row of \
                aws-auth with `system:node:{{SessionName}}`"
            .to_owned();
    }
    if claimed != instance.private_dns_name {
        return format!(
            "let the kubelet take EC2's private DNS name: --hostname-override={}; the system is called {}",
            instance.private_dns_name, instance.host_name
        );
    }
    format!("make node name and user one: aws-auth has to give {claimed} the user name system:node:{claimed}")
}
