//! The differing lines of two states, without those that differ between two runs of the same version.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lines::ChangedLine;
use super::noise::{Noise, changed};
use super::state::MachineState;

/// A part of the machine that the two versions leave differently.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct MachineDifference {
    /// The part: `kubelet arguments`, `calls of eks`, `file /etc/...`.
    pub part: String,
    /// Its lines that are new, gone or changed, in order.
    pub lines: Vec<ChangedLine>,
}

impl MachineDifference {
    /// Exchanges the two versions.
    pub fn swap(&mut self) {
        for line in &mut self.lines {
            *line = match std::mem::replace(line, ChangedLine::Old(String::new())) {
                ChangedLine::Old(text) => ChangedLine::New(text),
                ChangedLine::New(text) => ChangedLine::Old(text),
            };
        }
        // As a reader expects: what is gone before what is new, in each run of lines.
        self.lines.sort_by_key(|line| matches!(line, ChangedLine::New(_)));
    }
}

/// The parts in which two states differ. `again` is the state of a second run of the old version: what differs between
/// both runs of the old version is noise.
#[must_use]
pub fn differences(
    old: &MachineState,
    new: &MachineState,
    again: Option<&MachineState>,
) -> Vec<MachineDifference> {
    let parts: BTreeSet<&str> = old.names().chain(new.names()).collect();
    let difference = |part: &str| {
        let (before, after) = (old.lines(part), new.lines(part));
        let noise = again.map_or(Noise::None, |again| Noise::of(&before, &again.lines(part)));
        let lines = without_moved(part, changed(&before, &after, &noise));
        (!lines.is_empty()).then(|| MachineDifference {
            part: part.to_owned(),
            lines,
        })
    };
    parts.into_iter().filter_map(difference).collect()
}

/// The parts in which two boots of one world differ by more than words with digits, which are times and ids. Only parts
/// that decide how a kubelet starts count: others depend on how far the machine got.
#[must_use]
pub fn settled_differences(first: &MachineState, second: &MachineState) -> Vec<String> {
    let is_settled = |part: &&str| SETTLED.iter().any(|start| part.starts_with(start));
    let parts: BTreeSet<&str> = first.names().chain(second.names()).filter(is_settled).collect();
    let differs = |part: &&str| {
        let (one, other) = (first.lines(part), second.lines(part));
        matches!(Noise::of(&one, &other), Noise::Lines { .. })
    };
    parts.into_iter().filter(differs).map(str::to_owned).collect()
}

/// The parts in which a machine changed after its start, among those that should stay. `again` is a second boot of the
/// same world, whose differences are noise. After a reboot only what is lost or changed counts: the system writes files
/// and settings while it boots.
#[must_use]
pub fn unstable_differences(
    before: &MachineState,
    after: &MachineState,
    again: &MachineState,
    is_rebooted: bool,
) -> Vec<MachineDifference> {
    let mut found = differences(before, after, Some(again));
    let is_stable = |part: &str| {
        SETTLED
            .iter()
            .chain(&LASTING)
            .any(|start| part.starts_with(start))
    };
    found.retain(|one| is_stable(&one.part));
    if is_rebooted {
        found.retain(|one| one.part == FAILED || !before.lines(&one.part).is_empty());
        let settings = found.iter_mut().filter(|one| one.part == SETTINGS);
        settings.for_each(|one| one.lines.retain(|line| matches!(line, ChangedLine::Old(_))));
        found.retain(|one| !one.lines.is_empty());
    }
    found
}

const SETTINGS: &str = "kernel settings";
const FAILED: &str = "failed units";
/// Parts that a reboot, a restart or a second run should not change either.
const LASTING: [&str; 2] = [SETTINGS, FAILED];

/// Names of parts that decide how a kubelet starts begin with one of these.
const SETTLED: [&str; 4] = [
    "kubelet ",
    "enabled units",
    "file /etc/",
    "file /var/lib/kubelet/",
];

