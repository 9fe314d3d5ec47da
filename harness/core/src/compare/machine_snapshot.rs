//! The machine of a scenario in a text file, whose changes a reviewer reads.

use std::collections::BTreeMap;

use super::state::MachineState;
use crate::kubernetes::Minor;
use crate::vocabulary::wildcard::matches;

const HEAD: &str =
    "# The machine of this scenario when its kubelet starts. `nodejoin run --bless` writes it anew.\n";
/// Starts the line with the version of the kubelet.
const KUBELET: &str = "# kubelet ";
/// Starts the head of each part.
const MARK: &str = "==> ";
/// Stands before each line of a part, so that none is taken for a head.
const INDENT: &str = "  ";
/// Names of parts that depend on the host and on systemd begin with one of these. The files of units are parts of their
/// own.
const OF_THE_HOST: [&str; 3] = ["unit ", "mounts", "kernel settings"];
/// Units of the system itself begin with one of these.
const OF_THE_SYSTEM: [&str; 4] = ["systemd-", "cloud-", "dbus.", "run-"];
/// Stands for a word that is new at each boot, such as a time or a generated key.
const ANY: &str = "{{ any }}";
/// Kinds of units that scripts start.
const STARTED: [&str; 4] = [".service ", ".socket ", ".timer ", ".path "];

/// What user data left on a machine, and the kubelet that it was for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSnapshot {
    pub kubelet: Minor,
    pub state: MachineState,
}

impl MachineSnapshot {
    /// The snapshot of a machine, without the parts that match one of these patterns.
    #[must_use]
    pub fn of(kubelet: Minor, state: &MachineState, except: &[String]) -> Self {
        let parts = state.names().filter_map(|part| {
            let lines = state.lines(part).into_iter();
            let lines: Vec<&str> = lines.filter(|line| Self::has(part, line, except)).collect();
            let text = lines
                .iter()
                .map(|line| without_dates(&with_one_network(line)) + "\n")
                .collect();
            (!lines.is_empty()).then(|| (part.to_owned(), text))
        });
        Self {
            kubelet,
            state: MachineState::of_machine(parts.collect()),
        }
    }

    /// Whether snapshots have this line of a part: not what only the host, systemd, cloud-init or the build of an
    /// image decides.
    #[must_use]
    pub fn has(part: &str, line: &str, except: &[String]) -> bool {
        if except.iter().any(|except| matches(except, part)) {
            return false;
        }
        match part {
            "enabled units" => line.ends_with(" enabled"),
            "running units" => {
                STARTED.iter().any(|kind| line.contains(kind))
                    && !OF_THE_SYSTEM.iter().any(|start| line.starts_with(start))
            }
            // cloud-init reads every path itself.
            "metadata requests" => !line.ends_with(" (v2) 200"),
            // It searches its data source by these names.
            "DNS queries" => !line.ends_with(" unknown"),
            "requests to the registry" => !line.contains("@sha256:"),
            part => !OF_THE_HOST.iter().any(|start| part.starts_with(start)),
        }
    }

    /// The snapshot with a mark in place of each word that a second boot of the same machine has differently.
    #[must_use]
    pub fn with_marks(&self, again: &Self) -> Self {
        self.with_lines(|part, lines| {
            let others = again.state.lines(part);
            match others.len() == lines.len() {
                true => lines
                    .iter()
                    .zip(&others)
                    .map(|(one, other)| marked(one, other))
                    .collect(),
                false => {
                    let kept = lines.iter().filter(|line| others.contains(line));
                    kept.map(|line| (*line).to_owned()).collect()
                }
            }
        })
    }

    /// The snapshot with the words of a machine in place of its marks.
    #[must_use]
    pub fn without_marks(&self, machine: &Self) -> Self {
        self.with_lines(|part, lines| {
            let others = machine.state.lines(part);
            let fitted = |(index, line): (usize, &&str)| match others.get(index) {
                Some(other) if fits(line, other) => (*other).to_owned(),
                _ => (*line).to_owned(),
            };
            lines.iter().enumerate().map(fitted).collect()
        })
    }

    fn with_lines(&self, changed: impl Fn(&str, &[&str]) -> Vec<String>) -> Self {
        let parts = self.state.names().map(|part| {
            let lines = changed(part, &self.state.lines(part));
            (
                part.to_owned(),
                lines.iter().map(|line| format!("{line}\n")).collect(),
            )
        });
        Self {
            kubelet: self.kubelet,
            state: MachineState::of_machine(parts.collect()),
        }
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{HEAD}{KUBELET}{}\n", self.kubelet);
        for part in self.state.names() {
            text.push_str(&format!("{MARK}{part}\n"));
            for line in self.state.lines(part) {
                match line {
                    "" => text.push('\n'),
                    line => text.push_str(&format!("{INDENT}{line}\n")),
                }
            }
        }
        text
    }

