//! User data with values in place of its marks: those that commands of the script fill in, and those that a run does.

use std::collections::{BTreeMap, BTreeSet};

use super::name_marks::{is_mark, mark_at};
use super::placeholders::OWN_NAMES;
use super::replaced_marks::{SEPARATORS, is_replaced, may_replace};
use super::shell::UNKNOWN;
use crate::here_document::HereDocument;

/// Signs that a value has beside letters and digits, if it is a value and not an expression.
const OF_VALUES: &str = "-_.:/=+,";

/// User data without marks that a command or a run fills in: `sed 's|__CLUSTER__|demo|'` gives `demo`. What only a run
/// shows is unknown, such as the value of `{{ cluster.name }}` or of `s|__CLUSTER__|$(name)|`.
pub(super) fn with_filled_marks(user_data: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(user_data) else {
        return user_data.to_vec();
    };
    let is_own = |inside: &str| OWN_NAMES.iter().any(|prefix| inside.trim().starts_with(prefix));
    let mut filled = without(text, &is_own);
    if !may_replace(&filled) {
        return filled.into_bytes();
    }
    for (pattern, value) in replacements(&filled) {
        filled = filled.replace(&pattern, &value.unwrap_or_else(|| UNKNOWN.to_string()));
    }
    for mark in replaced_marks(&filled) {
        filled = filled.replace(&mark, &UNKNOWN.to_string());
    }
    let is_filled = |inside: &str| is_replaced(&filled, &format!("{{{{{inside}}}}}"));
    without(&filled, &is_filled).into_bytes()
}

/// A text whose `{{ NAME }}` are unknown where `is_unknown` holds for the name.
pub(super) fn without(text: &str, is_unknown: &dyn Fn(&str) -> bool) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once("{{") {
        kept.push_str(before);
        match inside.find("}}").filter(|end| is_unknown(&inside[..*end])) {
            Some(end) => {
                kept.push(UNKNOWN);
                rest = &inside[end + 2..];
            }
            None => {
                kept.push_str("{{");
                rest = inside;
            }
        }
    }
    kept.push_str(rest);
    kept
}

/// The marks that `s/MARK/VALUE/` replaces, each with its value. Without one, only a run shows it.
fn replacements(text: &str) -> BTreeMap<String, Option<String>> {
    let mut found: BTreeMap<String, Option<String>> = BTreeMap::new();
    let is_code = |line: &&str| !line.trim_start().starts_with('#');
    for (pattern, replacement) in text.lines().filter(is_code).flat_map(substitutions) {
        let value = value_of(text, replacement);
        found
            .entry(pattern.to_owned())
            .and_modify(|known| *known = known.take().filter(|known| Some(known) == value.as_ref()))
            .or_insert(value);
    }
    found
}

/// The pairs of `s/MARK/TEXT/` on a line.
fn substitutions(line: &str) -> Vec<(&str, &str)> {
    let found = line.match_indices('s').filter_map(|(at, _)| {
        let is_in_word = line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || "_-".contains(c));
        let mut rest = line[at + 1..].chars();
        let separator = rest.next().filter(|c| !is_in_word && SEPARATORS.contains(*c))?;
        let (pattern, rest) = rest.as_str().split_once(separator)?;
        let (replacement, _) = rest.split_once(separator)?;
        is_name_of_template(pattern).then_some((pattern, replacement))
    });
    found.collect()
}

/// Whether a pattern is a name of a template, and nothing else: `[a-z]` is a class of characters.
fn is_name_of_template(pattern: &str) -> bool {
    let inside = |begin: &str, end: &str| pattern.strip_prefix(begin)?.strip_suffix(end);
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    let is_in_braces = inside("{{", "}}").is_some_and(|name| is_name(name.trim()));
    let is_in_angles = inside("<", ">").is_some_and(is_name);
    is_in_braces || is_in_angles || (is_mark(pattern) && !pattern.starts_with('['))
}

