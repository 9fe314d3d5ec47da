//! The list of checks: one for the running join and for its end, so that a wait and a verdict cannot disagree.

use strum::EnumCount;

use super::alternatives::one_of;
use super::certificates::{JoinState, certificates};
use super::{join, node, node_state, notes, ownership};
use crate::diagnosis::Diagnosis;
use crate::judge::verdict::{Check, Note};
use crate::observation::Observation;
use crate::plan::Plan;
use crate::vocabulary::phase::Phase;

/// What the checks compare.
#[derive(Clone, Copy)]
pub(super) struct Join<'a> {
    pub(super) plan: &'a Plan,
    pub(super) observation: &'a Observation,
}

/// How a join ended.
pub(super) struct End<'a> {
    pub(super) reached: Option<Phase>,
    pub(super) diagnosis: Option<&'a Diagnosis>,
    pub(super) notes: &'a [Note],
}

/// The checks of one or more keys of `expect`, in the order of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumCount)]
enum CheckKind {
    Outcome,
    Authentication,
    Certificates,
    Node,
    Ownership,
    Audit,
    AwsAuth,
    AwsCalls,
    NodeState,
    OneOf,
    Golden,
    Clean,
    Implicit,
}

/// The checks that can change while the join runs. Checks of what is collected at the end are not among them.
pub(super) fn live_checks(join: Join<'_>) -> Vec<Check> {
    let kinds = CheckKind::ALL.into_iter();
    kinds.flat_map(|kind| kind.live(join)).collect()
}

/// All checks, at the end of the join.
pub(super) fn final_checks(join: Join<'_>, end: &End<'_>) -> Vec<Check> {
    let kinds = CheckKind::ALL.into_iter();
    kinds.flat_map(|kind| kind.at_the_end(join, end)).collect()
}

impl CheckKind {
    const ALL: [Self; Self::COUNT] = [
        Self::Outcome,
        Self::Authentication,
        Self::Certificates,
        Self::Node,
        Self::Ownership,
        Self::Audit,
        Self::AwsAuth,
        Self::AwsCalls,
        Self::NodeState,
        Self::OneOf,
        Self::Golden,
        Self::Clean,
        Self::Implicit,
    ];

    fn live(self, join: Join<'_>) -> Vec<Check> {
        match self {
            Self::Certificates => Self::certificates(join, JoinState::Running),
            Self::Node => Self::node(join),
            Self::Authentication | Self::Audit | Self::AwsAuth | Self::AwsCalls => self.of_events(join),
            Self::OneOf => one_of(join.plan, |plan| live_checks(Join { plan, ..join }))
                .into_iter()
                .collect(),
            // The wait compares the phase itself; the rest is collected or complete only at the end.
            Self::Outcome
            | Self::Ownership
            | Self::NodeState
            | Self::Golden
            | Self::Clean
            | Self::Implicit => Vec::new(),
        }
    }

    fn at_the_end(self, join: Join<'_>, end: &End<'_>) -> Vec<Check> {
        let Join { plan, observation } = join;
        match self {
            Self::Outcome => join::outcome(&plan.expect, end.reached, end.diagnosis),
            Self::Certificates => Self::certificates(join, JoinState::Ended),
            Self::Node => Self::node(join),
            Self::Authentication | Self::Audit | Self::AwsAuth | Self::AwsCalls => self.of_events(join),
            Self::Ownership => {
                let required = plan.expect.node.iter();
                required
                    .flat_map(|required| ownership::set_by(required, observation))
                    .collect()
            }
            Self::NodeState => node_state::node_state(&plan.expect, observation),
            Self::OneOf => one_of(plan, |plan| {
                let kinds = Self::ALL.into_iter().filter(|kind| kind.is_of_machine());
                kinds
                    .flat_map(|kind| kind.at_the_end(Join { plan, ..join }, end))
                    .collect()
            })
            .into_iter()
            .collect(),
            Self::Golden => node_state::golden(plan, observation).into_iter().collect(),
            Self::Clean => notes::checks(&plan.expect, end.notes),
            Self::Implicit => join::implicit_checks(plan, observation),
        }
    }

    /// Checks of events, which are the same at any time.
    fn of_events(self, Join { plan, observation }: Join<'_>) -> Vec<Check> {
        let expect = &plan.expect;
        match self {
            Self::Authentication => {
                let required = expect.authentication.iter();
                required
                    .flat_map(|required| join::authentication(required, observation))
                    .collect()
            }
            Self::Audit => ownership::requests(&expect.audit, observation),
            Self::AwsAuth => join::mappings(plan, observation),
            Self::AwsCalls => join::aws(expect, observation),
            Self::Outcome
            | Self::Certificates
            | Self::Node
            | Self::Ownership
            | Self::NodeState
            | Self::OneOf
            | Self::Golden
            | Self::Clean
            | Self::Implicit => Vec::new(),
        }
    }

    /// Whether an alternative of `one_of` can have its keys.
    fn is_of_machine(self) -> bool {
        match self {
            Self::Authentication
            | Self::Certificates
            | Self::Node
            | Self::Ownership
            | Self::Audit
            | Self::AwsAuth
            | Self::AwsCalls
            | Self::NodeState => true,
            Self::Outcome | Self::OneOf | Self::Golden | Self::Clean | Self::Implicit => false,
        }
    }

    fn certificates(join: Join<'_>, state: JoinState) -> Vec<Check> {
        let required = join.plan.expect.certificates.iter();
        required
            .flat_map(|required| certificates(required, join.observation, state))
            .collect()
    }

    fn node(join: Join<'_>) -> Vec<Check> {
        let required = join.plan.expect.node.iter();
        required
            .flat_map(|required| node::node(required, join.observation))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::plan::expect::Expect;

    impl CheckKind {
        /// The keys of `expect` that this kind checks.
        fn keys(self) -> &'static [&'static str] {
            match self {
                Self::Outcome => &["phase", "diagnosis", "diagnosis_contains"],
                Self::Authentication => &["authentication"],
                Self::Certificates => &["certificates"],
                Self::Node | Self::Ownership => &["node"],
                Self::Audit => &["audit"],
                Self::AwsAuth => &["aws_auth"],
                Self::AwsCalls => &["aws", "aws_order"],
                Self::NodeState => &[
                    "files",
                    "kubelet",
                    "user_data",
                    "units",
                    "units_enabled",
                    "pod",
                    "access",
                ],
                Self::OneOf => &["one_of"],
                Self::Clean => &["clean", "notes"],
                // Compares two machines of their own, which do not belong to the join.
                Self::Implicit => &["same_as"],
                Self::Golden => &[],
            }
        }
    }

    #[test]
    fn every_key_of_expect_has_a_check() {
        let expect = serde_json::to_value(Expect::default()).unwrap();
        let keys: BTreeSet<&str> = expect.as_object().unwrap().keys().map(String::as_str).collect();
        let checked = CheckKind::ALL.into_iter().flat_map(CheckKind::keys);
        assert_eq!(checked.copied().collect::<BTreeSet<_>>(), keys);
    }
}
