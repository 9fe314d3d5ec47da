//! Expectations that notice a change of a script, from the machines that it leaves with and without the change.

use std::collections::BTreeMap;

use crate::compare::{CALLS_OF, ChangedLine, MachineDifference, MachineState};
use crate::judge::verdict::Verdict;
use crate::plan::expect::{CountExpect, Expect, FileExpect, KubeletExpect, UnitDetails, UnitExpect};

/// Longest line that an expectation quotes.
const LONGEST: usize = 200;
/// Expectations that are tried together.
const MOST: usize = 16;

/// One value of the machine that the script leaves, and the change does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Noticed {
    Argument(String),
    NoArgument(String),
    Contains {
        path: String,
        text: String,
    },
    Lacks {
        path: String,
        text: String,
    },
    Mode {
        path: String,
        mode: String,
    },
    Exists {
        path: String,
        exists: bool,
    },
    Enabled {
        unit: String,
        enabled: bool,
    },
    Property {
        unit: String,
        name: String,
        value: String,
    },
    Calls {
        name: String,
        count: u32,
    },
}

/// The values that differ between the machine of a script and that of a changed one, as far as an expectation can check
/// them.
#[must_use]
pub fn noticed(old: &MachineState, new: &MachineState, differences: &[MachineDifference]) -> Vec<Noticed> {
    let mut found = Vec::new();
    for difference in differences {
        for one in of_part(old, new, difference) {
            if !found.contains(&one) {
                found.push(one);
            }
        }
    }
    found.sort_by_key(Noticed::rank);
    found.truncate(MOST);
    found
}

/// One expectation of all values.
#[must_use]
pub fn together<'a>(values: impl IntoIterator<Item = &'a Noticed>) -> Expect {
    let mut expect = Expect::default();
    values.into_iter().for_each(|value| value.add_to(&mut expect));
    expect
}

fn of_part(old: &MachineState, new: &MachineState, difference: &MachineDifference) -> Vec<Noticed> {
    let part = difference.part.as_str();
    let (before, after) = (old.lines(part), new.lines(part));
    if part == "kubelet arguments" {
        return each(difference, |line, is_old| match is_old {
            true => Some(Noticed::Argument(line.to_owned())),
            false => line
                .starts_with("--")
                .then(|| Noticed::NoArgument(line.to_owned())),
        });
    }
    if part == "enabled units" {
        return each(difference, |line, is_old| {
            let (unit, state) = line.split_once(' ')?;
            let unit = unit.to_owned();
            (state == "enabled").then_some(Noticed::Enabled {
                unit,
                enabled: is_old,
            })
        });
    }
    if let Some(unit) = part.strip_prefix("unit ") {
        return each(difference, |line, is_old| {
            // Commands have times and process ids, and lists of units depend on the rest of the machine.
            let (name, value) = line.split_once('=').filter(|_| is_old && !line.contains('{'))?;
            Some(Noticed::Property {
                unit: unit.to_owned(),
                name: name.to_owned(),
                value: value.to_owned(),
            })
        });
    }
    if let Some(service) = part.strip_prefix(CALLS_OF) {
        return calls(service, &before, &after);
    }
    let Some((kind, path)) = part.split_once(' ').filter(|(_, path)| path.starts_with('/')) else {
        return Vec::new();
    };
    let path = path.to_owned();
    match (before.first(), after.first()) {
        (Some(_), None) => vec![Noticed::Exists { path, exists: true }],
        (None, Some(_)) => vec![Noticed::Exists { path, exists: false }],
        (Some(first), Some(second)) if first != second => mode(first, &path).into_iter().collect(),
        _ if kind == "file" => each(difference, |line, is_old| {
            let (path, text) = (path.clone(), text_of(line)?);
            let other = if is_old { &after } else { &before };
            // A text of both files tells nothing.
            let is_in_both = other.iter().any(|line| line.contains(&text));
            match (is_in_both, is_old) {
                (true, _) => None,
                (false, true) => Some(Noticed::Contains { path, text }),
                (false, false) => Some(Noticed::Lacks { path, text }),
            }
        }),
        _ => Vec::new(),
    }
}

