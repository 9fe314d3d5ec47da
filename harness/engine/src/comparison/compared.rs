//! What came of one pair.

use nodejoin_core::compare::{
    ComparedScenario, MachineDifference, MachineRequests, OnlyKubelet, ScenarioTraits, Shown,
};

use super::pair::Pair;

/// The result for one pair.
pub(super) enum Compared {
    /// Both versions have the same files: nothing can differ.
    SameFiles,
    /// What differs; nothing if both machines are equal.
    States {
        /// What the versions request.
        requests: MachineRequests,
        /// Why the new version has no kubelet, if neither has one.
        without_kubelet: Option<String>,
        /// Which version has a kubelet, if only one has.
        only_kubelet: Option<OnlyKubelet>,
        differences: Vec<MachineDifference>,
    },
    Not(String),
}

impl Compared {
    pub(super) fn text(&self) -> String {
        match self {
            Self::SameFiles => "same files".to_owned(),
            Self::States {
                differences,
                without_kubelet: Some(why),
                ..
            } if differences.is_empty() => format!("same machine, and no kubelet started: {why}"),
            Self::States { differences, .. } if differences.is_empty() => "same machine".to_owned(),
            Self::States { differences, .. } => {
                let parts: Vec<&str> = differences.iter().map(|one| one.part.as_str()).collect();
                format!("differs in {}", parts.join(", "))
            }
            Self::Not(why) => format!("not compared: {why}"),
        }
    }

    /// Why neither version starts a kubelet in a scenario that expects a join.
    fn without_kubelet(&self, pair: &Pair) -> Option<&String> {
        let expects_join = pair
            .new
            .as_ref()
            .is_some_and(|plan| plan.expect.diagnosis.is_none());
        match self {
            Self::States { without_kubelet, .. } => without_kubelet.as_ref().filter(|_| expects_join),
            Self::SameFiles | Self::Not(_) => None,
        }
    }

    pub(super) fn shown(&self, pair: &Pair) -> Option<Shown> {
        let (differences, only_kubelet) = match self {
            Self::SameFiles => (Vec::new(), None),
            Self::States {
                differences,
                only_kubelet,
                ..
            } => (differences.clone(), *only_kubelet),
            Self::Not(_) => return None,
        };
        let plan = pair.new.as_ref().or(pair.old.as_ref())?;
        Some(Shown {
            scenario: pair.id.clone(),
            traits: ScenarioTraits::of(plan),
            places: match differences.is_empty() {
                true => Vec::new(),
                false => pair.changed_places(),
            },
            differences,
            only_kubelet,
        })
    }

    pub(super) fn listed(&self, pair: &Pair) -> ComparedScenario {
        let not_compared = match self {
            Self::Not(why) => Some(why.clone()),
            Self::SameFiles | Self::States { .. } => None,
        };
        ComparedScenario {
            scenario: pair.id.clone(),
            not_compared,
            without_kubelet: self.without_kubelet(pair).is_some(),
            without_kubelet_because: self.without_kubelet(pair).cloned(),
            world: pair.world.clone(),
        }
    }
}
