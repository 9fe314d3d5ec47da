//! Which flags a bootstrap script accepts.

use std::collections::BTreeSet;

use tree_sitter::Node;

use crate::{children, parsed, visit};

/// A flag that a script accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// With its dashes, such as `--dns-cluster-ip`.
    pub name: String,
    /// Whether the next argument is its value.
    pub has_value: bool,
    /// Values that the script itself compares the argument with, or that its help lists as `<mount | raid0>`.
    pub values: Vec<String>,
    /// Whether the help says that the value is a list with commas.
    pub is_list: bool,
}

/// The long flags in the `case` statements of a script, in order. A script that is not valid has those of the parts
/// that are.
#[must_use]
pub fn flags(script: &str) -> Vec<Flag> {
    let Some(tree) = parsed(script) else {
        return Vec::new();
    };
    let mut flags = Vec::new();
    visit(tree.root_node(), &mut |node| {
        if node.kind() == "case_item" {
            add_flags(node, script, &mut flags);
        }
    });
    for flag in flags.iter_mut().filter(|flag| flag.has_value) {
        flag.values.extend(listed_values(script, &flag.name));
        flag.is_list = help_lines(script, &flag.name).any(is_about_a_list);
    }
    let mut compared = Vec::new();
    visit(tree.root_node(), &mut |node| {
        compared.extend(comparison(node, script))
    });
    for (flag, variable) in variables(tree.root_node(), script) {
        let Some(flag) = flags.iter_mut().find(|known| known.name == flag) else {
            continue;
        };
        let values = compared.iter().filter(|(tested, _)| mentions(tested, &variable));
        flag.values.extend(values.map(|(_, value)| value.clone()));
    }
    for flag in &mut flags {
        let mut seen = BTreeSet::new();
        flag.values.retain(|value| seen.insert(value.clone()));
    }
    flags
}

fn add_flags(item: Node<'_>, script: &str, flags: &mut Vec<Flag>) {
    let mut cursor = item.walk();
    let patterns: Vec<Node<'_>> = item.children_by_field_name("value", &mut cursor).collect();
    let Some(last) = patterns.last() else {
        return;
    };
    let body = script.get(last.end_byte()..item.end_byte()).unwrap_or_default();
    for pattern in patterns {
        let name = script.get(pattern.byte_range()).unwrap_or_default();
        let name = name.trim_matches(['"', '\'']);
        let is_flag = name.strip_prefix("--").is_some_and(|rest| {
            rest.starts_with(|c: char| c.is_ascii_lowercase())
                && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        });
        if is_flag && !flags.iter().any(|flag| flag.name == name) {
            flags.push(Flag {
                name: name.to_owned(),
                has_value: takes_value(body),
                values: Vec::new(),
                is_list: false,
            });
        }
    }
}

/// The flags whose value a variable takes, each with the name of the variable.
fn variables(root: Node<'_>, script: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    visit(root, &mut |node| {
        if node.kind() != "case_item" {
            return;
        }
        let mut cursor = node.walk();
        let flags: Vec<String> = node
            .children_by_field_name("value", &mut cursor)
            .map(|pattern| text(pattern, script).trim_matches(['"', '\'']).to_owned())
            .collect();
        visit(node, &mut |inner| {
            let value = inner
                .child_by_field_name("value")
                .map(|value| text(value, script));
            let takes = value.is_some_and(|value| value.contains("$2") || value.contains("${2"));
            let name = inner.child_by_field_name("name").filter(|_| takes);
            if let Some(name) = name.filter(|_| inner.kind() == "variable_assignment") {
                found.extend(
                    flags
                        .iter()
                        .map(|flag| (flag.clone(), text(name, script).to_owned())),
                );
            }
        });
    });
    found
}

/// What a test or the patterns of a `case` compare: the tested word, and the plain word that it is compared with.
fn comparison(node: Node<'_>, script: &str) -> Vec<(String, String)> {
    let field = |name| node.child_by_field_name(name).map(|child| text(child, script));
    let pair = |tested: &str, value: &str| {
        let value = value.trim_matches(['"', '\'']);
        is_plain(value).then(|| (tested.to_owned(), value.to_owned()))
    };
    match node.kind() {
        "binary_expression" => {
            let is_equality = field("operator").is_some_and(|operator| ["=", "==", "!="].contains(&operator));
            let sides = field("left").zip(field("right")).filter(|_| is_equality);
            sides
                .and_then(|(left, right)| pair(left, right))
                .into_iter()
                .collect()
        }
        "case_statement" => {
            let tested = field("value").unwrap_or_default();
            let items = children(node)
                .into_iter()
                .filter(|child| child.kind() == "case_item");
            let patterns = items.flat_map(|item| {
                let mut cursor = item.walk();
                item.children_by_field_name("value", &mut cursor)
                    .map(|pattern| text(pattern, script))
                    .collect::<Vec<_>>()
            });
            patterns.filter_map(|pattern| pair(tested, pattern)).collect()
        }
        _ => Vec::new(),
    }
}

