//! One entry for each difference, with all scenarios that show it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::changed_places::ChangedPlace;
use super::changed_places::likely::likely_places;
use super::difference::MachineDifference;
use super::one_kubelet::{OneKubelet, OnlyKubelet};
use super::traits::ScenarioTraits;
use crate::plan::sources::SourceLine;
use crate::vocabulary::ids::ScenarioId;

/// Hexadecimal digits of an id.
const ID_LENGTH: usize = 10;

/// A scenario that was compared.
#[derive(Debug, Clone)]
pub struct Shown {
    pub scenario: ScenarioId,
    pub traits: ScenarioTraits,
    /// Empty for a scenario that shows no difference.
    pub differences: Vec<MachineDifference>,
    /// Which version starts a kubelet, if the other one does not.
    pub only_kubelet: Option<OnlyKubelet>,
    /// Where the scripts of both versions differ.
    pub places: Vec<ChangedPlace>,
}

/// Differences that the same scenarios show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// Ten hexadecimal digits that depend on the differing lines alone; `--approve` names it.
    pub id: String,
    /// What is different. If only one version starts a kubelet, how the user data and the machine end, in the first of
    /// the scenarios.
    pub differences: Vec<MachineDifference>,
    /// What else the first of the scenarios has differently, as only one version starts a kubelet there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follows: Vec<MachineDifference>,
    /// The scenarios that show it.
    pub scenarios: Vec<ScenarioId>,
    /// What these scenarios have in common and no other has; unset if all compared scenarios show it, or if nothing
    /// separates them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_with: Option<String>,
    /// Whether every compared scenario shows it.
    pub in_all: bool,
    /// Changed lines of the new version that share most words with the differences: where the cause is likely.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<SourceLine>,
}

/// Groups the differences of all compared scenarios. What few scenarios show comes last.
#[must_use]
pub fn group(compared: &[Shown]) -> Vec<Group> {
    let mut showing: BTreeMap<&MachineDifference, Vec<usize>> = BTreeMap::new();
    let mut ending: BTreeMap<Vec<MachineDifference>, Vec<(usize, OneKubelet)>> = BTreeMap::new();
    for (index, shown) in compared.iter().enumerate() {
        let only = shown.only_kubelet;
        if let Some(one) = only.and_then(|only| OneKubelet::of(&shown.differences, only)) {
            ending.entry(one.key.clone()).or_default().push((index, one));
            continue;
        }
        for difference in &shown.differences {
            let indexes = showing.entry(difference).or_default();
            if !indexes.contains(&index) {
                indexes.push(index);
            }
        }
    }
    let mut by_scenarios: BTreeMap<Vec<usize>, Vec<MachineDifference>> = BTreeMap::new();
    for (difference, indexes) in showing {
        by_scenarios.entry(indexes).or_default().push(difference.clone());
    }
    let of_parts = by_scenarios.into_iter().map(|(indexes, differences)| {
        let id = id_of(&differences);
        one_group(compared, &indexes, id, differences, Vec::new())
    });
    let of_ends = ending.into_iter().filter_map(|(key, machines)| {
        let indexes: Vec<usize> = machines.iter().map(|(index, _)| *index).collect();
        let (_, first) = machines.into_iter().next()?;
        Some(one_group(
            compared,
            &indexes,
            id_of(&key),
            first.why,
            first.follows,
        ))
    });
    let mut groups: Vec<Group> = of_parts.chain(of_ends).collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.scenarios.len()), group.scenarios.clone()));
    groups
}

fn one_group(
    compared: &[Shown],
    indexes: &[usize],
    id: String,
    mut differences: Vec<MachineDifference>,
    mut follows: Vec<MachineDifference>,
) -> Group {
    let (mut showing, mut others) = (Vec::new(), Vec::new());
    for (index, shown) in compared.iter().enumerate() {
        match indexes.contains(&index) {
            true => showing.push(&shown.traits),
            false => others.push(&shown.traits),
        }
    }
    for parts in [&mut differences, &mut follows] {
        parts.sort_by_key(|one| rank(&one.part));
    }
    let only_with = ScenarioTraits::only_with(&showing, &others);
    Group {
        id,
        scenarios: indexes
            .iter()
            .map(|index| compared[*index].scenario.clone())
            .collect(),
        in_all: others.is_empty(),
        changed: likely_places(&compared[indexes[0]].places, &differences, only_with.as_deref()),
        only_with,
        differences,
        follows,
    }
}

/// The place of a part in a report: the end of the user data and the kubelet first, then what explains them.
fn rank(part: &str) -> usize {
    const FIRST: [&str; 6] = [
        "user data",
        "end of the machine",
        "kubelet ",
        "failed units",
        "file ",
        "calls of ",
    ];
    let rank = FIRST.iter().position(|start| part.starts_with(start));
    // The properties of a unit are many lines.
    rank.unwrap_or(FIRST.len() + usize::from(part.starts_with("unit ")))
}

