//! While the script runs: its AWS calls and its exit.

use super::facts::{Evidence, Facts, between};
use super::metadata_path;
use super::missing_disk;
use super::script_output::{
    LastOutput, is_by_script, is_complaint, is_failure, last_output, line_of_failed_job, shortened,
};
use super::script_remedy::{certain_remedy, missing_line_break, missing_name, silent_end};
use super::stored_values;
use super::types::Finding;
use super::unusable_script::unusable_script;
use crate::observation::{AwsCall, CalledService, JournalLine, Millis};
use crate::plan::Plan;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;
use crate::vocabulary::service::Service;

/// AWS denied a call and did not allow it later.
pub(super) fn access_denied(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Authenticated) {
        return None;
    }
    // A file that a script downloads is no longer needed once the kubelet runs.
    let matters = |call: &AwsCall| call.service != Service::S3 || facts.is_before(Phase::KubeletStarted);
    let (at, call) = facts.calls().find(|(_, call)| {
        is_denied(call)
            && !is_unsigned_download(facts, call)
            && matters(call)
            && !was_allowed_later(facts, call)
    })?;
    let role = facts
        .plan
        .role
        .as_ref()
        .map_or("an instance without a role", |role| role.name.as_str());
    let action = format!("{}:{}", call.service.word(), call.operation);
    let subject = call
        .subject
        .as_deref()
        .map(|subject| format!(" on {subject}"))
        .unwrap_or_default();
    let because = format!("{role} may not call {action}{subject}");
    let remedy = match (call.service, call.operation.as_str()) {
        (CalledService::Known(Service::Eks), "DescribeCluster") => format!(
            "allow {action} in the role's policy (AmazonEKSWorkerNodePolicy does), or pass endpoint, CA and DNS address \
             to the script, so that it does not call EKS"
        ),
        _ => format!("allow {action} in the role's policy"),
    };
    facts.found(Cause::AccessDenied, because, &Evidence::call(at, call), remedy)
}

/// Whether a request without credentials is for a bucket that the scenario does not have.
fn is_unsigned_download(facts: &Facts<'_>, call: &AwsCall) -> bool {
    let bucket = call
        .subject
        .as_deref()
        .and_then(|subject| subject.split('/').next());
    let is_known = bucket.is_some_and(|bucket| facts.plan.aws.buckets.contains_key(bucket));
    call.service == Service::S3 && call.authorization.is_none() && !is_known
}

/// A request without credentials for an object of a bucket that is not public here. On AWS it may be: several buckets
/// of AWS itself are.
pub(super) fn unsigned_download(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::KubeletStarted) {
        return None;
    }
    let (at, call) = facts
        .calls()
        .filter(|(_, call)| is_denied(call) && is_unsigned_download(facts, call))
        .last()?;
    // A script that continued and failed for another reason had no need of the object.
    let file = call.path.rsplit('/').next().unwrap_or_default();
    let is_about = |line: &JournalLine| {
        ["403", "Forbidden", "AccessDenied", "?xml", file]
            .iter()
            .any(|word| !word.is_empty() && line.message.contains(word))
    };
    let mut later = facts.user_data_lines().filter(|(seen, _)| *seen > at);
    let has_own_reason =
        later.any(|(_, line)| is_by_script(line) && is_complaint(&line.message) && !is_about(line));
    let continued = facts
        .calls()
        .any(|(seen, other)| seen > at && !is_unsigned_download(facts, other));
    if has_own_reason || continued {
        return None;
    }
    let object = call.subject.as_deref().unwrap_or("an object");
    let because = format!(
        "a limit of nodejoin if the bucket is public: a request without credentials for s3://{object} is refused"
    );
    let remedy = format!(
        "serve it: {}; a bucket that is not public needs a signed request, such as `aws s3 cp`",
        how_to_serve_object(facts.plan, call)
    );
    facts.found(Cause::HarnessLimit, because, &Evidence::call(at, call), remedy)
}

