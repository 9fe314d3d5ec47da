//! Before the script runs: the metadata service, and limits of the host.

use super::facts::{Evidence, Facts};
use super::types::Finding;
use super::user_data_start::without_data_source;
use crate::observation::{AwsCall, CalledService, Millis, Observation};
use crate::plan::Plan;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::inotify;
use crate::vocabulary::metadata_path;
use crate::vocabulary::phase::Phase;
use crate::vocabulary::service::Service;

/// The kernel counts inotify instances per user, and all nodes run as root of the same host.
pub(super) fn host_limit(facts: &Facts<'_>) -> Option<Finding> {
    let (at, line) = facts.journal().find(|(_, line)| {
        let message = line.message.to_lowercase();
        // Messages of containerd, of kubelets and other programs, and of systemd.
        let is_watch = ["fsnotify", "inotify", "directory watch"]
            .iter()
            .any(|word| message.contains(word));
        is_watch && message.contains("too many open files")
    })?;
    let because = "the host that runs nodejoin has no free inotify instances for this node".to_owned();
    let nodes = 1 + facts.plan.others.len() as u64;
    let remedy = format!(
        "run on the host: {}, or run fewer nodes at once",
        inotify::remedy(nodes)
    );
    facts.final_(Cause::HostLimit, because, &Evidence::journal(at, line), remedy)
}

/// The AWS CLI waits for one second for each response of the metadata service. On a host without free processors it
/// gives up although the service responded: it does not send the request that follows.
pub(super) fn metadata_too_slow(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) || facts.plan.role.is_none() {
        return None;
    }
    let mut lines = facts.user_data_lines();
    let (end, _) = lines.find(|(_, line)| line.message.contains("Unable to locate credentials"))?;
    let is_metadata = |at: Millis, call: &AwsCall| call.service == Service::Imds && at <= end;
    let (at, last) = facts.calls().filter(|(at, call)| is_metadata(*at, call)).last()?;
    let is_first = [metadata_path::TOKEN, CREDENTIALS].contains(&last.operation.trim_end_matches('/'));
    if !is_first || last.status != 200 || last.fault.is_some() {
        return None;
    }
    let because = format!(
        "the AWS CLI gave up before it read its credentials, although the metadata service responded within {} ms: the host \
         that runs nodejoin is too slow or too busy",
        last.took_ms
    );
    let remedy = "run fewer nodes at once (`--jobs 1`), or let the script wait for longer: AWS_METADATA_SERVICE_TIMEOUT and \
                  AWS_METADATA_SERVICE_NUM_ATTEMPTS";
    facts.final_(
        Cause::HostLimit,
        because,
        &Evidence::call(at, last),
        remedy.to_owned(),
    )
}

/// The host of requests to the metadata service.
const METADATA_HOST: &str = "169.254.169.254";

/// The path with the name of the role, which comes before the path with its credentials.
const CREDENTIALS: &str = "meta-data/iam/security-credentials";

/// All requests to the metadata service failed.
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
    let response = match first.status {
        0 if first.is_refused_connection() => "refused the connection".to_owned(),
        0 => "closed the connection".to_owned(),
        status => format!("returned {status}"),
    };
    let requests = if count == 1 {
        "the only request".to_owned()
    } else {
        format!("all of {count} requests")
    };
    let mut because = format!("the metadata service at 169.254.169.254 {response} to {requests}");
    let remedy = if !facts.plan.instance.metadata.enabled {
        let set = facts.plan.key_hint("instance: { metadata: { enabled: true } }");
        format!("{set}: the metadata service of this instance is disabled")
    } else if first.fault.is_some() {
        "this scenario breaks the metadata service by a fault: let the script retry for longer, or end the fault earlier".to_owned()
    } else {
        "check routes, proxies and firewalls on the node for 169.254.169.254".to_owned()
    };
    let evidence = Evidence::call(at, first);
    if without_data_source(facts).is_none() {
        return facts.found(Cause::MetadataUnreachable, because, &evidence, remedy);
    }
    because.push_str("; cloud-init gave up and finished without running any user data");
    facts.final_(Cause::MetadataUnreachable, because, &evidence, remedy)
}

/// The last requests to the metadata service went to the HTTP proxy of the scenario.
pub(super) fn metadata_by_proxy(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Authenticated) {
        return None;
    }
    let by_proxy = || {
        let calls = facts.calls();
        calls.filter(|(_, call)| call.service == CalledService::Outside && call.host == METADATA_HOST)
    };
    let (_, last) = by_proxy().last()?;
    let mut after = facts.calls().skip_while(|(_, call)| !std::ptr::eq(*call, last));
    if after.any(|(_, call)| call.service == Service::Imds) {
        return None;
    }
    let (at, first) = by_proxy().next()?;
    let because = format!(
        "{} went to the HTTP proxy, which does not reach the metadata service of an instance",
        first.operation
    );
    let remedy =
        "add 169.254.169.254 to `NO_PROXY` (and `no_proxy`), in the script and in each unit with a proxy";
    facts.found(
        Cause::MetadataByProxy,
        because,
        &Evidence::call(at, first),
        remedy.to_owned(),
    )
}

/// The script uses IMDSv1 on an instance that requires IMDSv2, and can take the error page for the value.
pub(super) fn metadata_token_missing(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Registered) {
        return None;
    }
    let refused = without_token(facts);
    let (at, first) = refused.first()?;
    let because = format!(
        "the metadata service returned 401 to {}, the first for `{}`: this instance requires a session token",
        requests(refused.len()),
        first.operation
    );
    let remedy = "request a session token in the script (PUT /latest/api/token) and send it with each request; with \
                  `instance.metadata.tokens: optional` the instance does not require it";
    let finding = facts.found(
        Cause::MetadataTokenMissing,
        because,
        &Evidence::call(*at, first),
        remedy.to_owned(),
    )?;
    // A kubelet that started nevertheless can still join.
    Some(Finding {
        is_final: facts.is_before(Phase::Configured),
        ..finding
    })
}

/// Refused requests without a token. Some clients try without a token first and repeat the request with one.
fn without_token<'a>(facts: &Facts<'a>) -> Vec<(Millis, &'a AwsCall)> {
    let was_answered = |refused_at: Millis, refused: &AwsCall| {
        let is_soon = |at: Millis| (refused_at..=refused_at + REPEATED_WITHIN).contains(&at);
        let mut repeated = facts.calls().filter(|(at, _)| is_soon(*at));
        repeated.any(|(_, call)| call.operation == refused.operation && call.status == 200)
    };
    let calls = facts.calls();
    calls
        .filter(|(at, call)| is_without_token(call) && !was_answered(*at, call))
        .collect()
}

/// The time in which a client that tries without a token first repeats the request with one. A later request for the
/// same path is another command of the script, and says nothing about the first.
const REPEATED_WITHIN: Millis = 2000;

/// The number of refused requests without a token, and the path of the first.
pub(crate) fn requests_without_token(plan: &Plan, observation: &Observation) -> Option<(usize, String)> {
    let refused = without_token(&Facts::of(plan, observation));
    let (_, first) = refused.first()?;
    Some((refused.len(), format!("`{}`", first.operation)))
}

/// The service refused the request because it has no token.
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