/// A value for each differing line whose text is the same on every machine.
fn each(difference: &MachineDifference, of: impl Fn(&str, bool) -> Option<Noticed>) -> Vec<Noticed> {
    let lines = difference.lines.iter();
    let lines = lines.map(|line| match line {
        ChangedLine::Old(line) => (line.as_str(), true),
        ChangedLine::New(line) => (line.as_str(), false),
    });
    let is_usable = |line: &str| !line.trim().is_empty() && line.len() <= LONGEST && !line.contains("{{");
    lines
        .filter(|(line, _)| is_usable(line))
        .filter_map(|(line, is_old)| of(line, is_old))
        .collect()
}

/// The text of a line without its indentation and without the comma that depends on the next line.
fn text_of(line: &str) -> Option<String> {
    let text = line.trim().trim_end_matches(',');
    (text.len() > 2 && !text.starts_with("SHA-256 ")).then(|| text.to_owned())
}

/// The mode of `rw-r--r-- root:root`.
fn mode(line: &str, path: &str) -> Option<Noticed> {
    let letters = line.split_once(' ')?.0;
    let bits = letters
        .chars()
        .take(9)
        .fold(0, |bits, letter| bits << 1 | u32::from(letter != '-'));
    (letters.len() == 9).then(|| Noticed::Mode {
        path: path.to_owned(),
        mode: format!("{bits:04o}"),
    })
}

/// Operations that the machines call in different numbers.
fn calls(service: &str, before: &[&str], after: &[&str]) -> Vec<Noticed> {
    let counts = |lines: &[&str]| {
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for line in lines {
            let operation = line.split(' ').next().unwrap_or_default();
            *counts.entry(format!("{service}.{operation}")).or_default() += 1;
        }
        counts
    };
    let (before, after) = (counts(before), counts(after));
    let names = before.keys().chain(after.keys());
    names
        .filter(|name| before.get(*name) != after.get(*name))
        .map(|name| Noticed::Calls {
            name: name.clone(),
            count: before.get(name).copied().unwrap_or_default(),
        })
        .collect()
}

impl Noticed {
    /// What says most about a node comes first.
    fn rank(&self) -> u8 {
        match self {
            Self::Argument(_) | Self::NoArgument(_) => 0,
            Self::Contains { .. } | Self::Exists { .. } | Self::Mode { .. } => 1,
            Self::Lacks { .. } | Self::Enabled { .. } => 2,
            Self::Calls { .. } => 3,
            Self::Property { .. } => 4,
        }
    }

    fn add_to(&self, expect: &mut Expect) {
        match self {
            Self::Argument(text) => {
                let kubelet = expect.kubelet.get_or_insert_with(KubeletExpect::default);
                kubelet.argv.push(text.clone());
            }
            Self::NoArgument(text) => {
                let kubelet = expect.kubelet.get_or_insert_with(KubeletExpect::default);
                kubelet.argv_absent.push(text.clone());
            }
            Self::Contains { path, text } => file(expect, path).contains.push(text.clone()),
            Self::Lacks { path, text } => file(expect, path).lacks.push(text.clone()),
            Self::Mode { path, mode } => file(expect, path).mode = Some(mode.clone()),
            Self::Exists { path, exists } => file(expect, path).exists = Some(*exists),
            Self::Enabled { unit, enabled } => {
                if let Some(unit) = details(expect, unit) {
                    unit.enabled = Some(*enabled);
                }
            }
            Self::Property { unit, name, value } => {
                if let Some(unit) = details(expect, unit) {
                    unit.show.insert(name.clone(), value.clone());
                }
            }
            Self::Calls { name, count } => {
                expect.aws.insert(name.clone(), CountExpect::Count(*count));
            }
        }
    }

    /// The key of its check, and what the check expects if several have the key.
    fn check(&self) -> (String, Option<String>) {
        match self {
            Self::Argument(text) => (format!("kubelet.argv.{text}"), None),
            Self::NoArgument(text) => (format!("kubelet.argv_absent.{text}"), None),
            Self::Contains { path, text } => (format!("files.{path}.contains"), Some(text.clone())),
            Self::Lacks { path, text } => (format!("files.{path}.lacks"), Some(format!("no {text}"))),
            Self::Mode { path, .. } => (format!("files.{path}.mode"), None),
            Self::Exists { path, .. } => (format!("files.{path}.exists"), None),
            Self::Enabled { unit, .. } => (format!("units.{unit}.enabled"), None),
            Self::Property { unit, name, .. } => (format!("units.{unit}.{name}"), None),
            Self::Calls { name, .. } => (format!("aws.{name}"), None),
        }
    }

