//! Interprets the effect of a fault.

use std::time::Duration;

use bytes::Bytes;
use nodejoin_core::plan::fault::{Effect, Service};

use crate::clock::{RequestTime, StateView};
use crate::content::Content;
use crate::http::{Response, ServiceError};
use crate::wire::defaults::{fault_error, throttled};

/// The end of a connection without a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disconnect {
    Close,
    /// As [`Disconnect::Close`] on an open connection; a new one is refused.
    Refuse,
    Reset,
    /// The connection stays open and silent.
    Hang,
}

/// Everything that a fault changes about one request. The default changes nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Applied {
    /// Pause before the response.
    pub(crate) delay: Duration,
    pub(crate) disconnect: Option<Disconnect>,
    /// An error that replaces the service's response.
    pub(crate) error: Option<ServiceError>,
    /// Seconds by which the service's clock is ahead.
    clock_ahead: i64,
    view: StateView,
    /// A status that replaces the response's.
    status: Option<u16>,
    /// A body that replaces the response's.
    body: Option<Content>,
    content_type: Option<String>,
    /// Bytes of the body after which the connection is cut.
    pub(crate) cut_after: Option<u64>,
}

/// The one place that interprets an effect: a new variant does not compile until it is handled here. Both users, the
/// server and the STS client, act on every field of the result.
#[deny(clippy::wildcard_enum_match_arm, reason = "a new effect must be handled")]
pub(crate) fn applied(effect: &Effect, service: Service) -> Applied {
    let none = Applied::default();
    match effect {
        Effect::DelayMs(delay) => Applied {
            delay: Duration::from_millis(*delay),
            ..none
        },
        Effect::Error {
            status,
            code,
            message,
        } => Applied {
            error: Some(fault_error(service, *status, code.clone(), message.clone())),
            ..none
        },
        Effect::Throttle => Applied {
            error: Some(throttled(service)),
            ..none
        },
        Effect::CutAfter(length) => Applied {
            cut_after: Some(*length),
            ..none
        },
        // Rules in the node refuse new connections. One that is open when the refusals start ends at its next request.
        Effect::Refuse => Applied::disconnect(Disconnect::Refuse),
        Effect::Close => Applied::disconnect(Disconnect::Close),
        Effect::Reset => Applied::disconnect(Disconnect::Reset),
        Effect::Hang => Applied::disconnect(Disconnect::Hang),
        Effect::EmptyBody => Applied {
            body: Some(Bytes::new().into()),
            ..none
        },
        Effect::Body(text) => Applied {
            body: Some(text.clone().into()),
            ..none
        },
        Effect::Response { status, body } => Applied {
            status: Some(*status),
            body: Some(body.clone().into()),
            ..none
        },
        Effect::ContentType(content_type) => Applied {
            content_type: Some(content_type.clone()),
            ..none
        },
        Effect::ExpiredCredentials => Applied::view(StateView::ExpiredCredentials),
        Effect::Stale => Applied::view(StateView::Stale),
        Effect::ClockAheadSeconds(seconds) => Applied {
            clock_ahead: *seconds,
            ..none
        },
    }
}

impl Applied {
    fn disconnect(disconnect: Disconnect) -> Self {
        Self {
            disconnect: Some(disconnect),
            ..Self::default()
        }
    }

    fn view(view: StateView) -> Self {
        Self {
            view,
            ..Self::default()
        }
    }

    /// The request's time and state as the service sees them.
    pub(crate) fn seen(&self, time: RequestTime) -> RequestTime {
        time.ahead(self.clock_ahead).with_view(self.view)
    }

    /// The response as the client receives it, apart from a cut.
    pub(crate) fn rewritten(&self, mut response: Response) -> Response {
        if let Some(status) = self.status {
            response.status = status;
            response.reason = None;
        }
        if let Some(body) = &self.body {
            response.body = body.clone();
        }
        if let Some(content_type) = &self.content_type {
            for (name, value) in &mut response.headers {
                if *name == "content-type" {
                    value.clone_from(content_type);
                }
            }
        }
        response
    }

    /// Whether the body of the response does not arrive as the service wrote it.
    pub(crate) fn spoils_body(&self) -> bool {
        self.body.is_some() || self.cut_after.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_rewrite_responses() {
        let response = || Response::new(200, "text/plain", "abc");
        let table = [
            (Effect::EmptyBody, "text/plain", ""),
            (Effect::Body("x".into()), "text/plain", "x"),
            (
                Effect::Response {
                    status: 302,
                    body: "y".into(),
                },
                "text/plain",
                "y",
            ),
            (Effect::ContentType("text/html".into()), "text/html", "abc"),
            (Effect::DelayMs(1), "text/plain", "abc"),
        ];
        for (effect, content_type, body) in table {
            let rewritten = applied(&effect, Service::Eks).rewritten(response());
            assert_eq!(rewritten.headers[0].1, content_type, "{effect:?}");
            assert_eq!(rewritten.body.in_memory(), body.as_bytes(), "{effect:?}");
        }
    }

    #[test]
    fn every_effect_changes_something() {
        let effects = [
            Effect::DelayMs(1),
            Effect::Error {
                status: 500,
                code: None,
                message: None,
            },
            Effect::Throttle,
            Effect::CutAfter(1),
            Effect::Refuse,
            Effect::Close,
            Effect::Reset,
            Effect::Hang,
            Effect::EmptyBody,
            Effect::Body("x".into()),
            Effect::Response {
                status: 200,
                body: String::new(),
            },
            Effect::ContentType("text/html".into()),
            Effect::ExpiredCredentials,
            Effect::Stale,
            Effect::ClockAheadSeconds(1),
        ];
        let nothing = format!("{:?}", Applied::default());
        for effect in effects {
            assert_ne!(
                format!("{:?}", applied(&effect, Service::Sts)),
                nothing,
                "{effect:?}"
            );
        }
    }
}