/// The lines without those of the user data that differ in the number of a line alone: the script has other lines
/// before.
fn without_moved(part: &str, lines: Vec<ChangedLine>) -> Vec<ChangedLine> {
    if !part.starts_with("user data") {
        return lines;
    }
    let unnumbered = |line: &ChangedLine| match line {
        ChangedLine::Old(text) | ChangedLine::New(text) => without_line_numbers(text),
    };
    let side = |is_old: bool| -> BTreeSet<String> {
        let of_side = lines
            .iter()
            .filter(|line| matches!(line, ChangedLine::Old(_)) == is_old);
        of_side.map(unnumbered).collect()
    };
    let (old, new) = (side(true), side(false));
    let is_moved = |line: &ChangedLine| {
        let text = unnumbered(line);
        old.contains(&text) && new.contains(&text)
    };
    lines.iter().filter(|line| !is_moved(line)).cloned().collect()
}

/// `line #` for `line 248`.
fn without_line_numbers(text: &str) -> String {
    let mut parts = text.split("line ");
    let mut found = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        found.push_str(if rest.len() < part.len() {
            "line #"
        } else {
            "line "
        });
        found.push_str(rest);
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn state(part: &str, text: &str) -> MachineState {
        MachineState::of_machine(BTreeMap::from([(part.to_owned(), text.to_owned())]))
    }

    fn lines(old: &str, new: &str, again: Option<&str>) -> Vec<String> {
        let again = again.map(|again| state("x", again));
        let found = differences(&state("x", old), &state("x", new), again.as_ref());
        let all = found.into_iter().flat_map(|difference| difference.lines);
        all.map(|line| match line {
            ChangedLine::Old(text) => format!("- {text}"),
            ChangedLine::New(text) => format!("+ {text}"),
        })
        .collect()
    }

    #[test]
    fn two_boots_differ_by_settled_parts_and_not_by_times() {
        let state = |arguments: &str, started: &str| {
            let parts = [
                ("kubelet arguments", arguments.to_owned()),
                (
                    "file /etc/started",
                    format!("rw-r--r-- root:root\nat 20:0{started}\n"),
                ),
                ("running units", format!("a-{started}.service\nb\n")),
            ];
            let parts = parts.map(|(part, text)| (part.to_owned(), text));
            MachineState::of_machine(parts.into())
        };
        let first = state("--node-labels=a=b\n", "1");
        assert_eq!(
            settled_differences(&first, &state("--node-labels=a=b\n", "2")),
            [""; 0]
        );
        assert_eq!(
            settled_differences(&first, &state("--node-labels=\n", "2")),
            ["kubelet arguments"]
        );
    }

    #[test]
    fn a_machine_is_unstable_by_parts_that_should_stay_and_not_by_noise() {
        let state = |arguments: &str, started: &str| {
            let parts = [
                ("kubelet arguments", arguments.to_owned()),
                ("file /etc/started", format!("at {started}\n")),
                ("running units", started.to_owned()),
                ("kernel settings", "vm.swappiness = 10\n".to_owned()),
            ];
            MachineState::of_machine(parts.map(|(part, text)| (part.to_owned(), text)).into())
        };
        let (first, second) = (
            state("--max-pods=29\n", "10:01"),
            state("--max-pods=29\n", "10:02"),
        );
        let after = |arguments| unstable_differences(&first, &state(arguments, "10:07"), &second, false);
        assert_eq!(after("--max-pods=29\n"), []);
        // Digits count, unless two boots differ there.
        assert_eq!(after("--max-pods=17\n")[0].part, "kubelet arguments");
        let without_settings = MachineState::of_machine(BTreeMap::from([(
            "kubelet arguments".to_owned(),
            "--max-pods=29\n".to_owned(),
        )]));
        let parts = unstable_differences(&first, &without_settings, &second, false);
        let parts: Vec<&str> = parts.iter().map(|one| one.part.as_str()).collect();
        assert_eq!(parts, ["file /etc/started", "kernel settings"]);
        // A booting system adds settings and files. What it loses counts.
        let rebooted = |settings: &str| {
            let parts = [
                ("kubelet arguments", "--max-pods=29\n"),
                ("file /etc/started", "at 10:09\n"),
                ("file /etc/hosts", "127.0.0.1 localhost\n"),
                ("kernel settings", settings),
            ];
            let parts = parts.map(|(part, text)| (part.to_owned(), text.to_owned()));
            unstable_differences(&first, &MachineState::of_machine(parts.into()), &second, true)
        };
        assert_eq!(rebooted("fs.aio-nr = 0\nvm.swappiness = 10\n"), []);
        let lost = [ChangedLine::Old("vm.swappiness = 10".to_owned())];
        assert_eq!(rebooted("fs.aio-nr = 0\nvm.swappiness = 60\n")[0].lines, lost);
    }

    #[test]
    fn the_date_of_a_file_that_only_one_version_writes_is_no_difference_between_runs() {
        let at = |time: &str| {
            lines(
                "",
                &format!("# by iptables-save on Sat Nov 28 {time} 2026\n*nat\n"),
                None,
            )
        };
        assert_eq!(at("05:17:02"), at("05:18:44"));
        assert_eq!(at("05:17:02")[0], "+ # by iptables-save on {{ any }}");
    }

    #[test]
    fn a_changed_line_has_both_sides() {
        assert_eq!(lines("a\nb\n", "a\nc\n", None), ["- b", "+ c"]);
        assert!(lines("a\n", "a\n", None).is_empty());
    }

    #[test]
    fn a_line_of_user_data_that_only_moved_is_no_difference() {
        let state = |text: &str| state("user data", text);
        let (old, new) = (
            state("last words: a: line 248: x\nlast words: exited at line 7\n"),
            state("last words: a: line 247: y\nlast words: exited at line 9\n"),
        );
        let found = differences(&old, &new, None);
        assert_eq!(found[0].lines.len(), 2, "{found:?}");
        assert_eq!(
            found[0].lines[0],
            ChangedLine::Old("last words: a: line 248: x".to_owned())
        );
    }

    #[test]
    fn the_order_of_lines_counts() {
        assert_eq!(lines("a\nb\n", "b\na\n", None), ["- a", "+ a"]);
    }

    #[test]
    fn words_that_differ_between_two_runs_of_one_version_are_noise() {
        let old = "started 17:01:22\nmax 29\n";
        assert!(
            lines(
                old,
                "started 18:02:59\nmax 29\n",
                Some("started 17:09:11\nmax 29\n")
            )
            .is_empty()
        );
        assert_eq!(
            lines(
                old,
                "started 18:02:59\nmax 29\nmore\n",
                Some("started 17:09:11\nmax 29\n")
            ),
            ["+ more"]
        );
        // Without a second run nothing is known to be noise.
        assert_eq!(lines(old, "started 18:02:59\nmax 29\n", None).len(), 2);
    }

    #[test]
    fn lines_that_come_and_go_are_noise() {
        let old = "call a\ncall b\n";
        let again = "call a\nretry\ncall b\n";
        assert!(lines(old, again, Some(again)).is_empty());
        assert_eq!(
            lines(old, "call a\nretry\ncall c\n", Some(again)),
            ["- call b", "+ call c"]
        );
    }

    #[test]
    fn a_line_that_is_new_at_each_boot_is_noise_at_its_position() {
        let key = |key: &str| format!("mode\n{{\"d\":\"{key}\"}}\nend\n");
        let (old, again, new) = (key("aB-c_d"), key("Qr-sT_u"), key("vW-xY_z"));
        assert!(lines(&old, &new, Some(&again)).is_empty());
        // The other lines count, and so does a line that was added.
        let changed = new.replace("end", "other");
        assert_eq!(lines(&old, &changed, Some(&again)), ["- end", "+ other"]);
        let longer = format!("{new}more\n");
        assert!(lines(&old, &longer, Some(&again)).contains(&"+ more".to_owned()));
        // A line that moves is not random.
        assert_eq!(lines("a\nb\n", "c\nb\n", Some("b\na\n")), ["+ c"]);
    }

    #[test]
    fn a_part_of_one_side_is_a_difference() {
        let found = differences(&state("file /a", "x\n"), &state("file /b", "y\n"), None);
        let parts: Vec<_> = found.iter().map(|difference| difference.part.as_str()).collect();
        assert_eq!(parts, ["file /a", "file /b"]);
    }

    #[test]
    fn a_long_line_is_cut() {
        let long = "x".repeat(500);
        let cut = &lines("", &long, None)[0];
        assert!(cut.ends_with("x ...") && cut.len() < 410, "{cut}");
    }
}