/// How a scenario answers a request for an object without credentials.
pub(crate) fn how_to_serve_object(plan: &Plan, call: &AwsCall) -> String {
    let request = format!("host: {}, path: {}, file: FILE", call.host, call.path);
    plan.key_hint(&format!("aws: {{ answers: [{{ {request} }}] }}"))
}

fn is_denied(call: &AwsCall) -> bool {
    const CODES: [&str; 4] = [
        "AccessDenied",
        "AccessDeniedException",
        "UnauthorizedOperation",
        "Client.UnauthorizedOperation",
    ];
    call.error.as_deref().is_some_and(|error| CODES.contains(&error))
}

fn was_allowed_later(facts: &Facts<'_>, denied: &AwsCall) -> bool {
    facts.calls().any(|(_, call)| {
        call.service == denied.service
            && (call.operation == denied.operation || denied.is_refused_connection())
            && (200..300).contains(&call.status)
    })
}

/// DescribeCluster failed for a reason other than permissions, or the cluster is not active.
pub(super) fn describe_failed(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let is_describe = |call: &AwsCall| {
        call.service == Service::Eks && (call.operation == "DescribeCluster" || call.is_refused_connection())
    };
    let (at, call) = facts.calls().filter(|(_, call)| is_describe(call)).last()?;
    let evidence = Evidence::call(at, call);
    let own = &facts.plan.cluster.name;
    let requested = call.subject.as_deref().unwrap_or(own);
    if requested.contains('<') {
        return error_page_as_name(facts, at, call);
    }
    if call.error.as_deref() == Some("ResourceNotFoundException") {
        let because = format!(
            "there is no cluster `{requested}` in {}; the account's cluster is `{own}`",
            facts.plan.region
        );
        let name = facts.plan.key_hint(&format!("cluster: {{ name: {requested} }}"));
        let remedy = match facts.plan.is_trial {
            true => format!("if that is the name of your cluster, {name}; or correct it in the script"),
            false => format!(
                "pass `{own}` to the bootstrap script (`{{{{ cluster.name }}}}` in a scenario), or name the cluster \
                 `{requested}`: {name}"
            ),
        };
        return facts.found(Cause::DescribeFailed, because, &evidence, remedy);
    }
    if !(200..300).contains(&call.status) {
        let error = call.error.as_deref().unwrap_or("no response");
        let because = format!("DescribeCluster failed for `{requested}`: {error}");
        let remedy = match call.fault {
            Some(index) => format!("`faults[{index}]` of this scenario causes it: let the script retry"),
            None => "read the AWS calls in the evidence folder (aws.ndjson)".to_owned(),
        };
        return facts.found(Cause::DescribeFailed, because, &evidence, remedy);
    }
    let status = status_at(facts, at).filter(|status| *status != "ACTIVE")?;
    let because =
        format!("the cluster `{requested}` is {status}, and the script waits for it to become ACTIVE");
    let remedy = "wait for the cluster before instances are started".to_owned();
    facts.found(Cause::DescribeFailed, because, &evidence, remedy)
}

/// The name of the cluster is a page of the metadata service, which the script took for a value.
fn error_page_as_name(facts: &Facts<'_>, at: Millis, call: &AwsCall) -> Option<Finding> {
    let before = facts.calls().filter(|(seen, call)| {
        *seen <= at && call.service == Service::Imds && (400..600).contains(&call.status)
    });
    let because = "the name of the cluster in the script is an error page".to_owned();
    let Some((_, page)) = before.last() else {
        let remedy = "let the script check what it read before it uses it, such as `curl --fail`".to_owned();
        return facts.found(Cause::DescribeFailed, because, &Evidence::call(at, call), remedy);
    };
    let because = format!(
        "{because}: the metadata service answered `{}` with {}, and the script took its page for the value",
        page.operation, page.status
    );
    let remedy = format!(
        "let the script check the response (`curl --fail`); {}",
        metadata_path::remedy(facts.plan, &page.operation)
    );
    facts.found(Cause::DescribeFailed, because, &Evidence::call(at, page), remedy)
}

