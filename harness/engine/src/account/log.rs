//! The log of a running account: a line for each request, and for each token review with its reason.

use std::fmt::Write as _;
use std::io::Write;
use std::time::SystemTime;

use nodejoin_cluster::{ClusterEvent, ClusterFact};
use nodejoin_core::observation::{Authentication, AuthenticationOutcome, AwsCall, ObservedEvent};
use nodejoin_fake_aws::{AwsEvent, AwsEventKind};
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::sync::mpsc;

/// The destination and format of the log.
pub enum LogTarget {
    /// Text for people.
    Text(Box<dyn Write + Send>),
    /// One JSON object per line.
    Json(Box<dyn Write + Send>),
}

/// Writes lines until both senders are dropped. A failed write stops the log, not the account.
pub(super) async fn write(
    mut to: LogTarget,
    mut aws: mpsc::UnboundedReceiver<AwsEvent>,
    mut cluster: mpsc::UnboundedReceiver<ClusterEvent>,
) {
    loop {
        let (at, what) = tokio::select! {
            Some(event) = aws.recv() => (event.at, from_aws(event.what)),
            Some(event) = cluster.recv() => (event.at, from_cluster(event.what)),
            else => return,
        };
        let Some(what) = what else { continue };
        if let Err(error) = to.line(at, &what) {
            tracing::warn!(%error, "could not write the log; it stops here");
            return;
        }
    }
}

fn from_aws(what: AwsEventKind) -> Option<ObservedEvent> {
    match what {
        AwsEventKind::Aws(call) => Some(ObservedEvent::Aws(call)),
        AwsEventKind::Dns(query) => Some(ObservedEvent::Dns(query)),
        AwsEventKind::Isolated => None,
    }
}

/// An account has no control plane, so token reviews are its only facts.
fn from_cluster(what: ClusterFact) -> Option<ObservedEvent> {
    match what {
        ClusterFact::Authentication(seen) => Some(ObservedEvent::Authentication(seen)),
        _ => None,
    }
}

impl LogTarget {
    fn line(&mut self, at: SystemTime, what: &ObservedEvent) -> std::io::Result<()> {
        let at = OffsetDateTime::from(at).replace_nanosecond(0);
        let at = at
            .ok()
            .and_then(|at| at.format(&Rfc3339).ok())
            .unwrap_or_default();
        match self {
            Self::Text(out) => writeln!(out, "{at} {}", text(what)).and_then(|()| out.flush()),
            Self::Json(out) => {
                writeln!(out, "{}", json!({ "at": at, "what": what })).and_then(|()| out.flush())
            }
        }
    }
}

fn text(what: &ObservedEvent) -> String {
    match what {
        ObservedEvent::Aws(call) => request(call),
        ObservedEvent::Authentication(seen) => review(seen),
        other => format!("{other:?}"),
    }
}

fn request(call: &AwsCall) -> String {
    let mut line = format!("{} {}", call.service.word(), call.operation);
    if let Some(subject) = &call.subject {
        let _ = write!(line, " {subject}");
    }
    match call.status {
        0 => line.push_str(": no response"),
        status => drop(write!(line, ": {status}")),
    }
    for word in [&call.error, &call.message].into_iter().flatten() {
        let _ = write!(line, " {word}");
    }
    if !call.known {
        line.push_str(" (unknown operation)");
    }
    if call.upstream {
        line.push_str(" (answered by the upstream)");
    }
    if call.fault.is_some() {
        line.push_str(" (injected fault)");
    }
    line
}

fn review(seen: &Authentication) -> String {
    let who = seen.arn.as_deref().unwrap_or("an unknown principal");
    match &seen.outcome {
        AuthenticationOutcome::Accepted { username, groups } => {
            format!(
                "token of {who}: accepted as {username}, groups {}",
                groups.join(", ")
            )
        }
        AuthenticationOutcome::Refused(rejection) => {
            format!("token of {who}: refused: {rejection}")
        }
    }
}

#[cfg(test)]
mod tests {
    use nodejoin_core::observation::{RejectionKind, TokenRejection};

    use super::*;

    #[test]
    fn a_review_has_its_reason() {
        let refused = Authentication {
            arn: Some("arn:aws:sts::1:assumed-role/r/i-1".to_owned()),
            canonical_arn: None,
            outcome: AuthenticationOutcome::Refused(TokenRejection::new(
                RejectionKind::NotMapped,
                "ARN is not mapped: x",
            )),
        };
        let line = "token of arn:aws:sts::1:assumed-role/r/i-1: refused: ARN is not mapped: x";
        assert_eq!(text(&ObservedEvent::Authentication(refused.clone())), line);
        let accepted = Authentication {
            outcome: AuthenticationOutcome::Accepted {
                username: "system:node:n".to_owned(),
                groups: vec!["a".to_owned(), "b".to_owned()],
            },
            ..refused
        };
        let line = "token of arn:aws:sts::1:assumed-role/r/i-1: accepted as system:node:n, groups a, b";
        assert_eq!(text(&ObservedEvent::Authentication(accepted)), line);
    }
}
