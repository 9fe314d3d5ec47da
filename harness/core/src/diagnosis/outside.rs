//! Requests to hosts outside that the scenario does not answer. The node refuses them at once, so that a script which
//! needs one ends soon after it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::facts::{Evidence, Facts};
use super::script_output::{is_before_end, is_by_script, is_complaint, is_failure, lines_before_the_end};
use super::types::Finding;
use super::unanswered::{WAITING, is_about};
use crate::observation::{AwsCall, CalledService, JournalLine, Millis, ObservedEvent};
use crate::plan::{Network, Plan};
use crate::user_data::{TlsProxy, http_proxies, tls_proxies};
use crate::vocabulary::cause::Cause;
use crate::vocabulary::http_proxy::HttpProxyUrl;
use crate::vocabulary::phase::Phase;

/// What clients print about a connection that closes without a response. Few of them name the host.
const CLOSED: [&str; 7] = [
    // curl, by the library and its version.
    "Empty reply from server",
    "unexpected eof while reading",
    "Connection reset by peer",
    // wget, with OpenSSL and with GnuTLS.
    "No data received",
    "non-properly terminated",
    // Python and Node.js.
    "Remote end closed connection without response",
    "socket hang up",
];

/// What clients print about an HTTP proxy that they do not reach.
const UNREACHED: [&str; 7] = [
    // curl.
    "resolve proxy",
    "Failed to connect to",
    // wget.
    "failed:",
    // botocore.
    "connect to proxy",
    // Go.
    "proxyconnect",
    "Connection refused",
    "No route to host",
];

/// What clients print about a certificate of an authority that they do not know.
const UNTRUSTED: [&str; 8] = [
    // Python and curl, by the version of OpenSSL.
    "CERTIFICATE_VERIFY_FAILED",
    "unable to get local issuer certificate",
    "self-signed certificate in certificate chain",
    "self signed certificate in certificate chain",
    // Go, Node.js, Java and rustls.
    "certificate signed by unknown authority",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    "PKIX path building failed",
    "invalid peer certificate: UnknownIssuer",
];

/// What programs print about the request whose certificate they refused.
const HANDSHAKE: [&str; 4] = [
    "Could not fetch URL",
    "Could not find a version",
    "No matching distribution",
    "certificate verif",
];

/// Lines that a script prints about a failed request before it ends. After more, it has continued without the request.
const WORDS_OF_AN_END: usize = 3;

/// A program does not reach an HTTP proxy of the user data, and the scenario has none.
pub(super) fn missing_proxy(facts: &Facts<'_>) -> Option<Finding> {
    if facts.plan.http_proxy.is_some() || !facts.is_before(Phase::Registered) {
        return None;
    }
    let data = facts.plan.user_data.as_ref()?;
    let text = STANDARD.decode(&data.base64).ok()?;
    let proxies = http_proxies(&String::from_utf8_lossy(&text));
    let is_about_it = |line: &JournalLine, proxy: &HttpProxyUrl| {
        is_about(&line.message, proxy.host()) && UNREACHED.iter().any(|words| line.message.contains(words))
    };
    let (at, line, proxy) = facts.journal().find_map(|(at, line)| {
        let proxy = proxies.iter().find(|proxy| is_about_it(line, proxy))?;
        Some((at, line, proxy))
    })?;
    let because = format!("a limit of nodejoin, not an error of the script: it needs the HTTP proxy {proxy}");
    let remedy = facts.plan.key_hint(&format!("http_proxy: \"{proxy}\""));
    facts.found(Cause::HarnessLimit, because, &Evidence::journal(at, line), remedy)
}

