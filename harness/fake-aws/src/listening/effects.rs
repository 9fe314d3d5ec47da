//! What a fault's effect does: before a service is asked, to its answer, and instead of one.

use bytes::Bytes;
use nodejoin_core::plan::fault::{Effect, Service};

use crate::clock::{Moment, Twist};
use crate::exchange::{Answer, ServiceError};
use crate::wire::defaults::{fault_error, throttled};

/// How a connection ends without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It is closed.
    Closed,
    /// It is reset.
    Reset,
    /// It stays open, and nothing comes.
    Hanging,
}

/// The ending that an effect asks for.
pub(crate) fn ending(effect: &Effect) -> Option<Ending> {
    match effect {
        Effect::Refuse => Some(Ending::Closed),
        Effect::Reset => Some(Ending::Reset),
        Effect::Hang => Some(Ending::Hanging),
        _ => None,
    }
}

/// The error that an effect puts in place of an answer.
pub(crate) fn error(effect: &Effect, service: Service) -> Option<ServiceError> {
    match effect {
        Effect::Error {
            status,
            code,
            message,
        } => Some(fault_error(service, *status, code.clone(), message.clone())),
        Effect::Throttle => Some(throttled(service)),
        _ => None,
    }
}

/// The moment as the service sees it.
pub(crate) fn seen(moment: Moment, effect: Option<&Effect>) -> Moment {
    match effect {
        Some(Effect::ClockAheadSeconds(seconds)) => moment.ahead(*seconds),
        Some(Effect::Stale) => moment.with_twist(Twist::Stale),
        Some(Effect::ExpiredCredentials) => moment.with_twist(Twist::ExpiredCredentials),
        _ => moment,
    }
}

/// The answer as it goes out.
pub(crate) fn changed(mut answer: Answer, effect: Option<&Effect>) -> Answer {
    match effect {
        Some(Effect::EmptyBody) => answer.body = Bytes::new().into(),
        Some(Effect::Body(text)) => answer.body = text.clone().into(),
        Some(Effect::ContentType(content_type)) => {
            for (name, value) in &mut answer.headers {
                if *name == "content-type" {
                    value.clone_from(content_type);
                }
            }
        }
        _ => {}
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_changed_as_it_is_said() {
        let answer = || Answer::new(200, "text/plain", "abc");
        let table = [
            (Effect::EmptyBody, "text/plain", ""),
            (Effect::Body("x".into()), "text/plain", "x"),
            (Effect::ContentType("text/html".into()), "text/html", "abc"),
            (Effect::DelayMs(1), "text/plain", "abc"),
        ];
        for (effect, content_type, body) in table {
            let changed = changed(answer(), Some(&effect));
            assert_eq!(changed.headers[0].1, content_type, "{effect:?}");
            assert_eq!(changed.body.here(), body.as_bytes(), "{effect:?}");
        }
    }
}
