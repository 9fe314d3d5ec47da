//! Before a script runs: the metadata service, and what cloud-init makes of user data.

use super::Finding;
use super::facts::{Evidence, Facts, between};
use crate::diagnosis::Cause;
use crate::observation::phase::Phase;
use crate::observation::{AwsCall, JournalLine, Millis};
use crate::plan::fault::Service;
use crate::run::concurrency;
use crate::user_data::{self, FaultKind};

/// The kernel counts inotify instances by user, and all nodes are root's on this host.
pub(super) fn host_limit(facts: &Facts<'_>) -> Option<Finding> {
    let (at, line) = facts.journal().find(|(_, line)| {
        let message = line.message.to_lowercase();
        // The words of containerd, of kubelets and other programs, and of systemd.
        let is_watch = ["fsnotify", "inotify", "directory watch"]
            .iter()
            .any(|word| message.contains(word));
        is_watch && message.contains("too many open files")
    })?;
    let because = "the host that runs nodejoin has no inotify instances left for this node".to_owned();
    let nodes = 1 + facts.plan.others.len() as u64;
    let remedy = format!(
        "on the host: {}, or let fewer nodes run at once",
        concurrency::remedy(nodes)
    );
    facts.final_(Cause::HostLimit, because, &Evidence::journal(at, line), remedy)
}

/// Every request to the metadata service failed.
pub(super) fn metadata_unreachable(facts: &Facts<'_>) -> Option<Finding> {
    if facts.has(Phase::Metadata) || !facts.is_before(Phase::KubeletStarted) {
        return None;
    }
    let calls = || facts.calls().filter(|(_, call)| call.service == Service::Imds);
    let (at, first) = calls().next()?;
    if calls().any(|(_, call)| is_without_token(call)) {
        return None;
    }
    let count = calls().count();
    let answer = match first.status {
        0 => "closed the connection".to_owned(),
        status => format!("answered {status}"),
    };
    let requests = if count == 1 {
        "the only request".to_owned()
    } else {
        format!("all of {count} requests")
    };
    let mut because = format!("the metadata service at 169.254.169.254 {answer} to {requests}");
    let remedy = if !facts.plan.instance.metadata.enabled {
        "set `instance.metadata.enabled: true`: this instance has its metadata service off".to_owned()
    } else if first.fault.is_some() {
        "this scenario breaks the metadata service by a fault; a script that must live with it has to wait longer".to_owned()
    } else {
        "see that nothing on the node (routes, proxies, firewalls) stands before 169.254.169.254".to_owned()
    };
    let evidence = Evidence::call(at, first);
    if without_data_source(facts).is_none() {
        return facts.found(Cause::MetadataUnreachable, because, &evidence, remedy);
    }
    because.push_str("; cloud-init gave up and ended as done without running any user data");
    facts.final_(Cause::MetadataUnreachable, because, &evidence, remedy)
}

/// A script that speaks IMDSv1 to an instance that wants IMDSv2 takes the page of the refusal for the value.
pub(super) fn metadata_token_missing(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Registered) {
        return None;
    }
    // Clients that try without a token first come back with one.
    let was_answered = |since: Millis, refused: &AwsCall| {
        facts
            .calls()
            .any(|(at, call)| at >= since && call.operation == refused.operation && call.status == 200)
    };
    let refused: Vec<(Millis, &AwsCall)> = facts
        .calls()
        .filter(|(at, call)| is_without_token(call) && !was_answered(*at, call))
        .collect();
    let (at, first) = refused.first()?;
    let because = format!(
        "the metadata service answered 401 to {}, the first for `{}`: this instance takes only requests with a session token",
        requests(refused.len()),
        first.operation
    );
    let remedy = "let the script get a session token first (PUT /latest/api/token) and send it with each request; \
                  `instance.metadata.tokens: optional` is an instance that does without";
    let finding = facts.found(
        Cause::MetadataTokenMissing,
        because,
        &Evidence::call(*at, first),
        remedy.to_owned(),
    )?;
    // A kubelet that was started all the same may yet join with what it has.
    Some(Finding {
        is_final: facts.is_before(Phase::Configured),
        ..finding
    })
}

/// Refused for want of a token: the service is there, and works.
fn is_without_token(call: &AwsCall) -> bool {
    let is_v1 = call.authorization.as_deref() == Some("v1");
    call.service == Service::Imds && call.status == 401 && is_v1 && call.fault.is_none()
}

fn requests(count: usize) -> String {
    if count == 1 {
        "a request without a token".to_owned()
    } else {
        format!("{count} requests without a token")
    }
}