    /// Reads a file.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let kubelet = text.lines().find_map(|line| line.strip_prefix(KUBELET));
        let kubelet = kubelet.ok_or_else(|| format!("it has no line `{KUBELET}1.x`"))?;
        let kubelet = kubelet
            .parse()
            .map_err(|_| format!("`{KUBELET}{kubelet}` is not a version"))?;
        let mut parts: BTreeMap<String, String> = BTreeMap::new();
        let mut part = None;
        for (index, line) in text.lines().enumerate() {
            match (line.strip_prefix(MARK), part.as_ref()) {
                (Some(name), _) => {
                    parts.insert(name.to_owned(), String::new());
                    part = Some(name.to_owned());
                }
                (None, Some(name)) => {
                    let content = match line {
                        "" => Some(""),
                        line => line.strip_prefix(INDENT),
                    };
                    let content = content.ok_or_else(|| format!("line {} belongs to no part", index + 1))?;
                    parts
                        .entry(name.clone())
                        .or_default()
                        .push_str(&format!("{content}\n"));
                }
                (None, None) => {}
            }
        }
        Ok(Self {
            kubelet,
            state: MachineState::of_machine(parts),
        })
    }
}

/// A line with a mark for each word that another boot has differently; for the whole line if it has other words.
fn marked(line: &str, other: &str) -> String {
    if line == other {
        return line.to_owned();
    }
    let (words, others): (Vec<&str>, Vec<&str>) = (line.split(' ').collect(), other.split(' ').collect());
    if words.len() != others.len() {
        return ANY.to_owned();
    }
    let marked = words
        .iter()
        .zip(&others)
        .map(|(word, other)| match word == other {
            true => *word,
            false => ANY,
        });
    marked.collect::<Vec<_>>().join(" ")
}

/// Whether a line with marks can be this one.
fn fits(line: &str, other: &str) -> bool {
    if line == ANY {
        return true;
    }
    // A mark has spaces of its own.
    let (line, other) = (line.replace(ANY, "\0"), other.replace(ANY, "\0"));
    let (words, others): (Vec<&str>, Vec<&str>) = (line.split(' ').collect(), other.split(' ').collect());
    words.len() == others.len()
        && words
            .iter()
            .zip(&others)
            .all(|(word, other)| *word == "\0" || word == other)
}

/// A line with a mark in place of each date in the format of `date` and `ctime`, such as `Fri Nov 27 10:01:02 2026`:
/// two boots on one day have most of its words in common.
pub(super) fn without_dates(line: &str) -> String {
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    /// Words of a date with a time zone, and a blank before a day of one digit.
    const LONGEST: usize = 7;
    let words: Vec<&str> = line.split(' ').collect();
    let is_year = |word: &&str| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    let mut kept = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let date = &words[at..words.len().min(at + LONGEST)];
        let is_date = DAYS.contains(word) && date.get(1).is_some_and(|month| MONTHS.contains(month));
        let year = date.iter().position(is_year).filter(|_| is_date);
        kept.push(if year.is_some() { ANY } else { word });
        at += year.map_or(1, |year| year + 1);
    }
    kept.join(" ")
}

/// A text with the network of a run, which is a random one of 198.18.0.0/15, replaced by the first of them.
fn with_one_network(text: &str) -> String {
    let mut rest = text;
    let mut changed = String::new();
    while let Some(at) = ["198.18.", "198.19."]
        .iter()
        .filter_map(|start| rest.find(start))
        .min()
    {
        let (before, found) = rest.split_at(at);
        let after = &found[START..];
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        changed.push_str(before);
        match digits > 0 && after[digits..].starts_with('.') {
            true => {
                let host = &after[digits..];
                let end = 1 + host[1..]
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(host.len() - 1);
                changed.push_str("198.18.0");
                changed.push_str(&host[..end]);
                // Tables are as wide as their addresses.
                rest = host[end..].trim_start_matches(' ');
                if rest.len() < host.len() - end {
                    changed.push(' ');
                }
            }
            false => {
                changed.push_str(&found[..START]);
                rest = after;
            }
        }
    }
    changed + rest
}

