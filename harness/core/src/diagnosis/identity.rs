//! The identity of the node: whether the authenticator accepts its token, and whether it may register under its name.

use super::access;
use super::facts::{Evidence, Facts, between, names, sentence};
use super::types::Finding;
use crate::observation::{
    Audit, Authentication, JournalLine, MappingProblem, Millis, ObservedEvent, RejectionKind, TokenRejection,
};
use crate::plan::RoleMapping;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::nearest::nearest;
use crate::vocabulary::phase::Phase;

const NODES: &str = "system:nodes";

/// The first refusal of this kind, if the latest refusal is of the same kind and no token was accepted.
fn refused<'a>(facts: &Facts<'a>, kind: RejectionKind) -> Option<RefusedToken<'a>> {
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
    // The latest refusal has the current problem, the first of its kind the time when it began.
    let (_, last) = decisions().next_back()?;
    if last.rejection()?.kind != kind {
        return None;
    }
    decisions().find_map(|(at, decision)| {
        let rejection = decision.rejection().filter(|rejection| rejection.kind == kind)?;
        Some(RefusedToken {
            at,
            decision,
            rejection,
        })
    })
}

/// A token that the authenticator refused.
struct RefusedToken<'a> {
    at: Millis,
    decision: &'a Authentication,
    rejection: &'a TokenRejection,
}

impl RefusedToken<'_> {
    fn evidence(&self) -> Evidence {
        Evidence::new("authenticator", self.at, self.rejection.to_string())
    }
}

/// STS accepts the token, and the role is not mapped.
pub(super) fn role_not_mapped(facts: &Facts<'_>) -> Option<Finding> {
    let refused = refused(facts, RejectionKind::NotMapped)?;
    let RefusedToken {
        decision, rejection, ..
    } = &refused;
    let arn = decision.canonical_arn.clone().unwrap_or_default();
    let role = decision
        .role()
        .or_else(|| arn.rsplit('/').next())
        .unwrap_or("of the instance")
        .to_owned();
    if let Some(MappingProblem::UnreadableRows(errors)) = &rejection.problem {
        let because = format!(
            "role {role} is not mapped: kube-system/aws-auth has rows that cannot be parsed: {}",
            errors.join("; ")
        );
        let remedy = "correct the YAML in `data.mapRoles` (`kubectl edit` accepts any text): nodes of rows that cannot be parsed are refused"
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
            "the row of {role} in kube-system/aws-auth contains the role's path, which the authenticator does not receive"
        );
        let remedy = format!("write {arn} instead of {}", row.rolearn);
        return facts.found(Cause::RoleNotMapped, because, &refused.evidence(), remedy);
    }
    let because = format!("role {role} has no row in mapRoles of kube-system/aws-auth");
    let remedy = remedy_for_unmapped(&role, &arn, rows);
    facts.found(Cause::RoleNotMapped, because, &refused.evidence(), remedy)
}

