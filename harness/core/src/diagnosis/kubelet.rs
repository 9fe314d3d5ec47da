//! What the kubelet says: flags it refuses, an API server it does not trust or reach, and its own end.

use super::Finding;
use super::facts::{Evidence, Facts, between, names, sentence};
use super::versions;
use crate::diagnosis::Cause;
use crate::observation::phase::Phase;
use crate::observation::{JournalLine, Millis};
use crate::plan::CaChoice;

fn said<'a>(facts: &Facts<'a>, words: &[&str]) -> Option<(Millis, &'a JournalLine)> {
    facts
        .kubelet()
        .find(|(_, line)| words.iter().any(|word| line.message.contains(word)))
}

/// A label that a kubelet may not give itself, or that is none.
pub(super) fn label_refused(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Authenticated) {
        return None;
    }
    let (at, line) = said(
        facts,
        &["labels specified with --node-labels", "invalid node labels"],
    )?;
    let label = between(&line.message, "--node-labels: [", &[']'])
        .or_else(|| between(&line.message, "node labels: ", &['\n']));
    let label = label.unwrap_or("of --node-labels");
    let because = format!("the kubelet refuses the label {label} on its command line and ends");
    let remedy = format!(
        "take {label} out of --node-labels; use a domain of your own or `node.kubernetes.io/`, and set labels like \
         node-role.kubernetes.io from the control plane: kubectl label node"
    );
    facts.final_(Cause::LabelRefused, because, &Evidence::journal(at, line), remedy)
}

/// A taint that the kubelet cannot read.
pub(super) fn taint_invalid(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Authenticated) {
        return None;
    }
    let words = [
        "invalid taint spec",
        "unsupported taint effect",
        "invalid taint effect",
        "duplicated taints",
    ];
    let (at, line) = said(facts, &words)?;
    let spec = between(&line.message, "invalid taint spec: ", &['\n', ',', ' ']);
    let spec = spec
        .or_else(|| between(&line.message, "invalid argument \"", &['"']))
        .unwrap_or("of --register-with-taints");
    let because = format!("the kubelet cannot read the taint {spec} and ends");
    let example = if spec.contains(':') || spec.contains(' ') {
        "key=value:NoSchedule".to_owned()
    } else {
        format!("{spec}:NoSchedule")
    };
    let remedy = format!(
        "write the taint with one of the effects NoSchedule, PreferNoSchedule and NoExecute, such as {example}"
    );
    facts.final_(Cause::TaintInvalid, because, &Evidence::journal(at, line), remedy)
}

/// The kubelet was given the CA of something else.
pub(super) fn wrong_certificate_authority(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Authenticated) {
        return None;
    }
    let host = facts.plan.cluster.endpoint_host(&facts.plan.region);
    let is_about_api = |line: &JournalLine| {
        line.message.contains(&host)
            || ["Unable to register node", "ailed to list", "leases"]
                .iter()
                .any(|w| line.message.contains(w))
    };
    let is_distrust = |line: &JournalLine| {
        line.message
            .contains("x509: certificate signed by unknown authority")
    };
    let (at, line) = facts
        .kubelet()
        .find(|(_, line)| is_distrust(line) && is_about_api(line))?;
    let because = format!(
        "the kubelet does not trust the API server at {host}: the CA it was given did not sign its certificate"
    );
    let remedy = match facts.plan.cluster.certificate_authority {
        CaChoice::Other => {
            "give the script the CA of this cluster: `cluster.certificate_authority: own` in the scenario"
                .to_owned()
        }
        CaChoice::Own => format!(
            "give the script the CA that DescribeCluster tells for `{}`",
            facts.plan.cluster.name
        ),
    };
    facts.final_(
        Cause::WrongCertificateAuthority,
        because,
        &Evidence::journal(at, line),
        remedy,
    )
}

/// The API server of the harness gives up on what the kubelet asks: a host that is too slow for it says nothing of the node.
pub(super) fn api_server_times_out(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Registered) {
        return None;
    }
    let (at, line) = said(
        facts,
        &["the server was unable to return a response in the time allotted"],
    )?;
    let because = "the API server did not answer the kubelet within its own 60 s: the host that runs nodejoin is too slow, or \
                   too busy, for it"
        .to_owned();
    let remedy =
        "let fewer nodes run at once (`--jobs 1`), and give the host less else to do; no limit of nodejoin changes the API server's"
            .to_owned();
    facts.found(Cause::HostLimit, because, &Evidence::journal(at, line), remedy)
}