/// The status that DescribeCluster returns at a time.
fn status_at<'a>(facts: &Facts<'a>, at: Millis) -> Option<&'a str> {
    let holds = |until: Option<f64>| until.is_none_or(|until| (at as f64) < until * 1000.0);
    facts
        .plan
        .cluster
        .status
        .iter()
        .find(|step| holds(step.until_seconds))
        .map(|step| step.status.as_str())
}

/// The bootstrap script names what its caller has to correct. What user data does afterwards says less.
pub(super) fn bootstrap_refuses(facts: &Facts<'_>) -> Option<Finding> {
    // Ours, and that of the last AMI for Amazon Linux 2.
    const BEGINNINGS: [&str; 2] = ["bootstrap.sh: error: ", "[eks-bootstrap] ERROR: "];
    // Responses of AWS, which other rules explain.
    const OF_AWS: [&str; 2] = ["Exhausted retries", "failed to retrieve"];
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let (at, line, message) = facts
        .user_data_lines()
        .filter(|(_, line)| is_by_script(line))
        .filter_map(|(at, line)| {
            let message = BEGINNINGS
                .iter()
                .find_map(|begin| Some(line.message.split_once(begin)?.1.trim()))?;
            (!OF_AWS.iter().any(|words| message.starts_with(words))).then_some((at, line, message))
        })
        .last()?;
    let because = format!("the bootstrap script refuses its call: {message}");
    let remedy = "correct the call of the bootstrap script in the user data".to_owned();
    facts.final_(Cause::ScriptFailed, because, &Evidence::journal(at, line), remedy)
}

/// The user data, or a script in it, ended with an error before the kubelet started.
pub(super) fn failed(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let line = facts.user_data_lines().find(|(_, line)| is_failure(line));
    let collected = facts
        .observation
        .collected
        .as_ref()
        .and_then(|collected| collected.user_data.as_ref());
    let failed: Vec<String> = collected.map_or(Vec::new(), |result| {
        let failed = result.exit_codes.iter().filter(|(_, code)| **code != 0);
        failed
            .map(|(part, code)| format!("{part} exited with {code}"))
            .collect()
    });
    let evidence = match (line, collected) {
        (Some((at, line)), _) => Evidence::journal(at, line),
        (None, Some(result)) if !failed.is_empty() => {
            let last = result
                .output
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty())
                .unwrap_or("no output");
            Evidence::new("user data", facts.user_data_done.unwrap_or_default(), last)
        }
        _ => return None,
    };
    let which = match failed.as_slice() {
        [] => line
            .and_then(|(_, line)| between(&line.message, "failures (", &[')']))
            .unwrap_or("a script")
            .to_owned(),
        failed => failed.join(", "),
    };
    let words = last_output(facts, evidence.at);
    let last = words
        .as_ref()
        .map(|words| format!("; its last output: {}", words.text()))
        .unwrap_or_default();
    let calls = failed_calls(facts, evidence.at);
    let unusable = unusable_script(facts);
    let last_words = words.as_ref().map(|words| words.line.message.trim());
    let of_unusable = unusable.as_ref().map(|script| script.message);
    let hidden = words
        .as_ref()
        .and_then(|words| hidden_command(facts, words))
        .or(of_unusable.filter(|message| last_words != Some(message)));
    let before = hidden
        .map(|message| format!("; before it: {message}"))
        .unwrap_or_default();
    let because = format!(
        "the user data ended with an error ({which}) before it started the kubelet{last}{before}{calls}"
    );
    let line = words.as_ref().and_then(LastOutput::line_number);
    let line = line.map_or("the line that failed".to_owned(), |line| {
        format!("line {line} of the script")
    });
    let hold = facts.plan.hold_command();
    let remedy = format!("in the node, run {line} by hand (`{hold}`, then `nodejoin shell`)");
    let missing = words
        .as_ref()
        .and_then(|words| missing_name(facts, words.line.message.trim()))
        .or_else(|| missing_name(facts, hidden?));
    let remedy = missing.map_or(remedy.clone(), |missing| format!("{missing}; else {remedy}"));
    let missing = stored_values::missing(facts, evidence.at);
    let remedy = missing.map_or(remedy, |missing| missing.remedy(facts.plan));
    let disk = words
        .as_ref()
        .and_then(|words| missing_disk::remedy(facts, &words.line.message));
    let remedy = disk.unwrap_or(remedy);
    let remedy = match words {
        Some(_) => remedy,
        None => silent_end(facts).unwrap_or(remedy),
    };
    let certain = words
        .as_ref()
        .and_then(|words| certain_remedy(facts, words.line.message.trim()));
    let remedy = certain.unwrap_or(remedy);
    let remedy = unusable.map_or(remedy, |script| script.remedy);
    let remedy = missing_line_break(facts).unwrap_or(remedy);
    let unit = words.as_ref().and_then(|words| line_of_failed_job(facts, words));
    let (because, remedy) = match unit {
        Some((_, line)) => {
            let name = line.unit.as_deref().unwrap_or("the unit");
            let because = format!(
                "{because}; the last error of {name}: {}",
                shortened(line.message.trim())
            );
            let remedy = format!(
                "correct {name} or what it starts: its whole journal is in the evidence folder, and in the node (`{hold}`, then \
                 `nodejoin shell`) `systemctl status {name}` shows its state"
            );
            (because, remedy)
        }
        None => (because, remedy),
    };
    let evidence = words.map_or(evidence, |words| Evidence::journal(words.at, words.line));
    let evidence = unit.map_or(evidence, |(at, line)| Evidence::journal(at, line));
    facts.final_(Cause::ScriptFailed, because, &evidence, remedy)
}