/// A program sends its requests to a proxy of the user data that expects TLS.
pub(super) fn tls_proxy(facts: &Facts<'_>) -> Option<Finding> {
    if facts.plan.network == Network::Open || !facts.is_before(Phase::Registered) {
        return None;
    }
    let text = facts.user_data().unwrap_or_default();
    let proxies = tls_proxies(&String::from_utf8_lossy(&text));
    let is_about_it = |line: &JournalLine, proxy: &TlsProxy| {
        is_about(&line.message, proxy.host()) && UNREACHED.iter().any(|words| line.message.contains(words))
    };
    let of_line = || {
        facts.journal().find_map(|(at, line)| {
            let proxy = proxies.iter().find(|proxy| is_about_it(line, proxy))?;
            Some((Some(proxy), Evidence::journal(at, line)))
        })
    };
    let of_call = || {
        let (at, call) = facts.calls().find(|(_, call)| call.is_to_tls_proxy())?;
        Some((proxies.first(), Evidence::call(at, call)))
    };
    let (proxy, evidence) = of_call().or_else(of_line)?;
    let remedy = tls_proxy_remedy(facts.plan, proxy);
    let proxy = proxy.map_or_else(|| "a proxy".to_owned(), |proxy| format!("the proxy {proxy}"));
    let because = format!(
        "a limit of nodejoin, not an error of the user data: it needs {proxy}, to which programs speak TLS, and the \
         HTTP proxy of nodejoin speaks plain HTTP"
    );
    facts.found(Cause::HarnessLimit, because, &evidence, remedy)
}

/// A trial has the proxy of its user data; other scenarios name one.
fn tls_proxy_remedy(plan: &Plan, proxy: Option<&TlsProxy>) -> String {
    let write = "write `http://` in place of `https://` in the URL of the proxy for the test";
    let url = proxy.map_or_else(
        || "http://HOST:PORT".to_owned(),
        |proxy| proxy.without_tls().to_string(),
    );
    match plan.is_trial || plan.http_proxy.is_some() {
        true => write.to_owned(),
        false => format!(
            "{write}, and {}",
            plan.key_hint(&format!("http_proxy: \"{url}\""))
        ),
    }
}

/// Whether the node asked for a name that belongs to nothing in the scenario.
pub(super) fn is_unknown_name(facts: &Facts<'_>, name: &str) -> bool {
    let timeline = &facts.observation.timeline;
    timeline.iter().any(|seen| match &seen.what {
        ObservedEvent::Dns(query) => !query.answered && query.fault.is_none() && query.name == name,
        _ => false,
    })
}

/// The last lines of the script are about such a request.
pub(super) fn reported_request(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let lines = lines_before_the_end(facts);
    let (index, (at, call)) = lines.iter().enumerate().rev().find_map(|(index, (at, line))| {
        let before = facts
            .refused_outside()
            .filter(|(requested, _)| is_before_end(*requested, *at));
        let about: Vec<_> = before.filter(|(_, call)| is_report(line, call)).collect();
        Some((index, *about.last()?))
    })?;
    let continued = lines[index..].iter().any(|(_, line)| is_own_reason(line, call));
    (!continued).then(|| finding(facts, at, call)).flatten()
}

/// The script ended after such a request, or repeats it, and its output does not say why.
pub(super) fn unreported_request(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let (at, call) = facts.refused_outside().last()?;
    let repeated = facts
        .refused_outside()
        .filter(|(_, other)| other.operation == call.operation);
    let is_polled = facts.user_data_done.is_none() && repeated.count() >= WAITING;
    (is_polled || is_last_of_script(facts, at, call))
        .then(|| finding(facts, at, call))
        .flatten()
}

/// The script ended after a program that does not know the authority of the fakes' certificates.
pub(super) fn untrusted_authority(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Configured) {
        return None;
    }
    let lines = lines_before_the_end(facts);
    let endpoint = facts.plan.cluster.endpoint_host(&facts.plan.region);
    let is_untrusted = |line: &JournalLine| {
        let is_it = UNTRUSTED.iter().any(|words| line.message.contains(words));
        is_it && !is_about(&line.message, &endpoint)
    };
    let found = lines.iter().enumerate().rev();
    let (index, (at, line)) = found.into_iter().find(|(_, (_, line))| is_untrusted(line))?;
    let is_other = |(_, line): &(Millis, &JournalLine)| is_complaint(&line.message) && !is_untrusted(line);
    // What pip and others say of the request that failed.
    let names_request =
        |(_, line): &(Millis, &JournalLine)| HANDSHAKE.iter().any(|words| line.message.contains(words));
    if lines[index + 1..]
        .iter()
        .any(|line| is_other(line) && !names_request(line))
    {
        return None;
    }
    let is_in = |name: &str| is_about(&line.message, name);
    let named = facts.observation.queries().map(|(_, query)| &query.name);
    let host = named.filter(|name| is_in(name)).last();
    let host = host.map_or_else(|| "a host".to_owned(), ToString::to_string);
    let because = format!(
        "a limit of nodejoin, not an error of the script: the certificate of {host} is of an authority that the \
         system of the node trusts, and this program has its own authorities"
    );
    let remedy = "let the program use those of the system (`PIP_CERT` for pip, `REQUESTS_CA_BUNDLE` for requests, \
                  `NODE_EXTRA_CA_CERTS` for Node.js: /etc/ssl/certs/ca-certificates.crt on Debian, \
                  /etc/pki/tls/certs/ca-bundle.crt on Amazon Linux), or put what it downloads into the node with an \
                  overlay (`--overlay MANIFEST`)";
    facts.final_(
        Cause::HarnessLimit,
        because,
        &Evidence::journal(*at, line),
        remedy.to_owned(),
    )
}

