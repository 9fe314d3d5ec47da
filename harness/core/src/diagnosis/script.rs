//! While the script runs: its AWS calls, its own end, and a kubelet that it never started.

use super::Finding;
use super::facts::{Evidence, Facts, between, complains, names};
use crate::diagnosis::Cause;
use crate::observation::phase::Phase;
use crate::observation::{AwsCall, CalledService, JournalLine, Millis};
use crate::plan::fault::Service;

/// AWS refused a call for want of permission, and never allowed it.
pub(super) fn access_denied(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Authenticated) {
        return None;
    }
    let (at, call) = facts
        .calls()
        .find(|(_, call)| is_denied(call) && !was_allowed_later(facts, call))?;
    let role = facts
        .plan
        .role
        .as_ref()
        .map_or("the instance has no role, and nobody", |role| role.name.as_str());
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
             to the script, which then need not ask"
        ),
        _ => format!("allow {action} in the policy of the role"),
    };
    facts.found(Cause::AccessDenied, because, &Evidence::call(at, call), remedy)
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
            && call.operation == denied.operation
            && (200..300).contains(&call.status)
    })
}

/// EKS described no cluster, for another reason than permission; or one that is not active.
pub(super) fn describe_failed(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let is_describe = |call: &AwsCall| call.service == Service::Eks && call.operation == "DescribeCluster";
    let (at, call) = facts.calls().filter(|(_, call)| is_describe(call)).last()?;
    let evidence = Evidence::call(at, call);
    let own = &facts.plan.cluster.name;
    let asked = call.subject.as_deref().unwrap_or(own);
    if call.error.as_deref() == Some("ResourceNotFoundException") {
        let because = format!(
            "there is no cluster `{asked}` in {}; the account has `{own}`",
            facts.plan.region
        );
        let remedy = format!("pass `{own}` to the bootstrap script (`{{{{ cluster.name }}}}` in a scenario)");
        return facts.found(Cause::DescribeFailed, because, &evidence, remedy);
    }
    if !(200..300).contains(&call.status) {
        let error = call.error.as_deref().unwrap_or("no answer");
        let because = format!("EKS did not describe `{asked}`: {error}");
        let remedy = match call.fault {
            Some(index) => format!(
                "`faults[{index}]` of this scenario makes it so; a script that must live with it has to try again"
            ),
            None => "see the transcript of AWS calls".to_owned(),
        };
        return facts.found(Cause::DescribeFailed, because, &evidence, remedy);
    }
    let status = status_at(facts, at).filter(|status| *status != "ACTIVE")?;
    let because = format!("the cluster `{asked}` is {status}, and the script waits for it to become ACTIVE");
    let remedy = "wait for the cluster before instances are started".to_owned();
    facts.found(Cause::DescribeFailed, because, &evidence, remedy)
}

/// What DescribeCluster says at a time.
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

/// User data, or a script in it, ended with an error before the kubelet was started.
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
        failed.map(|(part, code)| format!("{part} with {code}")).collect()
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
    let words = last_words(facts, evidence.at);
    let last = words
        .as_ref()
        .map(|words| format!("; its last words: {}", words.text()))
        .unwrap_or_default();
    let because = format!("the user data ended with an error ({which}) before it started the kubelet{last}");
    let line = words.as_ref().and_then(LastWords::line_number);
    let line = line.map_or("the line that failed".to_owned(), |line| {
        format!("what stands in line {line} of the script")
    });
    let remedy = format!("run {line} by hand in the node (`nodejoin run --keep` leaves it standing)");
    let evidence = words.map_or(evidence, |words| Evidence::journal(words.at, words.told));
    facts.final_(Cause::ScriptFailed, because, &evidence, remedy)
}

fn is_failure(line: &JournalLine) -> bool {
    const WORDS: [&str; 3] = [
        "Failed to run module scripts",
        "Runparts: ",
        "Failed running /var/lib/cloud",
    ];
    if line.by_systemd {
        return line
            .unit
            .as_deref()
            .is_some_and(|unit| unit.contains("user-data"))
            && line.message.contains("Failed with result");
    }
    let is_failure = WORDS.iter().any(|word| line.message.contains(word));
    is_failure && (!line.message.contains("Runparts: ") || line.message.contains("failures"))
}

/// What a script printed last.
struct LastWords<'a> {
    at: Millis,
    /// The line that tells most.
    told: &'a JournalLine,
    /// Where the script's own trap says only in which line it ended.
    trap: Option<&'a JournalLine>,
}

