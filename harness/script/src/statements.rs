//! The statements of a script that bash runs one by one, and the branches between them.

use std::ops::Range;

use tree_sitter::Node;

use crate::{children, parsed, visit};

/// The statements and branches of a script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedScript {
    /// In the order of the text.
    pub statements: Vec<Statement>,
    pub branches: Vec<Branch>,
    /// The first lines of function definitions: bash reports a call there once more.
    pub(crate) functions: Vec<u64>,
}

/// A command, an assignment, or the head of a `for` or `case`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Line of its first character, from 1.
    pub line: u64,
    pub last_line: u64,
    /// Its text without blanks, quotes and backslashes.
    pub(crate) letters: String,
    pub(crate) first_word: String,
    /// The letters of the three expressions of a `for ((...))`, which bash reports one by one, each in `((` and `))`.
    pub(crate) expressions: Vec<String>,
    /// Where it begins and ends in the text.
    pub(crate) bytes: Range<usize>,
}

/// A place where a script goes on in one of two ways.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    pub kind: BranchKind,
    pub line: u64,
    /// Index of the statement that decides, or that comes first before the decision.
    pub(crate) before: usize,
    /// Index of the first statement of the branch.
    pub(crate) inside: usize,
}

/// What decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchKind {
    /// `if`, `elif`
    If,
    /// `while`, `until`, `for`
    Loop,
    /// A pattern of `case`
    Case,
    /// `&&`
    And,
    /// `||`
    Or,
}

impl ParsedScript {
    /// Reads a script. One that is not valid has the statements of its valid parts.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let Some(tree) = parsed(text) else {
            return Self::default();
        };
        let mut script = Self::default();
        visit(tree.root_node(), &mut |node| {
            if node.kind() == "function_definition" {
                script.functions.push(line(node));
            }
            if is_statement(node) {
                script
                    .statements
                    .extend(parts(node).into_iter().map(|bytes| statement(bytes, node, text)));
            }
        });
        visit(tree.root_node(), &mut |node| script.add_branches(node, text));

        script
    }

    /// The index of the first statement that bash runs within these nodes.
    fn first(&self, nodes: &[Node<'_>]) -> Option<usize> {
        let (start, end) = (nodes.first()?.start_byte(), nodes.last()?.end_byte());
        self.statements
            .iter()
            .position(|statement| statement.bytes.start >= start && statement.bytes.end <= end)
    }

    fn add(&mut self, kind: BranchKind, before: &[Node<'_>], inside: &[Node<'_>]) {
        let (Some(before), Some(inside)) = (self.first(before), self.first(inside)) else {
            return;
        };
        let line = match kind {
            // Each pattern decides in its own line.
            BranchKind::Case => self.statements[inside].line,
            _ => self.statements[before].line,
        };
        self.branches.push(Branch {
            kind,
            line,
            before,
            inside,
        });
    }

    fn add_branches(&mut self, node: Node<'_>, text: &str) {
        let all = children(node);
        let position = |word: &str| all.iter().position(|child| child.kind() == word);
        match node.kind() {
            "if_statement" | "elif_clause" => {
                let Some(then) = position("then") else { return };
                let end = all[then..]
                    .iter()
                    .position(|child| matches!(child.kind(), "elif_clause" | "else_clause" | "fi"))
                    .map_or(all.len(), |end| then + end);
                self.add(BranchKind::If, &all[1..then], &all[then + 1..end]);
            }
            "while_statement" | "c_style_for_statement" | "for_statement" => {
                let body = node.child_by_field_name("body");
                let Some(body) = body else { return };
                let head: Vec<_> = match node.kind() {
                    "while_statement" => all[1..]
                        .iter()
                        .copied()
                        .take_while(|child| *child != body)
                        .collect(),
                    _ => vec![node],
                };
                self.add(BranchKind::Loop, &head, &[body]);
            }
            "case_item" => {
                let Some(case) = node.parent() else { return };
                let patterns = all
                    .iter()
                    .position(|child| text.get(child.byte_range()) == Some(")"));
                let Some(end) = patterns else { return };
                self.add(BranchKind::Case, &[case], &all[end + 1..]);
            }
            // The right side of a command with a here-document is within that document.
            "list" | "heredoc_redirect" => {
                let kinds = [("&&", BranchKind::And), ("||", BranchKind::Or)];
                let operator = kinds
                    .into_iter()
                    .find_map(|(word, kind)| Some((position(word)?, kind)));
                let Some((operator, kind)) = operator else { return };
                let first = match node.kind() {
                    "list" => all.first().copied(),
                    _ => node.parent(),
                };
                if let (Some(first), Some(last)) = (first, all.get(operator + 1)) {
                    // The decision of `a && b || c` is that of `b`.
                    self.add(kind, &[first], &[*last]);
                }
            }
            _ => {}
        }
    }
}

fn line(node: Node<'_>) -> u64 {
    node.start_position().row as u64 + 1
}

fn statement(bytes: Range<usize>, node: Node<'_>, text: &str) -> Statement {
    let own = text.get(bytes.clone()).unwrap_or_default();
    let before = text.get(node.start_byte()..bytes.start).unwrap_or_default();
    let line = line(node) + before.matches('\n').count() as u64;
    Statement {
        line,
        last_line: line + own.matches('\n').count() as u64,
        letters: letters(own),
        first_word: first_word(own).to_owned(),
        expressions: expressions(node, text),
        bytes,
    }
}

