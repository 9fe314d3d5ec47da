//! Which flags a bootstrap script accepts.

use tree_sitter::Node;

use crate::{parsed, visit};

/// A flag that a script accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// With its dashes, such as `--dns-cluster-ip`.
    pub name: String,
    /// Whether the next argument is its value.
    pub has_value: bool,
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
            });
        }
    }
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

    #[test]
    fn a_script_that_is_not_valid_has_the_flags_of_its_valid_parts() {
        let script = "case $1 in --one) shift ;; --two) X=$2 ;; esac\nif then fi ((\n";
        assert_eq!(found(script).len(), 2);
        assert!(found("").is_empty());
    }
}