impl LastWords<'_> {
    fn text(&self) -> String {
        let told = shortened(self.told.message.trim());
        match self.trap {
            Some(trap) => format!("{told} ({})", trap.message.trim()),
            None => told,
        }
    }

    fn line_number(&self) -> Option<&str> {
        let said = &self.trap.unwrap_or(self.told).message;
        let number = between(said, "line ", &[' ', ':', '\n'])?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then_some(number)
    }
}

/// Pages and documents that a script prints are no sentence.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ...", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// A trap of a script tells where, and what came before it tells why.
fn is_trap(line: &JournalLine) -> bool {
    ["Exited with error on line", " ended with status"]
        .iter()
        .any(|words| line.message.contains(words))
}

/// The last lines that a script printed before `at`: neither systemd's nor cloud-init's own.
fn last_words<'a>(facts: &Facts<'a>, at: Millis) -> Option<LastWords<'a>> {
    /// How far before a trap its reason may stand.
    const BEFORE: usize = 4;
    let is_own = |line: &JournalLine| {
        let is_cloud_init = [".py[", "Cloud-init v."]
            .iter()
            .any(|mark| line.message.contains(mark));
        !line.by_systemd && !is_cloud_init && !is_failure(line) && !line.message.trim().is_empty()
    };
    let lines: Vec<(Millis, &JournalLine)> = facts
        .user_data_lines()
        .filter(|(time, line)| *time <= at && is_own(line))
        .collect();
    let (last, before) = lines.split_last()?;
    let before: Vec<_> = before
        .iter()
        .rev()
        .take(BEFORE)
        .filter(|(_, line)| !is_trap(line))
        .collect();
    let why = before
        .iter()
        .find(|(_, line)| complains(line))
        .or(before.first())
        .filter(|_| is_trap(last.1));
    Some(match why {
        Some((at, told)) => LastWords {
            at: *at,
            told,
            trap: Some(last.1),
        },
        None => LastWords {
            at: last.0,
            told: last.1,
            trap: None,
        },
    })
}

/// User data is done, and systemd never came to start the kubelet.
pub(super) fn kubelet_never_started(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::KubeletStarted) {
        return None;
    }
    dependency_failed(facts)
        .or_else(|| pre_command_failed(facts))
        .or_else(|| nothing_started_it(facts))
}

fn dependency_failed(facts: &Facts<'_>) -> Option<Finding> {
    let (at, line) = facts
        .systemd_of_kubelet()
        .find(|(_, line)| line.message.starts_with("Dependency failed for"))?;
    let failed: Vec<&str> = facts
        .journal()
        .filter(|(time, line)| *time <= at && line.by_systemd && line.message.contains("Failed with result"))
        .filter_map(|(_, line)| line.unit.as_deref())
        .collect();
    let because = format!("a unit that the kubelet's needs failed: {}", names(&failed));
    let remedy = match failed.as_slice() {
        [] => "see `systemctl list-dependencies kubelet` in the node".to_owned(),
        [first, ..] => format!("see the journal of {first} in the evidence folder"),
    };
    facts.final_(
        Cause::KubeletNeverStarted,
        because,
        &Evidence::journal(at, line),
        remedy,
    )
}

fn pre_command_failed(facts: &Facts<'_>) -> Option<Finding> {
    let (at, line) = facts
        .systemd_of_kubelet()
        .find(|(_, line)| line.message.contains("Control process exited"))?;
    let because = "an `ExecStartPre=` command of the kubelet's unit failed".to_owned();
    let remedy = "see the kubelet's journal in the evidence folder for what the command said".to_owned();
    facts.found(
        Cause::KubeletNeverStarted,
        because,
        &Evidence::journal(at, line),
        remedy,
    )
}

fn nothing_started_it(facts: &Facts<'_>) -> Option<Finding> {
    let done = facts.user_data_done.filter(|_| !facts.has(Phase::Configured))?;
    let (at, line) = facts.user_data_lines().find(|(at, _)| *at == done)?;
    let because = "the user data is done, and nothing told systemd to start the kubelet".to_owned();
    let script = facts
        .user_data_text()
        .is_some_and(|text| text.contains("bootstrap.sh"));
    let remedy = if script {
        "see what the script printed (user-data output in the evidence folder): it ended well and did nothing"
    } else {
        "call the bootstrap script in the user data: /etc/eks/bootstrap.sh CLUSTER"
    };
    facts.final_(
        Cause::KubeletNeverStarted,
        because,
        &Evidence::journal(at, line),
        remedy.to_owned(),
    )
}