/// The kubelet does not get through to the API server.
pub(super) fn endpoint_unreachable(facts: &Facts<'_>) -> Option<Finding> {
    const WORDS: [&str; 5] = [
        "connection refused",
        "no such host",
        "i/o timeout",
        "no route to host",
        "network is unreachable",
    ];
    if !facts.is_before(Phase::Authenticated) {
        return None;
    }
    let is_about_api = |line: &JournalLine| {
        ["Unable to register node", "ailed to list", "leases"]
            .iter()
            .any(|w| line.message.contains(w))
    };
    let (at, line) = facts
        .kubelet()
        .find(|(_, line)| is_about_api(line) && WORDS.iter().any(|word| line.message.contains(word)))?;
    let word = WORDS
        .iter()
        .find(|word| line.message.contains(**word))
        .copied()
        .unwrap_or_default();
    let asked = between(&line.message, "https://", &['/', '"', ' ']).unwrap_or("the API server");
    let host = facts.plan.cluster.endpoint_host(&facts.plan.region);
    let because = format!("the kubelet cannot reach {asked}: {word}");
    let remedy = if asked == host {
        "see in the evidence folder whether the control plane still runs".to_owned()
    } else {
        format!(
            "the endpoint of `{}` is https://{host}: pass it to the script",
            facts.plan.cluster.name
        )
    };
    facts.found(
        Cause::EndpointUnreachable,
        because,
        &Evidence::journal(at, line),
        remedy,
    )
}

/// The kubelet ends by itself, and nothing more specific was found.
pub(super) fn exits(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Registered) {
        return None;
    }
    let ends = || {
        facts
            .systemd_of_kubelet()
            .filter(|(_, line)| line.message.contains("Main process exited"))
    };
    let (at, end) = ends().next()?;
    let status = between(&end.message, "status=", &['/', ' ', ',']).unwrap_or("an error");
    let last = last_words(facts, at);
    let evidence = last.map_or_else(
        || Evidence::journal(at, end),
        |(at, line)| Evidence::journal(at, line),
    );
    let said = last
        .map(|(_, line)| format!(": {}", sentence(&line.message)))
        .unwrap_or_default();
    let count = ends().count();
    let because = format!("the kubelet ended with {status}, {} so far{said}", times(count));
    let remedy = remedy_of(
        facts,
        last.map(|(_, line)| line.message.as_str()).unwrap_or_default(),
    );
    let finding = facts.found(Cause::KubeletExits, because, &evidence, remedy)?;
    // The first end may come before something that the kubelet needs is there; the third does not.
    Some(Finding {
        is_final: count >= 3,
        ..finding
    })
}

/// The first fatal line, else the last complaint before the kubelet's end. The journal may have systemd's line about the end
/// before the kubelet's own last one.
fn last_words<'a>(facts: &Facts<'a>, end: Millis) -> Option<(Millis, &'a JournalLine)> {
    let fatal = facts.kubelet().find(|(_, line)| is_klog(line, &['F']));
    fatal.or_else(|| {
        facts
            .kubelet()
            .filter(|(at, line)| *at <= end && is_complaint(line))
            .last()
    })
}

fn times(count: usize) -> String {
    if count == 1 {
        "once".to_owned()
    } else {
        format!("{count} times")
    }
}

fn is_klog(line: &JournalLine, severities: &[char]) -> bool {
    let digits = line.message.strip_prefix(severities);
    digits.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// klog's error lines, and what a flag library prints; not the usage text that follows it.
fn is_complaint(line: &JournalLine) -> bool {
    const WORDS: [&str; 4] = ["Error:", "unknown flag", "invalid argument", "failed to "];
    is_klog(line, &['E']) || WORDS.iter().any(|word| line.message.contains(word))
}

fn remedy_of(facts: &Facts<'_>, message: &str) -> String {
    let tags: Vec<&String> = facts
        .plan
        .instance
        .tags
        .keys()
        .filter(|key| key.starts_with("kubernetes.io/cluster/"))
        .collect();
    if message.contains("multiple cluster tags") {
        return format!("leave one of the instance's tags {}", names(&tags));
    }
    if message.contains("failed to find ClusterID") {
        return format!(
            "tag the instance with kubernetes.io/cluster/{}=owned",
            facts.plan.cluster.name
        );
    }
    if let Some(remedy) = versions::remedy(&facts.observation.kubelet, message) {
        return remedy;
    }
    if message.contains("failed to get docker version") {
        return "let the script start docker, or pass `--container-runtime=remote` to the kubelet: before 1.24 it takes docker for \
                its runtime, whatever `--container-runtime-endpoint` says"
            .to_owned();
    }
    if message.contains("unable to load client CA file") {
        let file = between(message, "client CA file ", &[':', ' ']).unwrap_or("that file");
        return format!(
            "let the script write the cluster's CA as PEM into {file}: it comes in base64 and has to be decoded once"
        );
    }
    if message.contains("invalid kernel flag") {
        return "set the kernel's values that `protectKernelDefaults` wants, or let the harness give the node its own".to_owned();
    }
    "see the kubelet's journal and its arguments in the evidence folder".to_owned()
}