/// The last command before the end that the shell did not find. `local name=$(command)` hides its exit code, and the
/// script fails only where it needs the value.
fn hidden_command<'a>(facts: &Facts<'a>, last: &LastOutput<'_>) -> Option<&'a str> {
    let lines = facts
        .user_data_lines()
        .filter(|(at, line)| *at <= last.at && !std::ptr::eq(*line, last.line) && is_by_script(line));
    let messages = lines.map(|(_, line)| line.message.trim());
    messages
        .filter(|message| message.ends_with(": command not found"))
        .last()
}

/// The requests that failed before the end of the script, grouped by operation and status.
fn failed_calls(facts: &Facts<'_>, end: Millis) -> String {
    /// Earlier requests have nothing to do with the end.
    const BEFORE: Millis = 60_000;
    const MOST: usize = 3;
    let mut groups: Vec<(String, usize)> = Vec::new();
    let is_late = |at: Millis| at <= end && at + BEFORE >= end;
    for (_, call) in facts
        .calls()
        .filter(|(at, call)| is_late(*at) && call.has_failed() && !was_allowed_later(facts, call))
    {
        let fault = call
            .fault
            .map(|index| format!(" by `faults[{index}]`"))
            .unwrap_or_default();
        let what = match call.status {
            0 if call.is_refused_connection() => {
                format!("connection to {} refused{fault}", call.service.word())
            }
            0 => format!("no response to {}{fault}", called(call)),
            status => format!("{status} for {}{fault}", called(call)),
        };
        match groups.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => groups.push((what, 1)),
        }
    }
    let words = groups.iter().rev().take(MOST).map(|(what, count)| match count {
        1 => what.clone(),
        count => format!("{count} times {what}"),
    });
    let words: Vec<String> = words.collect();
    match words.is_empty() {
        true => String::new(),
        false => format!("; failed requests before it: {}", words.join(", ")),
    }
}

fn called(call: &AwsCall) -> String {
    let stored = [Service::Ssm, Service::Secretsmanager, Service::S3];
    let name = call.subject.as_deref();
    let name = name.filter(|_| stored.iter().any(|service| call.service == *service));
    let name = name.map(|name| format!(" {name}")).unwrap_or_default();
    format!("{} {}{name}", call.service.word(), call.operation)
}
