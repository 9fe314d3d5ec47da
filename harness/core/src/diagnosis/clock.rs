//! A clock that differs from AWS' time: signatures are valid for some minutes before and after their time.

use super::facts::{Evidence, Facts};
use super::types::Finding;
use crate::observation::{Millis, ObservedEvent};
use crate::vocabulary::cause::Cause;
use crate::vocabulary::phase::Phase;

/// AWS or the authenticator refuses a signature because of its time.
pub(super) fn clock_skew(facts: &Facts<'_>) -> Option<Finding> {
    if !facts.is_before(Phase::Authenticated) {
        return None;
    }
    let (evidence, message) = by_aws(facts).or_else(|| by_authenticator(facts))?;
    let how = match (times(&message), facts.plan.instance.clock_ahead_seconds) {
        (Some((signed, now)), _) => distance(signed - now),
        (None, 0) => "wrong".to_owned(),
        (None, ahead) => distance(ahead),
    };
    let because = format!("the node's clock is {how}, and AWS refuses signatures of that time");
    let remedy = "synchronize the node's clock (chronyd with 169.254.169.123) before anything signs requests"
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

/// EC2 reports no times, and the same error for expired credentials: the clock of the scenario decides.
fn by_aws(facts: &Facts<'_>) -> Option<(Evidence, String)> {
    let is_off = facts.plan.instance.clock_ahead_seconds != 0;
    facts.calls().find_map(|(at, call)| {
        let message = call.message.clone().unwrap_or_default();
        let is_silent = is_off && call.error.as_deref() == Some("RequestExpired");
        (is_silent || is_of_time(&message)).then(|| (Evidence::call(at, call), message))
    })
}

/// The last decision counts, because a valid token follows once the clock is set. The first of its kind has the start
/// time.
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

/// The time of the signature and the current time in seconds, from the first and the last time in the message.
fn times(message: &str) -> Option<(i64, i64)> {
    let mut times = message
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter_map(seconds);
    let signed = times.next()?;
    // `T1 is now earlier than T2 (T3 - 5 min.)`: T3 is the current time, T2 the earliest valid one.
    let all: Vec<i64> = times.collect();
    all.last().map(|now| (signed, *now))
}

/// `20261121T184744Z` in seconds since an arbitrary epoch.
fn seconds(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    if date.len() != 8 || time.len() != 6 {
        return None;
    }
    let (date, time): (i64, i64) = (date.parse().ok()?, time.parse().ok()?);
    let (year, month, day) = (date / 10_000, date / 100 % 100, date % 100);
    // Days since 0000-03-01 of the proleptic Gregorian calendar. Years begin in March, so that a leap day is the last
    // day.
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
    format!("{minutes} minutes {word} AWS' time")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{call, diagnosed, plan, started};
    use super::*;
    use crate::vocabulary::service::Service;

    #[test]
    fn a_response_without_times_is_a_clock_skew_if_the_scenario_moves_the_clock() {
        let events = || {
            let mut events = started();
            events.push(call(Service::Ec2, "DescribeInstances", 400, "RequestExpired"));
            events
        };
        let mut plan = plan();
        assert_ne!(diagnosed(&plan, events()).cause, Cause::ClockSkew);
        plan.instance.clock_ahead_seconds = -1200;
        let diagnosis = diagnosed(&plan, events());
        assert_eq!(diagnosis.cause, Cause::ClockSkew);
        assert!(
            diagnosis.because.contains("is 20 minutes behind AWS' time"),
            "{diagnosis:?}"
        );
    }

    #[test]
    fn a_signature_that_is_refused_for_another_reason_is_not_a_clock_skew() {
        let mut events = started();
        events.push(call(
            Service::Eks,
            "DescribeCluster",
            403,
            "InvalidSignatureException",
        ));
        assert_ne!(diagnosed(&plan(), events).cause, Cause::ClockSkew);
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