/// Whether the script failed right after a request.
fn is_last_of_script(facts: &Facts<'_>, at: Millis, call: &AwsCall) -> bool {
    let has_failed = facts.user_data_lines().any(|(_, line)| is_failure(line));
    let mut others = facts.calls().filter(|(later, _)| *later > at);
    let is_last = others.all(|(_, other)| other.service == CalledService::Outside);
    let after = facts
        .user_data_lines()
        .filter(|(later, line)| *later > at && is_by_script(line));
    let after: Vec<&JournalLine> = after.map(|(_, line)| line).collect();
    has_failed
        && is_last
        && after.len() <= WORDS_OF_AN_END
        && !after.iter().any(|line| is_own_reason(line, call))
}

/// Whether a line is about a request that nothing answered.
fn is_report(line: &JournalLine, call: &AwsCall) -> bool {
    let message = &line.message;
    is_about(message, &call.host) || CLOSED.iter().any(|words| message.contains(words))
}

/// Whether a line names another reason for the end of the script than the request and the file that it lacks.
fn is_own_reason(line: &JournalLine, call: &AwsCall) -> bool {
    let file = call.path.rsplit('/').next().unwrap_or_default();
    let is_about_file = !file.is_empty() && line.message.contains(file);
    is_complaint(&line.message) && !is_report(line, call) && !is_about_file
}

fn finding(facts: &Facts<'_>, at: Millis, call: &AwsCall) -> Option<Finding> {
    let request = &call.operation;
    let because =
        format!("a limit of nodejoin, not an error of the script: it needs {request}, which is outside");
    let finding = facts.final_(
        Cause::HarnessLimit,
        because,
        &Evidence::call(at, call),
        remedy(facts, call),
    )?;
    // The same failure since the first of these requests: a script that polls does not start anew.
    let first = facts
        .refused_outside()
        .find(|(_, other)| other.operation == *request);
    Some(Finding {
        at: first.map_or(at, |(first, _)| first),
        ..finding
    })
}

fn remedy(facts: &Facts<'_>, call: &AwsCall) -> String {
    let answer = how_to_answer(facts.plan, call);
    let overlay = "put the file into the node with an overlay (`--overlay MANIFEST`)";
    match facts.plan.network {
        Network::Isolated => format!(
            "{answer}; or {overlay}; or {}",
            facts.plan.key_hint("network: open")
        ),
        Network::Open => {
            format!("{answer}; or {overlay}; or let the network of the container engine reach it")
        }
    }
}

/// How a scenario answers such a request.
pub(crate) fn how_to_answer(plan: &Plan, call: &AwsCall) -> String {
    if call.is_to_tls_proxy() {
        return tls_proxy_remedy(plan, None);
    }
    let url = call.operation.split_once(' ').map_or("URL", |(_, url)| url);
    // Only these methods read a file.
    match call.method.as_str() {
        "GET" | "HEAD" => plan.key_hint(&format!("outside: {{ \"{url}\": FILE }}")),
        method => {
            let request = format!("host: {}, method: {method}, path: {}", call.host, call.path);
            let key = format!("aws: {{ answers: [{{ {request}, body: TEXT }}] }}");
            plan.key_hint(&key)
        }
    }
}
