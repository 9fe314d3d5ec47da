//! What a machine should keep after a reboot, a restart or a second run of its user data, as an expectation.

use std::collections::BTreeMap;

use super::suspicions::has_succeeded;
use crate::compare::{ChangedLine, MachineDifference, MachineState};
use crate::plan::expect::{Expect, FileExpect, KubeletExpect, UnitDetails, UnitExpect};

/// The expectation that a part of the machine is as before, which the machine after a step does not meet. `None` if no
/// expectation describes the change.
#[must_use]
pub fn lasting(
    difference: &MachineDifference,
    before: &MachineState,
    after: &MachineState,
) -> Option<Expect> {
    let known = before.lines(&difference.part);
    let mut lost = Vec::new();
    let mut new = Vec::new();
    for line in &difference.lines {
        match line {
            ChangedLine::Old(line) => lost.push(line.as_str()),
            ChangedLine::New(line) if !known.contains(&line.as_str()) => new.push(line.as_str()),
            ChangedLine::New(_) => {}
        }
    }
    let expect = match difference.part.split_once(' ') {
        Some(("kubelet", "arguments")) => arguments(&lost, &new),
        Some(("file", path)) => {
            let repeated = repeated(&known, &after.lines(&difference.part));
            file(path, &lost, &new, repeated)
        }
        Some(("unit", unit)) => properties(unit, &lost),
        Some(("enabled", "units")) => enabled(&lost),
        Some(("failed", "units")) => failed(&new),
        _ => Expect::default(),
    };
    (expect != Expect::default()).then_some(expect)
}

fn arguments(lost: &[&str], new: &[&str]) -> Expect {
    let (argv, argv_absent) = (texts(lost), texts(new));
    let is_empty = argv.is_empty() && argv_absent.is_empty();
    let kubelet = KubeletExpect {
        argv,
        argv_absent,
        ..KubeletExpect::default()
    };
    Expect {
        kubelet: (!is_empty).then_some(kubelet),
        ..Expect::default()
    }
}

fn file(path: &str, lost: &[&str], new: &[&str], repeated: Option<String>) -> Expect {
    let of_content = |lines: &[&str]| {
        let lines = texts(lines).into_iter();
        lines.filter(|line| !is_mode(line)).collect::<Vec<_>>()
    };
    let (contains, mut lacks) = (of_content(lost), of_content(new));
    if contains.is_empty() && lacks.is_empty() {
        lacks.extend(repeated);
    }
    let is_empty = contains.is_empty() && lacks.is_empty();
    let file = FileExpect {
        contains,
        lacks,
        ..FileExpect::default()
    };
    let files = (!is_empty).then(|| (path.to_owned(), file));
    Expect {
        files: files.into_iter().collect(),
        ..Expect::default()
    }
}

/// Two lines in a row that a file has now, of lines that it had before: a file that grows has a line twice.
fn repeated(before: &[&str], after: &[&str]) -> Option<String> {
    let content = |lines: &[&str]| texts(lines.get(1..).unwrap_or_default());
    let (before, after) = (content(before), content(after));
    let pair = after
        .windows(2)
        .find(|pair| !before.windows(2).any(|known| known == *pair));
    pair.map(|pair| pair.join("\n"))
}

fn properties(unit: &str, lost: &[&str]) -> Expect {
    let lost = texts(lost);
    let pairs = lost.iter().filter_map(|line| line.split_once('='));
    let show: BTreeMap<_, _> = pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let details = (!show.is_empty()).then(|| {
        let details = UnitDetails {
            show,
            ..UnitDetails::default()
        };
        (unit.to_owned(), UnitExpect::Details(details))
    });
    Expect {
        units: details.into_iter().collect(),
        ..Expect::default()
    }
}

/// Lines such as `kubelet.service enabled`.
fn enabled(lost: &[&str]) -> Expect {
    let units = lost.iter().filter_map(|line| line.strip_suffix(" enabled"));
    let units = units.map(|unit| {
        let details = UnitDetails {
            enabled: Some(true),
            ..UnitDetails::default()
        };
        (unit.to_owned(), UnitExpect::Details(details))
    });
    Expect {
        units: units.collect(),
        ..Expect::default()
    }
}

