//! The time as the fakes see it: the one place that reads the wall clock, and how AWS writes times down.

use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

/// Where the fakes take the time from.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> SystemTime;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct MachineClock;

impl Clock for MachineClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// A clock that moves only when it is told to: for tests of expiry and of what holds for so many seconds.
#[derive(Debug)]
pub struct StoppedClock(Mutex<SystemTime>);

impl StoppedClock {
    /// A clock that shows this time.
    #[must_use]
    pub fn at(time: SystemTime) -> Self {
        Self(Mutex::new(time))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let mut time = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *time += by;
    }
}

impl Clock for StoppedClock {
    fn now(&self) -> SystemTime {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// When a request came: by the clock, and after the start of the node.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The time, as the service sees it.
    pub now: OffsetDateTime,
    /// The time since the node's source address was attached.
    pub elapsed: Duration,
    /// What the service sees otherwise than it is.
    pub twist: Twist,
}

/// What a service sees otherwise than it is, because a fault says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Twist {
    /// Nothing.
    #[default]
    None,
    /// The news of what was made last has not come around.
    Stale,
    /// The caller's credentials have expired.
    ExpiredCredentials,
}

impl Moment {
    /// The same moment, seen otherwise.
    #[must_use]
    pub fn with_twist(self, twist: Twist) -> Self {
        Self { twist, ..self }
    }

    /// The same moment by a clock that is so many seconds ahead. A clock that would leave the calendar stays where it is.
    #[must_use]
    pub fn ahead(self, seconds: i64) -> Self {
        let now = self.now.checked_add(time::Duration::seconds(seconds));
        Self {
            now: now.unwrap_or(self.now),
            ..self
        }
    }

    /// Seconds since the node's start.
    #[must_use]
    pub fn seconds(&self) -> f64 {
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

/// The time as credentials and identity documents have it.
#[must_use]
pub fn extended(time: OffsetDateTime) -> String {
    written(time, EXTENDED)
}

/// The time as EC2 answers it.
#[must_use]
pub fn milliseconds(time: OffsetDateTime) -> String {
    written(time, MILLISECONDS)
}

/// The time as signatures have it.
#[must_use]
pub fn basic(time: OffsetDateTime) -> String {
    written(time, BASIC)
}

/// The time as HTTP headers have it.
#[must_use]
pub fn http(time: OffsetDateTime) -> String {
    written(time, HTTP)
}

/// Reads the time of a signature.
#[must_use]
pub fn parse_basic(text: &str) -> Option<OffsetDateTime> {
    time::PrimitiveDateTime::parse(text, BASIC)
        .ok()
        .map(time::PrimitiveDateTime::assume_utc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_aws_writes_them() {
        let time = OffsetDateTime::from_unix_timestamp(1_778_145_243).unwrap();
        assert_eq!(extended(time), "2026-05-07T09:14:03Z");
        assert_eq!(milliseconds(time), "2026-05-07T09:14:03.000Z");
        assert_eq!(basic(time), "20260507T091403Z");
        assert_eq!(http(time), "Thu, 07 May 2026 09:14:03 GMT");
        assert_eq!(parse_basic("20260507T091403Z"), Some(time));
        assert_eq!(parse_basic("yesterday"), None);
    }
}
