//! What one scenario says about a mutant: by its machine alone, or by its join.

use nodejoin_core::compare::{MachineDifference, MachineState};
use nodejoin_core::diagnosis::Cause;
use nodejoin_core::judge::verdict::{Outcome, Verdict};
use nodejoin_core::observation::phase::Phase;
use nodejoin_core::plan::Plan;

use crate::comparison::cause_of;
use crate::probe::Probed;

/// One scenario with a mutant.
pub(super) enum MutantRun {
    Same,
    /// Passed, with these differing parts.
    Passed(Box<MachineState>, Vec<MachineDifference>),
    Killed(String),
    TimedOut,
    NotRun(String),
}

/// How a scenario with a mutant ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JoinEnd {
    Passed,
    /// Why it does not pass.
    Killed(String),
    TimedOut,
    /// It says nothing about the mutant.
    NotRun(String),
}

impl JoinEnd {
    /// A join with a shortened timeout that stopped without a cause could have passed later.
    pub(super) fn of(verdict: &Verdict, is_shortened: bool) -> Self {
        let cause = verdict.diagnosis.as_ref().map(|found| found.cause);
        match (&verdict.outcome, cause) {
            (Outcome::Passed, _) => Self::Passed,
            (Outcome::Failed, Some(Cause::HarnessLimit)) => {
                Self::NotRun(cause_of(verdict).unwrap_or_default())
            }
            (Outcome::Failed, Some(Cause::Unknown | Cause::UserDataNotDone)) if is_shortened => {
                Self::TimedOut
            }
            (Outcome::Failed, _) => {
                Self::Killed(cause_of(verdict).unwrap_or_else(|| "the scenario fails".to_owned()))
            }
            (Outcome::Errored(why) | Outcome::Skipped(why), _) => Self::NotRun(why.clone()),
            (Outcome::Cancelled, _) => Self::NotRun("cancelled".to_owned()),
        }
    }
}

/// What a machine without a kubelet says about a mutant before its scenario joins; `None` if only a join can tell.
pub(super) fn without_kubelet(plan: &Plan, probed: &Probed) -> Option<MutantRun> {
    if probed.state.has_kubelet() {
        return None;
    }
    if let Some(limit) = probed.limit() {
        return Some(MutantRun::NotRun(limit));
    }
    let expect = &plan.expect;
    let needs_kubelet =
        expect.diagnosis.is_none() && expect.phase.is_none_or(|phase| phase >= Phase::KubeletStarted);
    needs_kubelet.then(|| match &probed.diagnosis {
        Some(_) if probed.is_unfinished() => MutantRun::TimedOut,
        Some(found) => MutantRun::Killed(format!(
            "no kubelet starts: {}: {}",
            found.cause.word(),
            found.because
        )),
        None => MutantRun::Killed("no kubelet starts".to_owned()),
    })
}

/// Keeps what differs in a second boot of the same mutant, too: the rest differs from boot to boot.
pub(super) fn retain_repeated(found: &mut Vec<MachineDifference>, again: &[MachineDifference]) {
    found.retain(|one| again.iter().any(|other| other.part == one.part));
}

#[cfg(test)]
mod tests {
    use nodejoin_core::compare::MachineRequests;
    use nodejoin_core::diagnosis::Diagnosis;
    use nodejoin_core::observation::ScriptTrace;

    use super::*;
    use crate::testing::plan;
    use crate::verdict::verdict_without_observation;

    fn diagnosis(cause: Cause) -> Diagnosis {
        Diagnosis {
            phase: None,
            cause,
            because: "why".to_owned(),
            seen: String::new(),
            remedy: String::new(),
            script: None,
        }
    }

    #[test]
    fn limits_of_nodejoin_and_of_a_shortened_time_are_no_kills() {
        let end = |cause: Option<Cause>, is_shortened| {
            let mut verdict = verdict_without_observation(Outcome::Failed);
            verdict.diagnosis = cause.map(diagnosis);
            JoinEnd::of(&verdict, is_shortened)
        };
        let script_failed = JoinEnd::Killed("script-failed: why".to_owned());
        assert_eq!(end(Some(Cause::ScriptFailed), true), script_failed);
        assert_eq!(
            end(Some(Cause::HarnessLimit), false),
            JoinEnd::NotRun("harness-limit: why".to_owned())
        );
        assert_eq!(end(Some(Cause::Unknown), true), JoinEnd::TimedOut);
        assert_eq!(
            end(Some(Cause::Unknown), false),
            JoinEnd::Killed("unknown: why".to_owned())
        );
        assert_eq!(end(None, true), JoinEnd::Killed("the scenario fails".to_owned()));
        let passed = verdict_without_observation(Outcome::Passed);
        assert_eq!(JoinEnd::of(&passed, true), JoinEnd::Passed);
    }

    #[test]
    fn a_machine_without_a_kubelet_kills_only_where_a_kubelet_is_expected() {
        let result = |text: &str, cause: Option<Cause>| {
            let probed = Probed {
                state: MachineState::default(),
                requests: MachineRequests::default(),
                diagnosis: cause.map(diagnosis),
                again: None,
                trace: ScriptTrace::default(),
                steps: 0,
                checks: Vec::new(),
                kubelet: "v1.20.2".to_owned(),
            };
            without_kubelet(&plan(text), &probed).map(|run| match run {
                MutantRun::Killed(how) => how,
                MutantRun::TimedOut => "timed out".to_owned(),
                MutantRun::NotRun(why) => format!("not run: {why}"),
                MutantRun::Same | MutantRun::Passed(..) => "passed".to_owned(),
            })
        };
        let failed = Some(Cause::ScriptFailed);
        let joins = "name: x\nexpect: { phase: registered }\n";
        let described = "name: x\nexpect: { phase: described }\n";
        let fails = "name: x\nexpect: { phase: booted, diagnosis: script-failed }\n";
        assert_eq!(
            result(joins, failed).as_deref(),
            Some("no kubelet starts: script-failed: why")
        );
        assert_eq!(
            result("name: x\n", Some(Cause::UserDataNotDone)).as_deref(),
            Some("timed out")
        );
        assert_eq!(
            result(joins, Some(Cause::HarnessLimit)).as_deref(),
            Some("not run: harness-limit: why")
        );
        assert_eq!(result(described, failed), None);
        assert_eq!(result(fails, failed), None);
        let with_kubelet = crate::testing::probed("--x\n");
        assert!(without_kubelet(&plan(joins), &with_kubelet).is_none());
    }

    #[test]
    fn a_part_that_differs_in_one_of_two_boots_is_no_difference() {
        let differences = |parts: &[&str]| -> Vec<MachineDifference> {
            let one = |part: &&str| MachineDifference {
                part: (*part).to_owned(),
                lines: Vec::new(),
            };
            parts.iter().map(one).collect()
        };
        let mut found = differences(&["firewall rules", "file /etc/x"]);
        retain_repeated(&mut found, &differences(&["file /etc/x", "unit y"]));
        assert_eq!(found, differences(&["file /etc/x"]));
    }
}
