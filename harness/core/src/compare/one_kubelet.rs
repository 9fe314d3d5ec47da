//! Machines on which only one version starts a kubelet: how the other one ends is the difference, and the rest follows.

use super::difference::{ChangedLine, MachineDifference};
use super::state::LAST_WORDS_LINE;

/// The part of a machine that started a kubelet.
const KUBELET: &str = "kubelet arguments";
/// Parts that say why a machine has no kubelet.
const WHY: [&str; 4] = [
    "user data",
    "user data, second run",
    "end of the machine",
    "failed units",
];

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
    /// `None` if both versions start a kubelet, or neither does, or if nothing says why.
    pub(super) fn of(differences: &[MachineDifference]) -> Option<Self> {
        let kubelet = differences.iter().find(|one| one.part == KUBELET)?;
        let is_old = |line: &ChangedLine| matches!(line, ChangedLine::Old(_));
        let of_old = kubelet.lines.iter().filter(|line| is_old(line)).count();
        if of_old != 0 && of_old != kubelet.lines.len() {
            return None;
        }
        let is_why = |one: &MachineDifference| WHY.contains(&one.part.as_str());
        let (why, follows): (Vec<_>, Vec<_>) = differences.iter().cloned().partition(is_why);
        let started = "a kubelet starts".to_owned();
        let mut key: Vec<MachineDifference> = why.iter().map(without_earlier_words).collect();
        key.push(MachineDifference {
            part: KUBELET.to_owned(),
            lines: vec![match of_old {
                0 => ChangedLine::New(started),
                _ => ChangedLine::Old(started),
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
            OneKubelet::of(&[part("user data", &user_data), part(KUBELET, &kubelet)]).unwrap()
        };
        let (one, other) = (machine("10.0.0.1"), machine("fd00::1"));
        assert_eq!(one.key, other.key);
        assert_ne!(one.why, other.why);
        assert_eq!(one.follows[0].part, KUBELET);
        let last = new("last words: Exited with error on line 371");
        assert!(one.key[0].lines.contains(&last), "{:?}", one.key);
    }

    #[test]
    fn two_kubelets_and_an_end_without_a_reason_are_compared_by_their_parts() {
        let failed = part("failed units", &[new("cloud-final.service failed")]);
        let both = part(KUBELET, &[old("--v=1"), new("--v=2")]);
        let gone = part(KUBELET, &[old("--v=1")]);
        assert_eq!(OneKubelet::of(&[failed.clone(), both]), None);
        assert_eq!(OneKubelet::of(std::slice::from_ref(&gone)), None);
        assert!(OneKubelet::of(&[failed.clone(), gone]).is_some());
        assert_eq!(OneKubelet::of(&[failed]), None);
    }
}
