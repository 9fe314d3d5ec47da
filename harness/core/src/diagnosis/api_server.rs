//! The log of the kubelet about the API server: one that it does not trust, or does not reach.

use super::facts::{Evidence, Facts, between, seconds};
use super::kubelet::line_with;
use super::other_cluster;
use super::outside;
use super::types::Finding;
use crate::observation::JournalLine;
use crate::observation::phases::is_start_of_kubelet;
use crate::plan::CaChoice;
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// What Go's TLS client reports about a certificate of another CA.
const DISTRUST: &str = "x509: certificate signed by unknown authority";
/// The CA of the cluster on the EKS AMIs.
const AUTHORITY_FILE: &str = "/etc/kubernetes/pki/ca.crt";

/// The kubelet has the CA of another cluster.
pub(super) fn wrong_certificate_authority(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Authenticated) {
        return None;
    }
    let host = facts.plan.cluster.endpoint_host(&facts.plan.region);
    let is_about_api = |line: &JournalLine| {
        line.message.contains(&host)
            || ["Unable to register node", "ailed to list", "leases"]
                .iter()
                .any(|word| line.message.contains(word))
    };
    let is_distrust = |line: &JournalLine| line.message.contains(DISTRUST);
    let (at, line) = facts
        .kubelet()
        .find(|(_, line)| is_distrust(line) && is_about_api(line) && !is_to_outside(facts, line))?;
    let because = format!(
        "the kubelet does not trust the API server at {host}: the kubelet's CA did not sign its certificate"
    );
    let remedy = match facts.plan.cluster.certificate_authority {
        CaChoice::Other => {
            "pass the CA of this cluster to the script: `cluster.certificate_authority: own` in the scenario"
                .to_owned()
        }
        CaChoice::Own => format!(
            "pass the CA that DescribeCluster returns for `{}` to the script",
            facts.plan.cluster.name
        ),
    };
    if let Some(evidence) = other_cluster::certificate_authority(facts, at) {
        let because = format!("{because}; the user data contains the CA of another cluster");
        let remedy = format!(
            "pass `{{{{ cluster.certificate_authority }}}}`, or set `replace: cluster` below `user_data`; {}",
            other_cluster::WAY_OUT
        );
        return facts.final_(Cause::WrongCertificateAuthority, because, &evidence, remedy);
    }
    facts.final_(
        Cause::WrongCertificateAuthority,
        because,
        &Evidence::journal(at, line),
        remedy,
    )
}

/// Whether a line is about an endpoint at a name outside, where the fakes are in place of an API server.
fn is_to_outside(facts: &Facts<'_>, line: &JournalLine) -> bool {
    let host = between(&line.message, "https://", &['/', '"', ' ', ':', '\\']);
    host.is_some_and(|host| outside::is_unknown_name(facts, host))
}

/// A kubelet that the user data started again does not trust the API server that the kubelet before it trusted.
pub(super) fn authority_changed(facts: &Facts<'_>) -> Option<Finding> {
    let changed = changed_authority(facts)?;
    facts.final_(
        Cause::WrongCertificateAuthority,
        changed.because,
        &changed.evidence,
        changed.remedy,
    )
}

/// A CA of the kubelet that changed after the API server had accepted the node.
pub(super) struct ChangedAuthority {
    pub(super) because: String,
    pub(super) evidence: Evidence,
    pub(super) remedy: String,
}

pub(super) fn changed_authority(facts: &Facts<'_>) -> Option<ChangedAuthority> {
    let starts = facts
        .systemd_of_kubelet()
        .filter(|(_, line)| is_start_of_kubelet(line));
    let (started, _) = starts.last()?;
    facts.since(Phase::Authenticated).filter(|at| *at < started)?;
    let mut lines = facts.kubelet().filter(|(at, _)| *at >= started);
    let (at, line) = lines.find(|(_, line)| line.message.contains(DISTRUST))?;
    let host = between(&line.message, "https://", &['/', '"', ' ', '\\']).unwrap_or("the API server");
    let config = kubeconfig(facts);
    let because = format!(
        "the kubelet started again after {} s and does not trust the API server any more: {AUTHORITY_FILE} changed and is not the \
         CA of {host}, the endpoint in {config}",
        seconds(started)
    );
    let remedy = format!(
        "pass endpoint and CA of the same cluster each time: the last run of the bootstrap script writes {AUTHORITY_FILE} and {config}"
    );
    let evidence = Evidence::journal(at, line);
    Some(ChangedAuthority {
        because,
        evidence,
        remedy,
    })
}