/// The value of a replacement, if the text states it: as it is, or as the value of a variable.
fn value_of(text: &str, replacement: &str) -> Option<String> {
    let value = replacement.trim_matches(['"', '\'']);
    let Some(variable) = value.strip_prefix('$') else {
        return is_value(value).then(|| value.to_owned());
    };
    let inside = variable.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
    let name = inside.unwrap_or(variable);
    let assigned = text.lines().filter_map(|line| {
        let line = line.trim().trim_start_matches("export ");
        let value = line.strip_prefix(name)?.strip_prefix('=')?;
        Some(value.trim_matches(['"', '\'']))
    });
    let mut values: BTreeSet<&str> = assigned.collect();
    let only = values.pop_first().filter(|value| is_value(value))?;
    values.is_empty().then(|| only.to_owned())
}

fn is_value(text: &str) -> bool {
    let is_sign = |c: char| c.is_ascii_alphanumeric() || OF_VALUES.contains(c);
    !text.is_empty() && text.chars().all(is_sign)
}

/// The marks of a text that its commands fill in with what only a run shows.
fn replaced_marks(text: &str) -> Vec<String> {
    let marks: BTreeSet<&str> = text
        .char_indices()
        .filter_map(|(at, _)| mark_at(&text[at..]))
        .filter(|mark| !mark.contains('\n') && !mark.starts_with('['))
        .collect();
    let ends: BTreeSet<String> = text
        .lines()
        .filter_map(|line| Some(HereDocument::begun(line)?.end))
        .collect();
    // The end of a here-document, or a boundary of a message.
    let is_end = |mark: &&str| ends.contains(*mark) || text.contains(&format!("\n--{mark}"));
    let marks = marks.into_iter().filter(|mark| !is_end(mark));
    marks
        .filter(|mark| is_replaced(text, mark))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        let bytes = with_filled_marks(text.as_bytes());
        String::from_utf8(bytes).unwrap().replace(UNKNOWN, "?")
    }

    #[test]
    fn a_mark_has_the_value_that_a_command_gives_it() {
        for (command, value) in [
            ("sed -i 's/__CLUSTER__/demo/' /x", "demo"),
            ("sed -i -e \"s|__CLUSTER__|'demo'|g\" /x", "demo"),
            ("NAME=demo\nsed -i \"s|__CLUSTER__|${NAME}|\" /x", "demo"),
            ("NAME=demo\nsed -i 's|__CLUSTER__|'\"$NAME\"'|' /x", "demo"),
            ("NAME=$(name)\nsed -i \"s|__CLUSTER__|$NAME|\" /x", "?"),
            ("NAME=a\nNAME=b\nsed -i \"s|__CLUSTER__|$NAME|\" /x", "?"),
            ("sed -i s/__CLUSTER__/a/ /x\nsed -i s/__CLUSTER__/b/ /y", "?"),
            ("sed -i \"s/__CLUSTER__/$(name)/\" /x", "?"),
            ("python3 -c 'text.replace(\"__CLUSTER__\", name)'", "?"),
            ("for k in CLUSTER; do sed -i \"s|__${k}__|${!k}|\" /x; done", "?"),
            ("# sed -i 's/__OTHER__/demo/' /x", "__CLUSTER__"),
            ("echo __CLUSTER__", "__CLUSTER__"),
        ] {
            let text = filled(&format!("name: __CLUSTER__\n{command}\n"));
            let first = text.lines().next();
            assert_eq!(first, Some(format!("name: {value}").as_str()), "{command}");
        }
        let others = "a: {{NAME}} <name> @@NAME@@ {{ cluster.name }}\nsed 's/{{NAME}}/b/;s/<name>/c/;s/@@NAME@@/d/' /x\n";
        assert!(filled(others).starts_with("a: b c d ?\n"), "{}", filled(others));
    }

    #[test]
    fn ends_of_texts_and_patterns_stay() {
        let document =
            "cat > /x <<__EOF__\na\n__EOF__\nfor k in A; do sed -i \"s|__${k}__|${!k}|\" /x; done\n";
        assert_eq!(filled(document), document);
        let message = "Content-Type: multipart/mixed; boundary=\"__B__\"\n\n--__B__\n\nsed -i \"s|__${k}__|x|\" /x\n--__B__--\n";
        assert_eq!(filled(message), message);
        let class = "echo '[a-z]' | sed 's/[a-z]/x/'\n";
        assert_eq!(filled(class), class);
    }
}