/// The values that a line of the help lists after a flag, as `<mount | raid0>` or `(a|b)`.
fn listed_values(script: &str, flag: &str) -> Vec<String> {
    let mut values = Vec::new();
    for line in help_lines(script, flag) {
        for list in line.split(['<', '(', '[']).skip(1) {
            let list = list.split(['>', ')', ']']).next().unwrap_or_default();
            let words: Vec<&str> = list.split('|').map(str::trim).collect();
            if words.len() > 1 && words.iter().all(|word| is_plain(word)) {
                values.extend(words.into_iter().map(str::to_owned));
            }
        }
    }
    values
}

/// The texts after a flag in lines that are not comments.
fn help_lines<'s>(script: &'s str, flag: &'s str) -> impl Iterator<Item = &'s str> {
    let lines = script.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.filter_map(move |line| {
        let (_, rest) = line.split_once(flag)?;
        rest.starts_with(' ').then_some(rest)
    })
}

fn is_about_a_list(help: &str) -> bool {
    let help = help.to_ascii_lowercase();
    [
        "comma-separated",
        "comma separated",
        "comma-delimited",
        "comma delimited",
    ]
    .iter()
    .any(|words| help.contains(words))
}

/// Whether a text expands a variable: `$NAME` or `${NAME...`.
fn mentions(text: &str, variable: &str) -> bool {
    text.match_indices(variable).any(|(at, _)| {
        let before = &text[..at];
        let after = text[at + variable.len()..].chars().next();
        (before.ends_with('$') || before.ends_with("${"))
            && after.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_')
    })
}

/// Whether a word has only characters that no shell changes.
fn is_plain(word: &str) -> bool {
    !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

fn text<'s>(node: Node<'_>, script: &'s str) -> &'s str {
    script.get(node.byte_range()).unwrap_or_default()
}

/// Whether the commands of a flag use the argument after it.
fn takes_value(body: &str) -> bool {
    ["$2", "${2", "shift 2"].iter().any(|text| body.contains(text)) || body.matches("shift").count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(script: &str) -> Vec<(String, bool)> {
        flags(script)
            .into_iter()
            .map(|flag| (flag.name, flag.has_value))
            .collect()
    }

    #[test]
    fn flags_are_those_of_case_statements_in_functions_and_loops() {
        let script = r#"#!/bin/bash
read_arguments() {
  while (($#)); do
    case "$1" in
      -h | --help) usage; exit ;;
      --dns-cluster-ip)
        DNS=$2
        shift
        shift
        ;;
      --use-max-pods) USE=${2:-true}; shift 2 ;;
      "--quoted") QUOTED=1; shift ;;
      *) POSITIONAL+=("$1"); shift ;;
    esac
  done
}
cat <<TEXT
  --in-a-text) is no flag ;;
TEXT
# case x in --in-a-comment) ;; esac
aws eks wait --region x
case $REGION in cn-*) suffix=.cn ;; esac
"#;
        let flag = |name: &str, has_value| (name.to_owned(), has_value);
        assert_eq!(
            found(script),
            [
                flag("--help", false),
                flag("--dns-cluster-ip", true),
                flag("--use-max-pods", true),
                flag("--quoted", false)
            ]
        );
    }

    fn values(script: &str) -> Vec<(String, Vec<String>)> {
        let flags = flags(script).into_iter();
        flags.map(|flag| (flag.name, flag.values)).collect()
    }

    #[test]
    fn a_flag_has_the_values_that_the_script_compares_it_with_and_those_of_its_help() {
        let script = r#"#!/bin/bash
echo "--local-disks Set up disks <mount | raid0 | none>"
echo "--dns-cluster-ip Addresses (comma-separated)"
case "$1" in
  --local-disks) DISKS=$2; shift 2 ;;
  --dns-cluster-ip) DNS="$2"; shift 2 ;;
  --runtime) RUNTIME="${2:-}"; shift 2 ;;
  --family) FAMILY=$2; shift 2 ;;
  --free) FREE=$2; shift 2 ;;
esac
[[ "${DISKS}" = "$OTHER" ]]
if [ "$RUNTIME" = "dockerd" ] || [[ $RUNTIME == "containerd" ]]; then :; fi
[[ $RUNTIME != dockerd && $RUNTIMES == no ]]
case "${FAMILY,,}" in ipv4 | ipv6) : ;; *) exit 1 ;; esac
"#;
        let expected: [(&str, &[&str]); 5] = [
            ("--local-disks", &["mount", "raid0", "none"]),
            ("--dns-cluster-ip", &[]),
            ("--runtime", &["dockerd", "containerd"]),
            ("--family", &["ipv4", "ipv6"]),
            ("--free", &[]),
        ];
        let found = values(script);
        let found: Vec<(&str, Vec<&str>)> = found
            .iter()
            .map(|(name, values)| (name.as_str(), values.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(found, expected.map(|(name, values)| (name, values.to_vec())));
        let lists: Vec<bool> = flags(script).iter().map(|flag| flag.is_list).collect();
        assert_eq!(lists, [false, true, false, false, false]);
    }

    #[test]
    fn a_script_that_is_not_valid_has_the_flags_of_its_valid_parts() {
        let script = "case $1 in --one) shift ;; --two) X=$2 ;; esac\nif then fi ((\n";
        assert_eq!(found(script).len(), 2);
        assert!(found("").is_empty());
    }
}