/// The path that the running kubelet has in `--kubeconfig`.
fn kubeconfig<'a>(facts: &Facts<'a>) -> &'a str {
    let collected = facts.observation.collected.as_ref();
    let argv = collected.and_then(|collected| collected.kubelet_argv.as_deref());
    let argv = argv.unwrap_or_default();
    let joined = argv.iter().find_map(|word| word.strip_prefix("--kubeconfig="));
    let next = || argv.windows(2).find(|pair| pair[0] == "--kubeconfig");
    joined
        .or_else(|| Some(next()?[1].as_str()))
        .unwrap_or("/var/lib/kubelet/kubeconfig")
}

/// A request of the kubelet timed out in the API server because the host is too slow. This says nothing about the node.
pub(super) fn api_server_times_out(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Registered) {
        return None;
    }
    let (at, line) = line_with(
        facts,
        &["the server was unable to return a response in the time allotted"],
    )?;
    let because = "the API server did not respond to the kubelet within its timeout of 60 s: the host that runs nodejoin is too slow or \
                   too busy"
        .to_owned();
    let remedy =
        "run fewer nodes at once (`--jobs 1`) and reduce the load of the host; nodejoin cannot change this timeout"
            .to_owned();
    facts.found(Cause::HostLimit, because, &Evidence::journal(at, line), remedy)
}

/// The kubelet cannot connect to the API server.
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
            .any(|word| line.message.contains(word))
    };
    let word_of = |line: &JournalLine| {
        let mut words = WORDS.iter().copied();
        let word = words.find(|word| line.message.contains(word));
        word.or_else(|| is_to_outside(facts, line).then_some("no cluster of this run has this name"))
    };
    let mut lines = facts.kubelet().filter(|(_, line)| is_about_api(line));
    let (at, line, word) = lines.find_map(|(at, line)| Some((at, line, word_of(line)?)))?;
    // A server without `https://` in a kubeconfig is one of HTTP.
    let after = |scheme| between(&line.message, scheme, &['/', '"', ' ']);
    let endpoint = after("https://").or_else(|| after("http://"));
    let endpoint = endpoint.unwrap_or("the API server");
    let endpoint = endpoint.strip_suffix(":443").unwrap_or(endpoint);
    let host = facts.plan.cluster.endpoint_host(&facts.plan.region);
    let without_scheme = line.message.contains(&format!("http://{endpoint}"));
    let how = if without_scheme { " over HTTP" } else { "" };
    let because = format!("the kubelet cannot connect to {endpoint}{how}: {word}");
    let wrong_port = wrong_port(endpoint, &host);
    let of_another = || other_cluster::endpoint(facts, endpoint, at);
    if let Some(evidence) = wrong_port.is_none().then(of_another).flatten() {
        let because = format!("{because}; the user data contains the endpoint of another cluster");
        let remedy = other_cluster::remedy_for_endpoint(endpoint);
        return facts.final_(Cause::EndpointUnreachable, because, &evidence, remedy);
    }
    let passes_it = facts
        .user_data_text()
        .is_some_and(|text| text.contains(host.as_str()));
    let remedy = if endpoint == host && without_scheme {
        format!("pass the endpoint with `https://`: https://{host}")
    } else if endpoint == host {
        "check in the evidence folder whether the control plane still runs".to_owned()
    } else if let Some(port) = wrong_port {
        format!("pass the endpoint without `:{port}`: https://{host}; API servers of EKS listen on port 443")
    } else if passes_it || !endpoint.contains('.') {
        format!(
            "correct `server` in the kubelet's kubeconfig (/var/lib/kubelet/kubeconfig), or the template from which it is made: \
             the endpoint of `{}` is https://{host}",
            facts.plan.cluster.name
        )
    } else {
        format!(
            "the endpoint of `{}` is https://{host}: pass it to the script",
            facts.plan.cluster.name
        )
    };
    let evidence = Evidence::journal(at, line);
    // No API server ever answers there: the kubelet keeps its kubeconfig.
    match without_scheme || wrong_port.is_some() || is_to_outside(facts, line) {
        true => facts.final_(Cause::EndpointUnreachable, because, &evidence, remedy),
        false => facts.found(Cause::EndpointUnreachable, because, &evidence, remedy),
    }
}

/// The port of this endpoint, if its host is that of the cluster: the endpoint itself has port 443.
fn wrong_port<'e>(endpoint: &'e str, host: &str) -> Option<&'e str> {
    endpoint.strip_prefix(host)?.strip_prefix(':')
}
