//! Machines on which only one version starts a kubelet: how the other one ends is the difference, and the rest follows.

use super::difference::MachineDifference;
use super::lines::ChangedLine;
use super::state::{LAST_WORDS_LINE, MachineState};

/// The part of a machine that started a kubelet.
const KUBELET: &str = "kubelet arguments";
/// Parts that say why a machine has no kubelet.
const WHY: [&str; 4] = [
    "user data",
    "user data, second run",
    "end of the machine",
    "failed units",
];

/// The version that alone starts a kubelet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnlyKubelet {
    OfOld,
    OfNew,
}

impl OnlyKubelet {
    /// `None` if both versions start a kubelet, or neither does. The differing lines do not tell: a version can lack an
    /// argument.
    #[must_use]
    pub fn of(old: &MachineState, new: &MachineState) -> Option<Self> {
        match (old.has_kubelet(), new.has_kubelet()) {
            (true, false) => Some(Self::OfOld),
            (false, true) => Some(Self::OfNew),
            _ => None,
        }
    }
}

/// The differences of a machine on which only one version starts a kubelet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OneKubelet {
    /// What two worlds with the same cause have alike: ends, failed units, and the last line of the output. The lines
    /// before it have values of their world.
    pub(super) key: Vec<MachineDifference>,
    /// The parts that say why.
    pub(super) why: Vec<MachineDifference>,
    /// All others.
    pub(super) follows: Vec<MachineDifference>,
}

impl OneKubelet {
    /// `None` if nothing says why.
    pub(super) fn of(differences: &[MachineDifference], only: OnlyKubelet) -> Option<Self> {
        let is_why = |one: &MachineDifference| WHY.contains(&one.part.as_str());
        let (why, follows): (Vec<_>, Vec<_>) = differences.iter().cloned().partition(is_why);
        let started = "a kubelet starts".to_owned();
        let mut key: Vec<MachineDifference> = why.iter().map(without_earlier_words).collect();
        key.push(MachineDifference {
            part: KUBELET.to_owned(),
            lines: vec![match only {
                OnlyKubelet::OfOld => ChangedLine::Old(started),
                OnlyKubelet::OfNew => ChangedLine::New(started),
            }],
        });
        (!why.is_empty()).then_some(Self { key, why, follows })
    }
}

/// The part with only the last one of its last words, of each version.
fn without_earlier_words(part: &MachineDifference) -> MachineDifference {
    let text = |line: &ChangedLine| match line {
        ChangedLine::Old(text) | ChangedLine::New(text) => text.clone(),
    };
    let is_word = |line: &ChangedLine| text(line).starts_with(LAST_WORDS_LINE);
    let is_same_side =
        |one: &ChangedLine, other: &ChangedLine| std::mem::discriminant(one) == std::mem::discriminant(other);
    let is_last = |index: usize| {
        let line = &part.lines[index];
        let later = &part.lines[index + 1..];
        !later
            .iter()
            .any(|other| is_word(other) && is_same_side(line, other))
    };
    let lines = part.lines.iter().enumerate();
    let lines = lines.filter(|(index, line)| !is_word(line) || is_last(*index));
    MachineDifference {
        part: part.part.clone(),
        lines: lines.map(|(_, line)| line.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, lines: &[ChangedLine]) -> MachineDifference {
        MachineDifference {
            part: name.to_owned(),
            lines: lines.to_vec(),
        }
    }

    fn old(text: &str) -> ChangedLine {
        ChangedLine::Old(text.to_owned())
    }

    fn new(text: &str) -> ChangedLine {
        ChangedLine::New(text.to_owned())
    }

    #[test]
    fn worlds_that_end_alike_have_one_key() {
        let machine = |address: &str| {
            let user_data = [
                old("exit code of part-001: 0"),
                new("exit code of part-001: 1"),
                new(&format!("last words: no route to {address}")),
                new("last words: Exited with error on line 371"),
            ];
            let kubelet = [old(&format!("--node-ip={address}"))];
            let parts = [part("user data", &user_data), part(KUBELET, &kubelet)];
            OneKubelet::of(&parts, OnlyKubelet::OfOld).unwrap()
        };
        let (one, other) = (machine("10.0.0.1"), machine("fd00::1"));
        assert_eq!(one.key, other.key);
        assert_ne!(one.why, other.why);
        assert_eq!(one.follows[0].part, KUBELET);
        let last = new("last words: Exited with error on line 371");
        assert!(one.key[0].lines.contains(&last), "{:?}", one.key);
    }

    #[test]
    fn a_machine_without_a_reason_for_its_end_is_compared_by_its_parts() {
        let gone = part(KUBELET, &[old("--v=1")]);
        let parts = [gone, part("failed units", &[new("cloud-final.service failed")])];
        assert_eq!(OneKubelet::of(&parts[..1], OnlyKubelet::OfOld), None);
        assert!(OneKubelet::of(&parts, OnlyKubelet::OfOld).is_some());
    }

    #[test]
    fn a_version_that_lacks_an_argument_starts_a_kubelet_nevertheless() {
        let state = |arguments: &str| {
            let parts = [(KUBELET.to_owned(), arguments.to_owned())];
            MachineState::of_machine(parts.into_iter().filter(|(_, text)| !text.is_empty()).collect())
        };
        let (both, one, none) = (state("--v=1\n--x\n"), state("--v=1\n"), state(""));
        assert_eq!(OnlyKubelet::of(&both, &one), None);
        assert_eq!(OnlyKubelet::of(&one, &none), Some(OnlyKubelet::OfOld));
        assert_eq!(OnlyKubelet::of(&none, &one), Some(OnlyKubelet::OfNew));
    }
}