fn expressions(node: Node<'_>, text: &str) -> Vec<String> {
    let body = node.child_by_field_name("body");
    let Some(body) = body.filter(|_| node.kind() == "c_style_for_statement") else {
        return Vec::new();
    };
    let head = text.get(node.start_byte()..body.start_byte()).unwrap_or_default();
    let inside = head.split_once("((").and_then(|(_, rest)| rest.rsplit_once("))"));
    // Bash evaluates 1 where there is none.
    let expression = |text: &str| match letters(text) {
        none if none.is_empty() => "1".to_owned(),
        expression => expression,
    };
    inside
        .map(|(inside, _)| inside.split(';').map(expression).collect())
        .unwrap_or_default()
}

/// The statements in a node. The grammar takes a line of assignments for a part of the command in the next line.
fn parts(node: Node<'_>) -> Vec<Range<usize>> {
    let children = children(node);
    let mut parts = Vec::new();
    let mut start = node.start_byte();
    for pair in children.windows(2) {
        let ends_line = pair[0].end_position().row < pair[1].start_position().row;
        if node.kind() == "command" && pair[0].kind() == "variable_assignment" && ends_line {
            parts.push(start..pair[0].end_byte());
            start = pair[1].start_byte();
        }
    }
    parts.push(start..node.end_byte());
    parts
}

/// Whether bash runs its DEBUG trap before the node.
fn is_statement(node: Node<'_>) -> bool {
    let parent = node.parent().map_or("", |parent| parent.kind());
    match node.kind() {
        "command"
        | "declaration_command"
        | "unset_command"
        | "test_command"
        | "for_statement"
        | "c_style_for_statement"
        | "case_statement" => true,
        // Several in one line are one statement, and those before a command belong to it.
        "variable_assignments" => true,
        "variable_assignment" => !matches!(
            parent,
            "command" | "declaration_command" | "variable_assignments" | "c_style_for_statement"
        ),
        // Arithmetic. That of a subscript is part of its statement.
        "compound_statement" => {
            node.child(0).is_some_and(|first| first.kind() == "((")
                && !matches!(parent, "subscript" | "expansion")
        }
        _ => false,
    }
}

/// The text without what bash may write in another way: blanks, quotes and backslashes.
pub(crate) fn letters(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'' | '\\' | ';'))
        .collect()
}

/// The first word; of an assignment its name.
pub(crate) fn first_word(text: &str) -> &str {
    let word = text.split_whitespace().next().unwrap_or_default();
    match word.find(['=', '(']) {
        Some(end) if end > 0 => &word[..end],
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = r#"#!/bin/bash
set -eu
f() {
  local a=$1
  [[ -n $a ]] && echo "in f $a"
}
if ! grep -q x file; then
  echo none
elif [ -e file ]; then
  echo some
else
  echo all
fi
x=$(
  date
)
for i in 1 2; do
  case $i in
    1) echo one ;;
    2 | 3) ;;
  esac
done
while ((n < 3)); do n=$((n + 1)); done
A=1 B=2
A=1 env
cat <<TEXT || exit 3
echo not a command
TEXT
"#;

    #[test]
    fn statements_are_what_bash_runs_one_by_one() {
        let script = ParsedScript::of(SCRIPT);
        let found: Vec<_> = script
            .statements
            .iter()
            .map(|statement| (statement.line, statement.first_word.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                (2, "set"),
                (4, "local"),
                (5, "[["),
                (5, "echo"),
                (7, "grep"),
                (8, "echo"),
                (9, "["),
                (10, "echo"),
                (12, "echo"),
                (14, "x"),
                (15, "date"),
                (17, "for"),
                (18, "case"),
                (19, "echo"),
                (23, "((n"),
                (23, "n"),
                (24, "A"),
                (25, "A"),
                (26, "cat"),
                (26, "exit")
            ]
        );
        assert_eq!(script.functions, [3]);
    }

    #[test]
    fn branches_lead_from_a_decision_to_the_first_statement_behind_it() {
        let script = ParsedScript::of(SCRIPT);
        let word = |index: usize| script.statements[index].first_word.as_str();
        let found: Vec<_> = script
            .branches
            .iter()
            .map(|branch| (branch.kind, branch.line, word(branch.before), word(branch.inside)))
            .collect();
        use BranchKind::{And, Case, If, Loop, Or};
        assert_eq!(
            found,
            [
                (And, 5, "[[", "echo"),
                (If, 7, "grep", "echo"),
                (If, 9, "[", "echo"),
                (Loop, 17, "for", "case"),
                (Case, 19, "case", "echo"),
                (Loop, 23, "((n", "n"),
                (Or, 26, "cat", "exit")
            ]
        );
    }

    #[test]
    fn arithmetic_in_a_subscript_is_no_statement() {
        let script = ParsedScript::of(
            "local end=${ranges[(($i + 1))]}\nend=${ranges[$((i + 1))]}\nranges[((i))]=2\n((i++))\n",
        );
        let lines: Vec<_> = script
            .statements
            .iter()
            .map(|statement| (statement.line, statement.first_word.as_str()))
            .collect();
        assert_eq!(lines, [(1, "local"), (2, "end"), (3, "ranges["), (4, "((i++))")]);
    }

    #[test]
    fn a_script_that_is_not_valid_has_the_statements_of_its_valid_parts() {
        assert!(
            !ParsedScript::of("echo one\nif then fi ((\n")
                .statements
                .is_empty()
        );
        assert_eq!(ParsedScript::of(""), ParsedScript::default());
    }
}