    /// Whether its check held; `None` if the verdict does not have it.
    #[must_use]
    pub fn held(&self, verdict: &Verdict) -> Option<bool> {
        let (key, expected) = self.check();
        let is_it = |expects: &str| expected.as_ref().is_none_or(|expected| expected == expects);
        let mut checks = verdict.checks.iter();
        let found = checks.find(|check| check.key == key && is_it(&check.expected));
        found.map(|check| check.held)
    }
}

fn file<'a>(expect: &'a mut Expect, path: &str) -> &'a mut FileExpect {
    expect.files.entry(path.to_owned()).or_default()
}

fn details<'a>(expect: &'a mut Expect, unit: &str) -> Option<&'a mut UnitDetails> {
    let unit = expect
        .units
        .entry(unit.to_owned())
        .or_insert_with(|| UnitExpect::Details(UnitDetails::default()));
    match unit {
        UnitExpect::Details(details) => Some(details),
        UnitExpect::State(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::compare::differences;

    fn state(parts: &[(&str, &str)]) -> MachineState {
        let parts = parts
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        MachineState::of_machine(parts.collect::<BTreeMap<_, _>>())
    }

    #[test]
    fn each_kind_of_difference_has_an_expectation() {
        let old = state(&[
            (
                "kubelet arguments",
                "/usr/bin/kubelet\n--a=1\n--ip={{ instance.private_ip }}\n",
            ),
            ("file /etc/x", "rw-r--r-- root:root\n  \"pods\": 29,\n"),
            ("file /etc/key", "rw------- root:root\n"),
            ("file /etc/gone", "rw-r--r-- root:root\n"),
            ("enabled units", "docker.service enabled\n"),
            ("unit x.service", "Slice=a.slice\nExecStart={ path=/x }\n"),
            (
                "calls of eks",
                "DescribeCluster at h a 200\nDescribeCluster at h a 200\n",
            ),
            ("mounts", "a\n"),
        ]);
        let new = state(&[
            ("kubelet arguments", "/usr/bin/kubelet\n--b=1\n"),
            ("file /etc/x", "rw-r--r-- root:root\n  \"pods\": 30,\n"),
            ("file /etc/key", "rw-rw-r-- root:root\n"),
            ("file /etc/new", "rw-r--r-- root:root\n"),
            ("unit x.service", "Slice=b.slice\nExecStart={ path=/y }\n"),
            ("calls of eks", "DescribeCluster at h a 200\n"),
        ]);
        let found = noticed(&old, &new, &differences(&old, &new, None));
        let expect = serde_json::to_value(together(&found)).unwrap();
        assert_eq!(expect["kubelet"]["argv"], serde_json::json!(["--a=1"]));
        assert_eq!(expect["kubelet"]["argv_absent"], serde_json::json!(["--b=1"]));
        assert_eq!(expect["files"]["/etc/x"]["contains"][0], "\"pods\": 29");
        assert_eq!(expect["files"]["/etc/x"]["lacks"][0], "\"pods\": 30");
        assert_eq!(expect["files"]["/etc/key"]["mode"], "0600");
        assert_eq!(expect["files"]["/etc/gone"]["exists"], true);
        assert_eq!(expect["files"]["/etc/new"]["exists"], false);
        assert_eq!(expect["units"]["docker.service"]["enabled"], true);
        assert_eq!(
            expect["units"]["x.service"]["show"],
            serde_json::json!({ "Slice": "a.slice" })
        );
        assert_eq!(expect["aws"], serde_json::json!({ "eks.DescribeCluster": 2 }));
    }

    #[test]
    fn equal_machines_have_none() {
        let old = state(&[("mounts", "a\n")]);
        let new = state(&[("mounts", "b\n")]);
        assert_eq!(noticed(&old, &old, &[]), []);
        assert_eq!(noticed(&old, &new, &differences(&old, &new, None)), []);
    }
}
