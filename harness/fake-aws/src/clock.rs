//! The fakes' clock, the only code here that reads the wall clock, and AWS' formats of times.

use std::fmt;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

/// The source of the time.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    fn now(&self) -> SystemTime;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MachineClock;

impl Clock for MachineClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// A clock that only [`StoppedClock::advance`] moves, for tests of expiry and of faults with a duration.
#[derive(Debug)]
pub struct StoppedClock(Mutex<SystemTime>);

impl StoppedClock {
    #[must_use]
    pub fn at(time: SystemTime) -> Self {
        Self(Mutex::new(time))
    }

    pub fn advance(&self, by: Duration) {
        *self.0.lock() += by;
    }
}

impl Clock for StoppedClock {
    fn now(&self) -> SystemTime {
        *self.0.lock()
    }
}

/// The time of a request, and the state that the service shows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestTime {
    /// The time, as the service sees it.
    pub now: OffsetDateTime,
    /// Time since the node's source address was attached.
    pub elapsed: Duration,
    pub view: StateView,
}

/// The state that a service shows to a request. Faults select others than the current one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum StateView {
    #[default]
    Current,
    /// Eventual consistency: recently created resources are not visible yet.
    Stale,
    /// The caller's credentials have expired.
    ExpiredCredentials,
}

impl RequestTime {
    #[must_use]
    pub(crate) fn with_view(self, view: StateView) -> Self {
        Self { view, ..self }
    }

    /// Moves the clock ahead. A time outside the calendar leaves it unchanged.
    #[must_use]
    pub(crate) fn ahead(self, seconds: i64) -> Self {
        let now = self.now.checked_add(time::Duration::seconds(seconds));
        Self {
            now: now.unwrap_or(self.now),
            ..self
        }
    }

    /// Seconds since the start of the node.
    #[must_use]
    pub(crate) fn seconds(&self) -> f64 {
        self.elapsed.as_secs_f64()
    }
}

/// `2026-05-07T09:14:03Z`: credentials and identity documents.
const EXTENDED: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");
/// `2026-05-07T09:14:03.000Z`: EC2.
const MILLISECONDS: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].000Z");
/// `20260507T091403Z`: signatures.
const BASIC: &[BorrowedFormatItem<'_>] = format_description!("[year][month][day]T[hour][minute][second]Z");
/// `Thu, 07 May 2026 09:14:03 GMT`: HTTP headers.
const HTTP: &[BorrowedFormatItem<'_>] =
    format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");

fn written(time: OffsetDateTime, format: &[BorrowedFormatItem<'_>]) -> String {
    time.format(format)
        .unwrap_or_else(|_| time.unix_timestamp().to_string())
}

/// Formats a time for credentials and identity documents.
#[must_use]
pub(crate) fn extended(time: OffsetDateTime) -> String {
    written(time, EXTENDED)
}

/// Formats a time for EC2.
#[must_use]
pub(crate) fn milliseconds(time: OffsetDateTime) -> String {
    written(time, MILLISECONDS)
}

/// Formats a time for signatures.
#[must_use]
pub(crate) fn basic(time: OffsetDateTime) -> String {
    written(time, BASIC)
}

/// Formats a time for HTTP headers.
#[must_use]
pub(crate) fn http(time: OffsetDateTime) -> String {
    written(time, HTTP)
}

/// Parses the time of a signature.
#[must_use]
pub(crate) fn parse_basic(text: &str) -> Option<OffsetDateTime> {
    time::PrimitiveDateTime::parse(text, BASIC)
        .ok()
        .map(time::PrimitiveDateTime::assume_utc)
}

/// Parses a time in an HTTP header.
#[must_use]
pub(crate) fn parse_http(text: &str) -> Option<OffsetDateTime> {
    time::PrimitiveDateTime::parse(text, HTTP)
        .ok()
        .map(time::PrimitiveDateTime::assume_utc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_formats_of_aws() {
        let time = OffsetDateTime::from_unix_timestamp(1_778_145_243).unwrap();
        assert_eq!(extended(time), "2026-05-07T09:14:03Z");
        assert_eq!(milliseconds(time), "2026-05-07T09:14:03.000Z");
        assert_eq!(basic(time), "20260507T091403Z");
        assert_eq!(http(time), "Thu, 07 May 2026 09:14:03 GMT");
        assert_eq!(parse_basic("20260507T091403Z"), Some(time));
        assert_eq!(parse_basic("yesterday"), None);
        assert_eq!(parse_http("Thu, 07 May 2026 09:14:03 GMT"), Some(time));
    }
}
