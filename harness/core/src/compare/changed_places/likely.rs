//! Which of the changed places can cause a difference of machines: those that share its words.

use std::collections::BTreeSet;

use super::{ChangedPlace, words};
use crate::compare::difference::MachineDifference;
use crate::compare::lines::ChangedLine;
use crate::compare::state::LAST_WORDS_LINE;
use crate::plan::sources::SourceLine;

/// What a word counts that one changed place alone has.
const WHOLE_WORD: usize = 60;
/// How much more it counts if the machines differ by it.
const CHANGED_TWICE: usize = 3;

/// The places that share most words with a group of differences, above all words that changed on both sides. A word
/// counts less the more places have it. A place whose line a failing script names comes first. All places are equally
/// likely if none shares a word. `only_with` is what separates the scenarios of the group from others.
#[must_use]
pub fn likely_places(
    places: &[ChangedPlace],
    differences: &[MachineDifference],
    only_with: Option<&str>,
) -> Vec<SourceLine> {
    let seen = SeenWords::of(differences, only_with);
    let places_with = |word: &str| places.iter().filter(|place| place.changed.contains(word)).count();
    let weighted = |words: &BTreeSet<String>, place: &ChangedPlace| -> usize {
        let shared = words.intersection(&place.changed);
        shared.map(|word| WHOLE_WORD / places_with(word).max(1)).sum()
    };
    let likelihood = |place: &ChangedPlace| {
        (
            seen.names_line_of(place),
            CHANGED_TWICE * weighted(&seen.changed, place) + weighted(&seen.all, place),
            seen.all.intersection(&place.all).count(),
        )
    };
    let most = places.iter().map(likelihood).max().unwrap_or_default();
    let likely = places.iter().filter(|place| likelihood(place) == most);
    let mut found: Vec<SourceLine> = Vec::new();
    for place in likely {
        if !found.contains(&place.source) {
            found.push(place.source.clone());
        }
    }
    found
}

/// The words of a group of differences.
struct SeenWords {
    /// Words that only one side of a part has.
    changed: BTreeSet<String>,
    all: BTreeSet<String>,
    /// Lines of the new version that say which line of a script fails.
    failing: Vec<(u64, String)>,
}

impl SeenWords {
    fn of(differences: &[MachineDifference], only_with: Option<&str>) -> Self {
        let mut seen = Self {
            changed: BTreeSet::new(),
            all: only_with.into_iter().flat_map(words).collect(),
            failing: Vec::new(),
        };
        for difference in differences {
            let (mut old, mut new) = (BTreeSet::new(), BTreeSet::new());
            for line in &difference.lines {
                match line {
                    ChangedLine::Old(text) => old.extend(words(text)),
                    ChangedLine::New(text) => {
                        new.extend(words(text));
                        let number = failing_line(text).filter(|_| text.starts_with(LAST_WORDS_LINE));
                        seen.failing.extend(number.map(|number| (number, text.clone())));
                    }
                }
            }
            seen.changed.extend(old.symmetric_difference(&new).cloned());
            seen.all.extend(words(&difference.part));
            seen.all.extend(old.into_iter().chain(new));
        }
        seen
    }

    /// 2 if a failing line of the place is named with its file, 1 if it is named without one.
    fn names_line_of(&self, place: &ChangedPlace) -> usize {
        let lines = place.new_lines();
        let name = place.source.file.rsplit('/').next().unwrap_or_default();
        let named = |(number, text): &(u64, String)| match (lines.contains(number), text.contains(name)) {
            (false, _) => 0,
            (true, true) => 2,
            (true, false) => usize::from(!text.contains(": line ")),
        };
        self.failing.iter().map(named).max().unwrap_or_default()
    }
}

/// The number in `pool: line 248: x: unbound variable` or `failed on line 248`.
fn failing_line(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("line ")?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{OLD, places, with_overlay};
    use super::*;

    fn difference(part: &str, old: &str, new: &str) -> MachineDifference {
        MachineDifference {
            part: part.to_owned(),
            lines: vec![ChangedLine::Old(old.to_owned()), ChangedLine::New(new.to_owned())],
        }
    }

    fn lines(found: &[SourceLine]) -> Vec<u64> {
        found.iter().filter_map(|source| source.line).collect()
    }

    #[test]
    fn a_difference_is_at_the_change_that_shares_its_words() {
        let new = OLD
            .replace("blue", "green")
            .replace("swappiness=1", "swappiness=60");
        let places = places(&with_overlay(OLD), &with_overlay(&new));
        assert_eq!(places.len(), 2, "{places:?}");
        assert_eq!(places[0].source.file, "/checkout/pool.sh");
        assert_eq!(places[0].new_lines(), 3..4);
        let label = difference(
            "kubelet arguments",
            "--node-labels=pool=blue",
            "--node-labels=pool=green",
        );
        assert_eq!(lines(&likely_places(&places, &[label], None)), [3]);
        let setting = difference("kernel settings", "vm.swappiness = 1", "vm.swappiness = 60");
        assert_eq!(lines(&likely_places(&places, &[setting], None)), [5]);
        let other = difference("file /etc/x", "1", "2");
        assert_eq!(lines(&likely_places(&places, &[other], None)), [3, 5]);
    }

    #[test]
    fn among_several_changes_the_one_that_alone_has_the_words_is_named() {
        let old =
            "args+=(--v=1)\nargs+=(--node-ip=$IP)\nlog one\nargs+=(--max-pods=5 --node-labels=a --v=2)\n";
        let new = old.replace("--node-ip=$IP", "--node-ip=$ADDRESS").replace(
            "--max-pods=5 --node-labels=a --v=2",
            "--max-pods=6 --node-labels=b --v=3",
        );
        let places = places(&with_overlay(old), &with_overlay(&new));
        assert_eq!(places.len(), 2, "{places:?}");
        let lost = |old: &str| MachineDifference {
            part: "kubelet arguments".to_owned(),
            lines: vec![ChangedLine::Old(old.to_owned())],
        };
        let found = |part: MachineDifference, with| lines(&likely_places(&places, &[part], with));
        assert_eq!(
            found(
                difference("kubelet arguments", "--node-labels=a", "--node-labels=b"),
                None
            ),
            [4]
        );
        assert_eq!(found(lost("--x={{ instance.address }}"), None), [2]);
        assert_eq!(found(lost("--x"), Some("an ADDRESS of IPv6")), [2]);
    }

    #[test]
    fn the_line_that_a_failing_script_names_is_the_likely_one() {
        let new = OLD
            .replace("blue", "$BLUE")
            .replace("swappiness=1", "$SWAPPINESS");
        let places = places(&with_overlay(OLD), &with_overlay(&new));
        let failed = |text: &str| MachineDifference {
            part: "user data".to_owned(),
            lines: vec![ChangedLine::New(format!("last words: {text}"))],
        };
        let found = |text: &str| lines(&likely_places(&places, &[failed(text)], None));
        assert_eq!(found("/usr/bin/pool.sh: line 5: BLUE: unbound variable"), [5]);
        assert_eq!(found("Exited with error on line 3"), [3]);
        assert_eq!(found("other.sh: line 5: SWAPPINESS: unbound variable"), [5]);
        assert_eq!(found("other.sh: line 3: SWAPPINESS: unbound variable"), [5]);
    }
}
