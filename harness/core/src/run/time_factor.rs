//! The factor that multiplies all timeouts of the harness on slow machines.
//!
//! Multiplied: how long the harness waits before it reports a failure, and how long a failure must persist. Not
//! multiplied: polling intervals, lifetimes of tokens and certificates, and the times of faults in scenarios.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::plan::{Plan, Timeouts};

/// A number from 1 to [`TimeFactor::LARGEST`].
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct TimeFactor(f64);

impl TimeFactor {
    /// Unchanged timeouts.
    pub const ONE: Self = Self(1.0);
    /// With this factor the longest timeout, an hour, becomes six weeks.
    pub const LARGEST: f64 = 1000.0;

    /// A timeout on this machine.
    #[must_use]
    pub fn scale(self, timeout: Duration) -> Duration {
        timeout.mul_f64(self.0)
    }

    /// A number of retries with constant pauses on this machine.
    #[must_use]
    pub fn tries(self, tries: u32) -> u32 {
        // The product is positive and within range for every count in use.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast of a float saturates"
        )]
        let scaled = (f64::from(tries) * self.0).ceil() as u32;
        scaled
    }

    /// A plan with the timeouts of this machine.
    #[must_use]
    pub fn plan(self, plan: &Plan) -> Plan {
        Plan {
            limits: self.limits(&plan.limits),
            ..plan.clone()
        }
    }

    fn limits(self, limits: &Timeouts) -> Timeouts {
        // Destructured, so that a new timeout is not forgotten.
        let Timeouts {
            join_seconds,
            settle_seconds,
            disk,
            processes,
            journal_lines,
        } = limits;
        Timeouts {
            join_seconds: join_seconds * self.0,
            settle_seconds: settle_seconds * self.0,
            disk: disk.clone(),
            processes: *processes,
            journal_lines: *journal_lines,
        }
    }
}

impl Default for TimeFactor {
    fn default() -> Self {
        Self::ONE
    }
}

impl fmt::Display for TimeFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// An invalid factor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid time factor `{value}`: expected a number from 1 to 1000")]
pub struct InvalidTimeFactor {
    pub value: String,
}

impl FromStr for TimeFactor {
    type Err = InvalidTimeFactor;

    fn from_str(text: &str) -> Result<Self, InvalidTimeFactor> {
        let number: Option<f64> = text.trim().parse().ok();
        number
            .filter(|number| (1.0..=Self::LARGEST).contains(number))
            .map(Self)
            .ok_or_else(|| InvalidTimeFactor {
                value: text.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_a_number_from_1_to_1000() {
        for (text, wanted) in [
            ("1", Some(1.0)),
            ("2.5", Some(2.5)),
            (" 10 ", Some(10.0)),
            ("1000", Some(1000.0)),
            ("0.5", None),
            ("1000.1", None),
            ("-3", None),
            ("NaN", None),
            ("inf", None),
            ("", None),
            ("slow", None),
        ] {
            let read: Result<TimeFactor, _> = text.parse();
            assert_eq!(read.as_ref().ok().map(|it| it.0), wanted, "{text:?}");
            if let Err(error) = read {
                assert!(
                    error
                        .to_string()
                        .starts_with(&format!("invalid time factor `{text}`"))
                );
            }
        }
    }

    #[test]
    fn all_timeouts_are_multiplied() {
        let factor: TimeFactor = "2.5".parse().unwrap();
        assert_eq!(factor.scale(Duration::from_secs(10)), Duration::from_secs(25));
        assert_eq!(factor.tries(3), 8);
        let plan = crate::testing::plan();
        let scaled = factor.plan(&plan);
        assert_eq!(scaled.limits.join_seconds, plan.limits.join_seconds * 2.5);
        assert_eq!(scaled.limits.settle_seconds, plan.limits.settle_seconds * 2.5);
        assert_eq!(
            Plan {
                limits: plan.limits.clone(),
                ..scaled
            },
            plan,
            "and nothing else"
        );
    }

    #[test]
    fn one_changes_nothing() {
        assert_eq!(
            TimeFactor::default().scale(Duration::from_millis(7)),
            Duration::from_millis(7)
        );
        assert_eq!(TimeFactor::ONE.tries(400), 400);
        assert_eq!("1".parse(), Ok(TimeFactor::ONE));
    }
}
