//! The exit codes of `nodejoin`. Scripts may rely on them.

use strum::EnumCount;

use crate::run::event::Summary;

/// The exit code of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumCount)]
#[repr(u8)]
pub enum ExitCode {
    /// A scenario passed, and every other one passed or was skipped with a reason.
    Passed = 0,
    /// A scenario failed because of the node. Another run has the same result.
    Failed = 1,
    /// The command line or a scenario file is invalid. Nothing was started.
    Usage = 2,
    /// This host cannot run the harness. `nodejoin doctor` reports what is missing.
    Host = 3,
    /// The harness could not decide a scenario, or could not remove a resource. Another run may help.
    Environment = 4,
    /// Nothing ran: every scenario was skipped.
    NothingRan = 5,
    /// The user cancelled the run.
    Cancelled = 130,
}

impl ExitCode {
    /// All exit codes, ascending.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Passed,
        Self::Failed,
        Self::Usage,
        Self::Host,
        Self::Environment,
        Self::NothingRan,
        Self::Cancelled,
    ];

    /// The meaning of the code and what a script can do about it, for the reference page.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Passed => {
                "A scenario passed, and every other one passed or was skipped with a reason. Also a shard (`--shard`) in which nothing ran: other shards have scenarios."
            }
            Self::Failed => {
                "A scenario failed. The node is the cause, and another run gives the same result; with the diagnosis `harness-limit`, nodejoin lacks something. `diff` ends with it for differences, `explore` for findings, `mutate` for changes that no scenario notices, `try` also if a mistake in the file keeps one of its machines from a trial."
            }
            Self::Usage => "The command line or a scenario file is invalid. Nothing was started.",
            Self::Host => "This host cannot run the harness. `nodejoin doctor` reports what is missing.",
            Self::Environment => {
                "The harness could not decide a scenario, or could not remove something that it created. Another run may help. `merge` counts cancelled scenarios as undecided."
            }
            Self::NothingRan => "Nothing ran: every scenario was skipped. The report has the reasons.",
            Self::Cancelled => "A signal ended the run (Ctrl-C, SIGTERM or SIGHUP).",
        }
    }

    /// The exit code of a completed run. A failed scenario takes precedence over an undecided one.
    #[must_use]
    pub fn of(summary: &Summary) -> Self {
        match summary {
            Summary { cancelled: 1.., .. } => Self::Cancelled,
            Summary { failed: 1.., .. } => Self::Failed,
            Summary { errored: 1.., .. } => Self::Environment,
            summary if !summary.left_behind.is_empty() => Self::Environment,
            Summary { passed: 0, .. } => Self::NothingRan,
            _ => Self::Passed,
        }
    }

    /// The exit code of joined runs. A scenario that a signal cancelled in one of them is undecided: no signal ended
    /// the command that joins them, and a failed scenario is what a person has to know.
    #[must_use]
    pub fn of_joined(summary: &Summary) -> Self {
        Self::of(&Summary {
            cancelled: 0,
            errored: summary.errored + summary.cancelled,
            ..summary.clone()
        })
    }

    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_scenario_of_joined_runs_is_undecided() {
        for (failed, code) in [(0, 4), (1, 1)] {
            let summary = Summary {
                passed: 1,
                cancelled: 1,
                failed,
                ..Summary::default()
            };
            assert_eq!(ExitCode::of_joined(&summary).code(), code);
        }
    }

    #[test]
    fn a_failed_scenario_takes_precedence_over_an_undecided_one() {
        let cases = [
            (
                Summary {
                    passed: 3,
                    skipped: 1,
                    ..Summary::default()
                },
                0,
            ),
            (
                Summary {
                    skipped: 2,
                    ..Summary::default()
                },
                5,
            ),
            (
                Summary {
                    failed: 1,
                    errored: 1,
                    ..Summary::default()
                },
                1,
            ),
            (
                Summary {
                    errored: 1,
                    ..Summary::default()
                },
                4,
            ),
            (
                Summary {
                    cancelled: 1,
                    failed: 1,
                    ..Summary::default()
                },
                130,
            ),
            (
                Summary {
                    passed: 1,
                    left_behind: vec!["container x".to_owned()],
                    ..Summary::default()
                },
                4,
            ),
        ];
        for (summary, code) in cases {
            assert_eq!(ExitCode::of(&summary).code(), code, "{summary:?}");
        }
    }
}