/// Length of `198.18.`.
const START: usize = 7;

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(text: &str) -> MachineSnapshot {
        let parts = [("file /etc/x".to_owned(), text.to_owned())].into();
        MachineSnapshot::of(Minor::new(20), &MachineState::of_machine(parts), &[])
    }

    #[test]
    fn what_each_boot_has_differently_is_marked_and_fits_any_machine() {
        let first = snapshot("started at 10:01 by root\nkey: abc\n");
        let marked = first.with_marks(&snapshot("started at 10:02 by root\nkey: d e\n"));
        assert!(
            marked
                .text()
                .ends_with("  started at {{ any }} by root\n  {{ any }}\n"),
            "{}",
            marked.text()
        );
        let read = MachineSnapshot::parse(&marked.text()).unwrap();
        for (text, is_equal) in [
            ("started at 11:30 by root\nkey: f\n", true),
            ("started at 11:30 by nobody\nkey: f\n", false),
            ("started at 11:30 by root\n", false),
        ] {
            let now = snapshot(text);
            assert_eq!(read.without_marks(&now) == now, is_equal, "{text}");
        }
        let longer = first.with_marks(&snapshot("started at 10:01 by root\nkey: abc\nmore\n"));
        assert_eq!(longer, first);
    }

    #[test]
    fn the_network_of_a_run_is_not_in_a_snapshot() {
        let text = "198.19.98.2   a\nb 198.18.45.1:80 198.18.x 198.18.45.\n";
        let expected = "198.18.0.2 a\nb 198.18.0.1:80 198.18.x 198.18.0.\n";
        assert_eq!(snapshot(text), snapshot(expected));
        assert_eq!(with_one_network(text), expected);
    }

    #[test]
    fn a_date_is_not_in_a_snapshot() {
        for (text, expected) in [
            (
                "# Completed on Fri Nov 27 22:15:01 2026",
                "# Completed on {{ any }}",
            ),
            ("at Tue Dec  1 02:15:01 UTC 2026 by root", "at {{ any }} by root"),
            ("Sun Mar is no date 12345", "Sun Mar is no date 12345"),
            ("Fri 27 Nov", "Fri 27 Nov"),
        ] {
            assert_eq!(without_dates(text), expected);
        }
        let of = |day: &str, word: &str| snapshot(&format!("{word} on {day} 10:00:00 2026\n"));
        let marked = of("Fri Nov 27", "a").with_marks(&of("Fri Nov 27", "b"));
        let now = of("Sat Nov 28", "c");
        assert_eq!(marked.without_marks(&now), now);
    }

    fn state() -> MachineState {
        let parts = [
            ("enabled units", "kubelet.service enabled\nx.service masked\n"),
            ("file /etc/a", "==> no head\n\n  indented\n# kubelet 1.99\n"),
            ("file /run/key", "1\n"),
            ("kernel settings", "fs/file-max = 1\n"),
            (
                "metadata requests",
                "GET a (v2) 200\nGET b (v2) 404\nGET a (no token) 200\n",
            ),
            ("requests to the registry", "blob at h p@sha256:1 200\n"),
            (
                "running units",
                "systemd-a.service active exited\na.mount active mounted\nkubelet.service active running\n",
            ),
            ("unit kubelet.service", "LimitNOFILE=1\n"),
        ];
        MachineState::of_machine(
            parts
                .map(|(part, text)| (part.to_owned(), text.to_owned()))
                .into(),
        )
    }

    #[test]
    fn a_file_has_each_line_but_those_of_the_host_and_of_the_system() {
        let except = ["file /run/*".to_owned()];
        let snapshot = MachineSnapshot::of(Minor::new(20), &state(), &except);
        let text = snapshot.text();
        assert_eq!(
            text,
            format!(
                "{HEAD}# kubelet 1.20\n==> enabled units\n  kubelet.service enabled\n==> file /etc/a\n  ==> no head\n\n    \
                 indented\n  # kubelet 1.99\n==> metadata requests\n  GET b (v2) 404\n  GET a (no token) 200\n\
                 ==> running units\n  kubelet.service active running\n"
            )
        );
        assert_eq!(MachineSnapshot::parse(&text).unwrap(), snapshot);
    }

    #[test]
    fn a_file_of_something_else_is_refused() {
        for (text, expected) in [
            ("", "it has no line `# kubelet 1.x`"),
            ("# kubelet one\n", "`# kubelet one` is not a version"),
            ("# kubelet 1.20\n==> a\nb\n", "line 3 belongs to no part"),
        ] {
            assert_eq!(MachineSnapshot::parse(text).unwrap_err(), expected);
        }
    }
}
