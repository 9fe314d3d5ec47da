//! A clock that is not AWS': signatures hold for some minutes before and after the time they name.

use super::Finding;
use super::facts::{Evidence, Facts};
use crate::diagnosis::Cause;
use crate::observation::phase::Phase;
use crate::observation::{Millis, ObservedEvent};

/// AWS, or the authenticator, refuses a signature for its time.
pub(super) fn clock_skew(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Authenticated) {
        return None;
    }
    let (evidence, message) = by_aws(facts).or_else(|| by_authenticator(facts))?;
    let how = match (times(&message), facts.plan.instance.clock_ahead_seconds) {
        (Some((signed, now)), _) => distance(signed - now),
        (None, 0) => "not AWS'".to_owned(),
        (None, ahead) => distance(ahead),
    };
    let because = format!("the node's clock is {how}, and AWS takes no signature of that time");
    let remedy = "let the node keep the time (chronyd with 169.254.169.123), and start nothing that signs before its clock is set"
        .to_owned();
    facts.found(Cause::ClockSkew, because, &evidence, remedy)
}

fn is_of_time(message: &str) -> bool {
    const WORDS: [&str; 3] = [
        "Signature expired: ",
        "Signature not yet current: ",
        "X-Amz-Date parameter is expired",
    ];
    WORDS.iter().any(|words| message.contains(words))
}

/// EC2 names no times, and says the same of credentials that have expired: there the scenario's own clock decides.
fn by_aws(facts: &Facts<'_>) -> Option<(Evidence, String)> {
    let is_off = facts.plan.instance.clock_ahead_seconds != 0;
    facts.calls().find_map(|(at, call)| {
        let message = call.message.clone().unwrap_or_default();
        let is_silent = is_off && call.error.as_deref() == Some("RequestExpired");
        (is_silent || is_of_time(&message)).then(|| (Evidence::call(at, call), message))
    })
}

/// The last decision counts: a token that was made before the clock was set is followed by a good one. The first of its kind tells
/// since when.
fn by_authenticator(facts: &Facts<'_>) -> Option<(Evidence, String)> {
    let mut decisions = facts
        .observation
        .timeline
        .iter()
        .filter_map(|seen| match &seen.what {
            ObservedEvent::Authentication(decision) => {
                let rejection = decision.rejection();
                Some((
                    seen.at,
                    rejection.map_or("", |rejection| rejection.reason.as_str()),
                ))
            }
            _ => None,
        });
    let (_, last): (Millis, _) = decisions.clone().next_back()?;
    if !is_of_time(last) {
        return None;
    }
    let (at, reason) = decisions.find(|(_, reason)| is_of_time(reason))?;
    Some((Evidence::new("authenticator", at, reason), reason.to_owned()))
}

/// What was signed and what time it was, in seconds: the first two times that are told, but for those that were reckoned.
fn times(message: &str) -> Option<(i64, i64)> {
    let mut times = message
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter_map(seconds);
    let signed = times.next()?;
    // `T1 is now earlier than T2 (T3 - 5 min.)`: T3 is the time, and T2 what it reaches back to.
    let all: Vec<i64> = times.collect();
    all.last().map(|now| (signed, *now))
}

/// `20261121T184744Z` in seconds of some epoch.
fn seconds(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    if date.len() != 8 || time.len() != 6 {
        return None;
    }
    let (date, time): (i64, i64) = (date.parse().ok()?, time.parse().ok()?);
    let (year, month, day) = (date / 10_000, date / 100 % 100, date % 100);
    // Days since 0000-03-01 of the proleptic Gregorian calendar, whose years begin in March here: leap days come last.
    let (year, month) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    Some(((days * 24 + time / 10_000) * 60 + time / 100 % 100) * 60 + time % 100)
}

fn distance(seconds: i64) -> String {
    let word = if seconds < 0 { "behind" } else { "ahead of" };
    let minutes = (seconds.unsigned_abs() + 30) / 60;
    format!("{minutes} minutes {word} AWS'")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{call, diagnosed, plan, started};
    use super::*;
    use crate::plan::fault::Service;

    #[test]
    fn ec2_names_no_time_and_the_clock_of_the_scenario_tells() {
        let refusal = || {
            let mut whats = started();
            whats.push(call(Service::Ec2, "DescribeInstances", 400, "RequestExpired"));
            whats
        };
        let mut plan = plan();
        assert_ne!(diagnosed(&plan, refusal()).cause, Cause::ClockSkew);
        plan.instance.clock_ahead_seconds = -1200;
        let diagnosis = diagnosed(&plan, refusal());
        assert_eq!(diagnosis.cause, Cause::ClockSkew);
        assert!(
            diagnosis.because.contains("is 20 minutes behind AWS'"),
            "{diagnosis:?}"
        );
    }

    #[test]
    fn a_call_that_is_refused_for_another_reason_is_none_of_the_clocks() {
        let mut whats = started();
        whats.push(call(
            Service::Eks,
            "DescribeCluster",
            403,
            "InvalidSignatureException",
        ));
        assert_ne!(diagnosed(&plan(), whats).cause, Cause::ClockSkew);
        assert_eq!(
            seconds("20260301T000000Z").unwrap() - seconds("20260228T235959Z").unwrap(),
            1
        );
        assert_eq!(
            seconds("20240301T000000Z").unwrap() - seconds("20240228T000000Z").unwrap(),
            2 * 86_400
        );
    }
}