fn failed(new: &[&str]) -> Expect {
    let units = new.iter().filter_map(|line| line.split(' ').next());
    units.map(has_succeeded).fold(Expect::default(), |mut all, one| {
        all.units.extend(one.units);
        all
    })
}

/// The lines without those that name values of the instance, which a file has in place of names, and hashes of files
/// that are too long.
fn texts(lines: &[&str]) -> Vec<String> {
    let is_text =
        |line: &&&str| !line.trim().is_empty() && !line.contains("{{") && !line.starts_with("SHA-256 ");
    lines
        .iter()
        .filter(is_text)
        .map(|&line| line.to_owned())
        .collect()
}

/// Whether a line of a file's state has its mode and owner, such as `rw-r--r-- root:root`.
fn is_mode(line: &str) -> bool {
    line.split_once(' ').is_some_and(|(mode, owner)| {
        mode.len() == 9 && mode.chars().all(|c| "rwxsStT-".contains(c)) && owner.contains(':')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(part: &str, before: &str, lines: &[ChangedLine]) -> Option<Expect> {
        grown(part, before, before, lines)
    }

    fn grown(part: &str, before: &str, after: &str, lines: &[ChangedLine]) -> Option<Expect> {
        let state = |text: &str| MachineState::of_machine([(part.to_owned(), text.to_owned())].into());
        let (before, after) = (state(before), state(after));
        let difference = MachineDifference {
            part: part.to_owned(),
            lines: lines.to_vec(),
        };
        lasting(&difference, &before, &after)
    }

    fn old(line: &str) -> ChangedLine {
        ChangedLine::Old(line.to_owned())
    }

    fn new(line: &str) -> ChangedLine {
        ChangedLine::New(line.to_owned())
    }

    #[test]
    fn a_file_keeps_its_lines_and_gets_no_others() {
        let before = "rw-r--r-- root:root\na\nb\nid={{ instance.id }}\n";
        let lines = [
            old("rw-r--r-- root:root"),
            old("b"),
            old("id={{ instance.id }}"),
            new("rw------- root:root"),
            new("c"),
            new("a"),
        ];
        let expect = expected("file /etc/pool", before, &lines).unwrap();
        let file = &expect.files["/etc/pool"];
        assert_eq!(
            (&file.contains[..], &file.lacks[..]),
            (&["b".to_owned()][..], &["c".to_owned()][..])
        );
        // A hash says nothing. A second copy of a line shows by the line before it.
        assert_eq!(expected("file /etc/pool", before, &[old("SHA-256 0123")]), None);
        let (one, two) = ("rw-r--r-- root:root\na\n", "rw-r--r-- root:root\na\na\n");
        let expect = grown("file /etc/pool", one, two, &[new("a")]).unwrap();
        assert_eq!(expect.files["/etc/pool"].lacks, ["a\na"]);
    }

    #[test]
    fn arguments_properties_and_units_stay() {
        let kubelet = expected("kubelet arguments", "--v=2\n", &[old("--v=2"), new("--v=3")]);
        let kubelet = kubelet.unwrap().kubelet.unwrap();
        assert_eq!(
            (&kubelet.argv[..], &kubelet.argv_absent[..]),
            (&["--v=2".to_owned()][..], &["--v=3".to_owned()][..])
        );
        let unit = expected(
            "unit kubelet.service",
            "Restart=always\n",
            &[old("Restart=always"), new("Restart=no")],
        );
        let UnitExpect::Details(details) = &unit.unwrap().units["kubelet.service"].clone() else {
            panic!("details")
        };
        assert_eq!(details.show["Restart"], "always");
        let failed = expected("failed units", "", &[new("a.service failed failed")]);
        assert_eq!(failed, Some(has_succeeded("a.service")));
        let enabled = expected(
            "enabled units",
            "a.service enabled\n",
            &[old("a.service enabled")],
        );
        let UnitExpect::Details(details) = &enabled.unwrap().units["a.service"].clone() else {
            panic!("details")
        };
        assert_eq!(details.enabled, Some(true));
        assert_eq!(expected("kernel settings", "a = 1\n", &[old("a = 1")]), None);
    }
}
