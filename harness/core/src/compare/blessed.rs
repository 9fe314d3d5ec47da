//! Approved states of machines, in a file beside the script: `nodejoin diff` compares with them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::state::MachineState;
use crate::vocabulary::ids::ScenarioId;

/// States of machines, by scenario and world.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlessedStates {
    /// What the file is, for its reader.
    about: String,
    machines: BTreeMap<ScenarioId, BlessedMachine>,
}

/// The state of one machine. That of another world has only what differs from its scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlessedMachine {
    /// The scenario whose parts the machine has, unless they are listed here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    like: Option<ScenarioId>,
    /// Parts that the machine does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    without: Vec<String>,
    /// Lines of each part.
    parts: BTreeMap<String, Vec<String>>,
}

const ABOUT: &str = "what scripts leave on the machines of scenarios; `nodejoin diff --bless` writes it";

impl BlessedStates {
    /// Reads a file.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let is_known = |id: &&ScenarioId| read.machines.get(*id).is_some_and(|one| one.like.is_none());
        let mut likes = read.machines.values().filter_map(|machine| machine.like.as_ref());
        match likes.find(|id| !is_known(id)) {
            Some(id) => Err(format!(
                "a machine is like `{id}`, which the file does not have in full"
            )),
            None => Ok(read),
        }
    }

    /// The text of the file.
    ///
    /// # Errors
    /// Never in practice: all keys are texts.
    pub fn text(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// The state of a machine; `None` if the file does not have it.
    #[must_use]
    pub fn state(&self, id: &ScenarioId) -> Option<MachineState> {
        let machine = self.machines.get(id)?;
        let mut parts = match &machine.like {
            Some(like) => self.machines.get(like)?.parts.clone(),
            None => BTreeMap::new(),
        };
        machine.without.iter().for_each(|part| drop(parts.remove(part)));
        parts.extend(machine.parts.clone());
        let joined = |lines: Vec<String>| lines.into_iter().map(|line| line + "\n").collect();
        let parts = parts.into_iter().map(|(part, lines)| (part, joined(lines)));
        Some(MachineState::of_machine(parts.collect()))
    }

    /// The scenarios and worlds of the file.
    pub fn ids(&self) -> impl Iterator<Item = &ScenarioId> {
        self.machines.keys()
    }

    /// Whether the file has machines of other worlds.
    #[must_use]
    pub fn has_worlds(&self) -> bool {
        self.machines.values().any(|machine| machine.like.is_some())
    }

    /// The states of this file, with these in place of those that it had. Each comes with the scenario whose world it
    /// changes, if it is that of another world.
    #[must_use]
    pub fn with(&self, states: &[(ScenarioId, Option<ScenarioId>, MachineState)]) -> Self {
        let kept = self.machines.iter().filter_map(|(id, machine)| {
            let state = self.state(id)?;
            Some((id.clone(), (machine.like.clone(), state)))
        });
        let mut all: BTreeMap<ScenarioId, (Option<ScenarioId>, MachineState)> = kept.collect();
        let new = states.iter().cloned();
        all.extend(new.map(|(id, like, state)| (id, (like, state))));
        let machines = all.iter().map(|(id, (like, state))| {
            let base = like.as_ref().and_then(|like| Some((like, &all.get(like)?.1)));
            let machine = match base {
                Some((like, base)) => BlessedMachine::like(like, base, state),
                None => BlessedMachine {
                    parts: lines_of(state, |_| true),
                    ..BlessedMachine::default()
                },
            };
            (id.clone(), machine)
        });
        Self {
            about: ABOUT.to_owned(),
            machines: machines.collect(),
        }
    }
}

impl BlessedMachine {
    fn like(like: &ScenarioId, base: &MachineState, state: &MachineState) -> Self {
        let gone = base
            .names()
            .filter(|part| state.names().all(|other| other != *part));
        Self {
            like: Some(like.clone()),
            without: gone.map(str::to_owned).collect(),
            parts: lines_of(state, |part| {
                base.names().all(|other| other != part) || base.lines(part) != state.lines(part)
            }),
        }
    }
}

fn lines_of(state: &MachineState, is_listed: impl Fn(&str) -> bool) -> BTreeMap<String, Vec<String>> {
    let lines = |part: &str| state.lines(part).into_iter().map(str::to_owned).collect();
    let parts = state.names().filter(|part| is_listed(part));
    parts.map(|part| (part.to_owned(), lines(part))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(parts: &[(&str, &str)]) -> MachineState {
        let parts = parts
            .iter()
            .map(|(part, text)| ((*part).to_owned(), (*text).to_owned()));
        MachineState::of_machine(parts.collect())
    }

    fn id(text: &str) -> ScenarioId {
        text.parse().unwrap()
    }

    fn states() -> Vec<(ScenarioId, Option<ScenarioId>, MachineState)> {
        let base = state(&[
            ("kubelet arguments", "--a\n--b\n"),
            ("file /etc/a", "1\n"),
            ("mounts", "x\n"),
        ]);
        let world = state(&[
            ("kubelet arguments", "--a\n"),
            ("file /etc/a", "1\n"),
            ("file /etc/b", "2\n"),
        ]);
        vec![
            (id("joins"), None, base),
            (id("joins@ipv6"), Some(id("joins")), world),
        ]
    }

    #[test]
    fn a_file_keeps_every_state_and_a_world_only_what_differs() {
        let blessed = BlessedStates::default().with(&states());
        let text = blessed.text().unwrap();
        let read = BlessedStates::parse(&text).unwrap();
        assert_eq!(read, blessed);
        for (id, _, state) in states() {
            assert_eq!(read.state(&id), Some(state), "{text}");
        }
        assert_eq!(text.matches("file /etc/a").count(), 1, "{text}");
        assert!(read.has_worlds() && !BlessedStates::default().has_worlds());
        assert_eq!(read.state(&id("other")), None);
    }

    #[test]
    fn other_states_of_the_file_stay() {
        let blessed = BlessedStates::default().with(&states());
        let changed = state(&[("kubelet arguments", "--c\n")]);
        let next = blessed.with(&[
            (id("joins"), None, changed.clone()),
            (id("other"), None, changed.clone()),
        ]);
        assert_eq!(next.state(&id("joins")), Some(changed));
        assert_eq!(next.state(&id("joins@ipv6")), blessed.state(&id("joins@ipv6")));
        assert_eq!(next.ids().count(), 3);
    }

    #[test]
    fn a_file_that_lacks_a_base_is_refused() {
        let text = r#"{ "about": "", "machines": { "a@b": { "like": "a", "parts": {} } } }"#;
        let error = BlessedStates::parse(text).unwrap_err();
        assert!(error.contains("like `a`"), "{error}");
        assert!(BlessedStates::parse("{}").is_err());
    }
}