/// cloud-init ended without a data source, and calls that `done`.
pub(super) fn user_data_never_ran(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) || facts.plan.user_data.is_none() {
        return None;
    }
    let line = without_data_source(facts);
    let result = facts
        .observation
        .collected
        .as_ref()
        .and_then(|collected| collected.user_data.as_ref());
    let evidence = match (line, result) {
        (Some((at, line)), _) => Evidence::journal(at, line),
        (None, Some(result)) if !result.ran && is_over(result.status.as_deref()) => {
            let source = result.data_source.as_deref().unwrap_or("no data source");
            let at = facts.user_data_done.unwrap_or_default();
            Evidence::new(
                "cloud-init",
                at,
                format!(
                    "status {} with {source}",
                    result.status.as_deref().unwrap_or("none")
                ),
            )
        }
        _ => return None,
    };
    // What cloud-init could not crawl is why it dropped the EC2 data source.
    let failed = facts
        .calls()
        .find(|(_, call)| call.service == Service::Imds && !(200..400).contains(&call.status));
    let why = failed
        .map(|(_, call)| format!(" after {} answered {}", call.path, call.status))
        .unwrap_or_default();
    let because = format!(
        "cloud-init dropped the EC2 data source{why}, and ended as done without running any user data"
    );
    let remedy = "let every path that the metadata service lists be answered: cloud-init gives up at the first that is not";
    facts.final_(Cause::UserDataNeverRan, because, &evidence, remedy.to_owned())
}

/// Where cloud-init says that it ended without a data source.
fn without_data_source<'a>(facts: &Facts<'a>) -> Option<(Millis, &'a JournalLine)> {
    facts
        .user_data_lines()
        .find(|(_, line)| line.message.contains("DataSourceNone"))
}

fn is_over(status: Option<&str>) -> bool {
    matches!(status, Some("done" | "error" | "degraded done"))
}

/// A script part that the kernel cannot start, because it does not say by what.
pub(super) fn missing_shebang(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::KubeletStarted) {
        return None;
    }
    let told = facts.user_data_lines().find(|(_, line)| is_format_error(line));
    // Taken apart only when there is something to tell: this is asked many times while a join runs.
    told.map(|(at, _)| at).or(facts.user_data_done)?;
    let guilty = faulty_part(facts, &[FaultKind::MissingShebang, FaultKind::Unhandled]);
    let evidence = match (told, &guilty, facts.user_data_done) {
        (Some((at, line)), _, _) => Evidence::journal(at, line),
        (None, Some((part, what)), Some(done)) => Evidence::new("user data", done, format!("{part}: {what}")),
        _ => return None,
    };
    let part =
        told.and_then(|(_, line)| between(&line.message, "/scripts/", &['\'', '"', ' ', ':', ',', ']']));
    let part = part
        .map(str::to_owned)
        .or(guilty.map(|(part, _)| part))
        .unwrap_or_else(|| "a part".to_owned());
    let because =
        format!("{part} of the user data was not run: its first line is not `#!` and an interpreter");
    let remedy = format!("begin {part} with `#!/bin/bash`");
    facts.final_(Cause::MissingShebang, because, &evidence, remedy)
}

fn is_format_error(line: &JournalLine) -> bool {
    line.message.contains("Exec format error") || line.message.contains("Missing #! in script")
}

/// A part with a fault of such a kind, from the user data itself, and what is wrong with it.
fn faulty_part(facts: &Facts<'_>, kinds: &[FaultKind]) -> Option<(String, String)> {
    let parsed = user_data::parse(&facts.user_data()?);
    let fault = parsed
        .faults
        .into_iter()
        .find(|fault| kinds.contains(&fault.kind))?;
    Some((fault.part.unwrap_or_else(|| "the whole".to_owned()), fault.what))
}

/// cloud-init does not decode user data as a whole: it warns about what it does not know, and goes on.
pub(super) fn user_data_is_base64(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let done = facts.user_data_done?;
    let (part, what) = faulty_part(facts, &[FaultKind::Base64])?;
    let told = facts
        .user_data_lines()
        .find(|(_, line)| line.message.contains("Unhandled non-multipart"));
    let evidence = told.map_or_else(
        || Evidence::new("user data", done, format!("{part}: {what}")),
        |(at, line)| Evidence::journal(at, line),
    );
    let because = "the user data was encoded in base64 twice, so that nothing in it was run".to_owned();
    let remedy =
        "give the user data as it is: EC2's API and CloudFormation's Fn::Base64 encode it once".to_owned();
    facts.final_(Cause::UserDataNeverRan, because, &evidence, remedy)
}