fn id_of(differences: &[MachineDifference]) -> String {
    short_id(differences.iter().map(|difference| format!("{difference:?}\n")))
}

/// Ten hexadecimal digits of texts.
pub(crate) fn short_id(texts: impl IntoIterator<Item = String>) -> String {
    let mut digest = Sha256::new();
    texts.into_iter().for_each(|text| digest.update(text));
    let hex: String = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    hex[..ID_LENGTH].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::ChangedLine;

    fn difference(part: &str, line: &str) -> MachineDifference {
        MachineDifference {
            part: part.to_owned(),
            lines: vec![ChangedLine::New(line.to_owned())],
        }
    }

    fn shown(scenario: &str, traits: &[&str], differences: &[MachineDifference]) -> Shown {
        Shown {
            scenario: scenario.parse().unwrap(),
            traits: ScenarioTraits::from_names(traits),
            differences: differences.to_vec(),
            only_kubelet: None,
            places: Vec::new(),
        }
    }

    #[test]
    fn equal_differences_of_several_scenarios_are_one_group() {
        let (flag, file) = (difference("kubelet arguments", "--x"), difference("file /a", "y"));
        let groups = group(&[
            shown("a", &["IPv4"], std::slice::from_ref(&flag)),
            shown("b", &["IPv6"], &[flag.clone(), file.clone()]),
            shown("c", &["IPv4"], std::slice::from_ref(&flag)),
        ]);
        let found: Vec<_> = groups
            .iter()
            .map(|group| (group.scenarios.len(), group.only_with.as_deref(), group.in_all))
            .collect();
        assert_eq!(found, [(3, None, true), (1, Some("IPv6"), false)]);
        assert_eq!(groups[0].differences, [flag]);
        assert_eq!(groups[1].differences, [file]);
    }

    #[test]
    fn worlds_that_lose_their_kubelet_by_one_cause_are_one_group() {
        let world = |scenario: &str, address: &str| {
            let lost = MachineDifference {
                part: "kubelet arguments".to_owned(),
                lines: vec![ChangedLine::Old(format!("--node-ip={address}"))],
            };
            let of_address = difference("user data", &format!("last words: {address}"));
            let mut user_data = difference("user data", "exit code of part-001: 1");
            user_data.lines.extend(of_address.lines);
            user_data
                .lines
                .extend(difference("", "last words: failed on line 7").lines);
            Shown {
                only_kubelet: Some(OnlyKubelet::OfOld),
                ..shown(scenario, &[], &[lost, user_data, difference("file /a", address)])
            }
        };
        let worlds = [world("a", "10.0.0.1"), world("b", "fd00::1")];
        let groups = group(&worlds);
        assert_eq!(groups.len(), 1, "{groups:?}");
        assert_eq!(groups[0].scenarios.len(), 2);
        let parts =
            |parts: &[MachineDifference]| parts.iter().map(|one| one.part.clone()).collect::<Vec<_>>();
        assert_eq!(parts(&groups[0].differences), ["user data"]);
        assert_eq!(parts(&groups[0].follows), ["kubelet arguments", "file /a"]);
        // What the first of the worlds has does not change the id.
        assert_eq!(group(&worlds[1..])[0].id, groups[0].id);
    }

    #[test]
    fn the_id_depends_on_the_lines_and_not_on_the_scenarios() {
        let ids = |scenario: &str, line: &str| {
            group(&[shown(scenario, &[], &[difference("x", line)])])[0]
                .id
                .clone()
        };
        assert_eq!(ids("a", "1"), ids("b", "1"));
        assert_ne!(ids("a", "1"), ids("a", "2"));
        assert_eq!(ids("a", "1").len(), ID_LENGTH);
    }

    #[test]
    fn what_a_reader_looks_for_comes_first_in_a_group() {
        let parts = [
            "calls of eks",
            "file /etc/a",
            "kubelet arguments",
            "sockets",
            "unit kubelet.service",
            "user data",
        ];
        let differences = parts.map(|part| difference(part, "x"));
        let groups = group(&[shown("a", &[], &differences)]);
        let found: Vec<&str> = groups[0]
            .differences
            .iter()
            .map(|one| one.part.as_str())
            .collect();
        let expected = [
            "user data",
            "kubelet arguments",
            "file /etc/a",
            "calls of eks",
            "sockets",
            "unit kubelet.service",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn without_differences_there_are_no_groups() {
        assert!(group(&[shown("a", &[], &[])]).is_empty());
    }
}