/// The role is mapped without the group `system:nodes`, by which the node authorizer recognizes nodes.
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
        rows => {
            format!("kube-system/aws-auth has {rows} rows for {arn}; the last one takes effect and gives")
        }
    };
    let entry = access::effective_entry(&facts.plan.cluster, arn);
    let row = entry.map_or(row, |entry| {
        format!(
            "the access entry of {arn} has the type {} and gives",
            entry.entry_type.word()
        )
    });
    let because = format!(
        "{row} user {user} the groups {}, but not {NODES}",
        names_or_none(decision.groups())
    );
    let remedy = if let Some(entry) = entry {
        access::remedy_for_type(entry)
    } else if rows > 1 {
        format!("keep one row for {arn}, with the groups system:bootstrappers and {NODES}")
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

/// The first request of this user that the authorizers denied.
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

fn remedy_for_unmapped(role: &str, arn: &str, rows: &[RoleMapping]) -> String {
    let mut mapped: Vec<&str> = rows.iter().map(name_of).collect();
    if mapped.is_empty() {
        return format!("add a row for {arn} to aws-auth, which has no rows");
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

/// STS refuses the signature because it contains the name of another cluster.
pub(super) fn token_for_another_cluster(facts: &Facts<'_>) -> Option<Finding> {
    let refused = refused(facts, RejectionKind::Signature)?;
    let own = &facts.plan.cluster.name;
    let other = named_cluster(facts).filter(|name| name != own);
    let because = match &other {
        Some(other) => format!("the token was signed for the cluster `{other}`, and this cluster is `{own}`"),
        None => format!(
            "STS refuses the token's signature for `{own}`: it was signed for another cluster or with other credentials"
        ),
    };
    // A script that replaces words of a file left one.
    if let Some(host) = refused
        .rejection
        .to_string()
        .split(' ')
        .find(|word| word.starts_with("sts."))
        && host.to_ascii_lowercase().contains("region")
    {
        return facts.final_(
            Cause::TokenForAnotherCluster,
            format!("the token is signed for the host `{host}`: the region of the kubelet's kubeconfig is a placeholder"),
            &refused.evidence(),
            format!(
                "replace the placeholder, such as `AWS_REGION`, by {} in the arguments of the kubeconfig's `exec`",
                facts.plan.region
            ),
        );
    }
    // A name ends before a flag that follows it without a blank.
    let glued = other.as_deref().and_then(|other| other.split_once("--"));
    if let Some((name, flag)) = glued {
        let remedy =
            format!("insert a blank between `{name}` and `--{flag}` in the call of the bootstrap script");
        return facts.final_(
            Cause::TokenForAnotherCluster,
            because,
            &refused.evidence(),
            remedy,
        );
    }
    let rename = other.map(|other| {
        let hint = facts.plan.key_hint(&format!("cluster: {{ name: {other} }}"));
        format!("; if `{other}` is right, {hint}")
    });
    let remedy = format!(
        "pass the name `{own}` to the script (`{{{{ cluster.name }}}}` is replaced by it): every token contains it{}",
        rename.unwrap_or_default()
    );
    facts.final_(
        Cause::TokenForAnotherCluster,
        because,
        &refused.evidence(),
        remedy,
    )
}

/// The cluster name that the user data passes to the bootstrap script.
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

/// The API server responds with 401 for another reason.
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
        "the API server responds with 401, and the authenticator received no token of the node".to_owned()
    } else {
        format!(
            "the kubelet did not get a token from its credential plugin: {}",
            sentence(&line.message)
        )
    };
    let remedy =
        "run the `exec` command of /var/lib/kubelet/kubeconfig in the node and read its output".to_owned();
    facts.found(Cause::Unauthorized, because, &Evidence::journal(at, line), remedy)
}

fn is_without_token(line: &JournalLine) -> bool {
    ["getting credentials: exec", "exec: executable"]
        .iter()
        .any(|word| line.message.contains(word))
}

/// `Unauthorized` of the API server ends the line; AWS has an error `UnauthorizedOperation`.
fn is_unauthorized(line: &JournalLine) -> bool {
    line.message
        .trim_end()
        .trim_end_matches('"')
        .ends_with("Unauthorized")
}

fn remedy_of(kind: RejectionKind) -> String {
    match kind {
        RejectionKind::Expired => "set the node's clock: tokens are valid for 15 minutes",
        RejectionKind::Template => "check the templates in the row of aws-auth: `{{EC2PrivateDNSName}}` requires an instance id as session name",
        RejectionKind::Down => "restart the authenticator; `cluster.authenticator_until` stops it in this scenario",
        RejectionKind::Throttled => "wait until STS stops throttling the authenticator",
        RejectionKind::Malformed | RejectionKind::Signature | RejectionKind::NotMapped => "check the program that creates the tokens: `exec` in /var/lib/kubelet/kubeconfig",
    }
    .to_owned()
}

/// The node authorizer does not let the user register a Node of this name.
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
    let because = format!("the kubelet registers as {claimed}, and its user name is {user}");
    let remedy = remedy_for_name(facts, claimed, &user);
    facts.found(Cause::NodeNameRefused, because, &evidence, remedy)
}

/// A denied request in the audit log: evidence, user, message.
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
        return "a node that is named after its instance id needs a user name with that id: create an access entry of type EC2, or a row \
                of aws-auth with `system:node:{{SessionName}}`"
            .to_owned();
    }
    if claimed != instance.private_dns_name {
        return format!(
            "register under EC2's private DNS name: --hostname-override={}; the host name is {}",
            instance.private_dns_name, instance.host_name
        );
    }
    format!(
        "let aws-auth give {claimed} the user name system:node:{claimed}: node name and user name must match"
    )
}
