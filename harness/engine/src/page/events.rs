//! The events of a scenario for the time axis of its page, read from its timelines.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use nodejoin_core::judge::verdict::Verdict;
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::observation::{
    Audit, AwsCall, Certificate, JournalLine, Millis, ObservedEvent, TimelineEntry,
};
use serde::Serialize;

/// Most events of one timeline on the page; the files have all of them.
const MOST: usize = 20_000;
/// Longest text of an event or of its details, in characters.
const LONGEST: usize = 8_000;
/// Units that run the user data.
const USER_DATA: [&str; 5] = [
    "cloud-init-local.service",
    "cloud-init.service",
    "cloud-config.service",
    "cloud-final.service",
    "nodejoin-user-data.service",
];

/// One timeline: a join, or a step after it.
#[derive(Debug, Serialize)]
pub(super) struct Series {
    name: String,
    phases: Vec<(&'static str, Millis)>,
    pub(super) events: Vec<ShownEvent>,
    /// Number of further events.
    left: usize,
}

/// An event, with the short keys that the script of the page reads.
#[derive(Debug, Serialize)]
pub(super) struct ShownEvent {
    /// Time in milliseconds.
    t: Millis,
    /// Row of the time axis.
    l: u8,
    /// Source.
    s: String,
    /// Text.
    m: String,
    /// Whether it reports a failure.
    #[serde(skip_serializing_if = "is_false")]
    e: bool,
    /// Details, as indented JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    d: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The timelines in a folder, and in those of its nodes if it has several.
pub(super) fn series(folder: &Path, verdict: &Verdict) -> Vec<Series> {
    let mut all = of_node(folder, "", verdict);
    let Ok(entries) = fs::read_dir(folder) else {
        return all;
    };
    let mut nodes: Vec<_> = entries.filter_map(Result::ok).collect();
    nodes.sort_by_key(fs::DirEntry::file_name);
    for node in nodes {
        let text = fs::read_to_string(node.path().join("verdict.json")).unwrap_or_default();
        if let Ok(verdict) = serde_json::from_str::<Verdict>(&text) {
            let name = format!("{}: ", node.file_name().to_string_lossy());
            all.extend(of_node(&node.path(), &name, &verdict));
        }
    }
    all
}

fn of_node(folder: &Path, prefix: &str, verdict: &Verdict) -> Vec<Series> {
    let join = read(
        &folder.join("timeline.ndjson"),
        format!("{prefix}join"),
        &verdict.phases,
    );
    let steps = (0..).map_while(|step| {
        let path = folder.join(format!("timeline-then-{step}.ndjson"));
        let part = verdict.parts.get(step);
        let name = part.map_or_else(|| format!("step {step}"), |part| part.name.clone());
        let none = BTreeMap::new();
        let phases = part.map_or(&none, |part| &part.phases);
        read(&path, format!("{prefix}{name}"), phases)
    });
    join.into_iter().chain(steps).collect()
}

fn read(path: &Path, name: String, phases: &BTreeMap<Phase, Millis>) -> Option<Series> {
    let text = fs::read_to_string(path).ok()?;
    let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut entries: Vec<TimelineEntry> = lines.collect();
    entries.sort_by_key(|entry| entry.at);
    let mut phases: Vec<_> = phases.iter().map(|(phase, at)| (phase.word(), *at)).collect();
    phases.sort_by_key(|(_, at)| *at);
    Some(Series {
        name,
        phases,
        left: entries.len().saturating_sub(MOST),
        events: entries.iter().take(MOST).map(shown).collect(),
    })
}

fn shown(entry: &TimelineEntry) -> ShownEvent {
    let (l, s, m, e) = match &entry.what {
        ObservedEvent::Aws(call) => (1, call.service.word(), aws(call), call.status >= 400),
        ObservedEvent::Dns(query) => {
            let answer = match (query.answered, query.fault) {
                (true, _) => String::new(),
                (false, None) => ": unknown name".to_owned(),
                (false, Some(index)) => format!(": failed by dns_faults[{index}]"),
            };
            (
                1,
                "dns",
                format!("{} {}{answer}", query.record, query.name),
                !query.answered,
            )
        }
        ObservedEvent::Authentication(token) => match token.rejection() {
            None => (
                2,
                "token",
                format!("accepted as {}", token.username().unwrap_or_default()),
                false,
            ),
            Some(rejection) => (2, "token", format!("refused: {rejection}"), true),
        },
        ObservedEvent::Audit(audit) => (2, "audit", audited(audit), audit.code >= 400),
        ObservedEvent::Mapping(write) => {
            let added = write.added.join(", ");
            (
                2,
                "aws-auth",
                format!("{} {}: {added}", write.username, write.verb),
                false,
            )
        }
        ObservedEvent::Node(change) => {
            let state = match (change.exists, change.ready) {
                (false, _) => "deleted",
                (true, false) => "not ready",
                (true, true) => "ready",
            };
            (2, "node", format!("{}: {state}", change.name), !change.exists)
        }
        ObservedEvent::Certificate(certificate) => (
            2,
            "certificate",
            certified(certificate),
            certificate.approved == Some(false),
        ),
        ObservedEvent::Journal(line) => (lane(line), source(line), line.message.clone(), false),
        ObservedEvent::Isolated => (
            0,
            "harness",
            "the metadata address is that of this run".to_owned(),
            false,
        ),
        ObservedEvent::Rebooted => (
            0,
            "harness",
            "the user data rebooted the instance".to_owned(),
            false,
        ),
        ObservedEvent::ContainerExited { code, lines } => {
            let text = format!("the container exited with {code}\n{}", lines.join("\n"));
            (0, "harness", text.trim_end().to_owned(), true)
        }
    };
    let has_details = !matches!(
        entry.what,
        ObservedEvent::Journal(_)
            | ObservedEvent::Dns(_)
            | ObservedEvent::Isolated
            | ObservedEvent::Rebooted
            | ObservedEvent::ContainerExited { .. }
    );
    let details = has_details.then(|| serde_json::to_string_pretty(&entry.what).unwrap_or_default());
    ShownEvent {
        t: entry.at,
        l,
        s: s.to_owned(),
        m: cut(&m),
        e,
        d: details.map(|text| cut(&text)),
    }
}

fn aws(call: &AwsCall) -> String {
    let path = if call.operation.is_empty() {
        &call.path
    } else {
        &call.operation
    };
    let error = [&call.error, &call.message].map(|text| text.as_deref());
    let error: Vec<&str> = error.into_iter().flatten().collect();
    format!("{} {path} {} {}", call.method, call.status, error.join(": "))
        .trim_end()
        .to_owned()
}

fn audited(audit: &Audit) -> String {
    let name = audit.name.as_deref().unwrap_or_default();
    let message = audit.message.as_deref().unwrap_or_default();
    format!(
        "{} {}/{name} {} {message}",
        audit.verb, audit.resource, audit.code
    )
    .trim_end()
    .to_owned()
}

fn certified(certificate: &Certificate) -> String {
    let state = match (certificate.issued, certificate.approved) {
        (true, _) => "issued",
        (false, Some(true)) => "approved",
        (false, Some(false)) => "denied",
        (false, None) => "requested",
    };
    let decision = certificate.decision.as_deref().unwrap_or_default();
    format!("{} {} {state} {decision}", certificate.name, certificate.signer)
        .trim_end()
        .to_owned()
}

fn lane(line: &JournalLine) -> u8 {
    let is_user_data = line.unit.as_deref().is_some_and(|unit| USER_DATA.contains(&unit));
    if is_user_data && !line.by_systemd { 4 } else { 3 }
}

fn source(line: &JournalLine) -> &str {
    line.command
        .as_deref()
        .or(line.unit.as_deref())
        .unwrap_or("journal")
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text.to_owned(),
    }
}
