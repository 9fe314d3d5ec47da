//! The places of a script that each operator changes.

use tree_sitter::Node;

use super::{Edit, Operator};
use crate::{children, visit};

/// Pairs of comparisons that decide otherwise.
const COMPARISONS: [(&str, &str); 16] = [
    ("-z", "-n"),
    ("-n", "-z"),
    ("==", "!="),
    ("!=", "=="),
    ("=", "!="),
    ("=~", "=="),
    ("-eq", "-ne"),
    ("-ne", "-eq"),
    ("-lt", "-ge"),
    ("-ge", "-lt"),
    ("-gt", "-le"),
    ("-le", "-gt"),
    ("<", ">="),
    (">=", "<"),
    (">", "<="),
    ("<=", ">"),
];

/// All edits of a tree, in any order.
pub(super) fn edits(root: Node<'_>, text: &str) -> Vec<Edit> {
    let mut edits = Edits {
        text,
        found: Vec::new(),
    };
    visit(root, &mut |node| edits.of_node(node));
    edits.found
}

struct Edits<'t> {
    text: &'t str,
    found: Vec<Edit>,
}

impl Edits<'_> {
    fn of_node(&mut self, node: Node<'_>) {
        match node.kind() {
            "if_statement" | "elif_clause" | "while_statement" => self.negate(node),
            "list" => self.list(node),
            "test_operator" => self.comparison(node),
            "do_group" => self.retry(node),
            "number" | "word" | "string" | "raw_string" => self.constant(node),
            "file_redirect" => self.redirection(node),
            "command" => self.arguments(node),
            _ => {}
        }
        if matches!(node.kind(), "binary_expression") {
            children(node)
                .into_iter()
                .filter(|child| !child.is_named())
                .for_each(|child| self.comparison(child));
        }
        if is_block(node) {
            self.block(node);
        }
    }

    fn text(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn add(&mut self, operator: Operator, bytes: std::ops::Range<usize>, after: impl Into<String>) {
        self.found.push(Edit {
            operator,
            bytes,
            after: after.into(),
        });
    }

    fn negate(&mut self, node: Node<'_>) {
        let all = children(node);
        let Some(condition) = all.get(1) else { return };
        let own = self.text(*condition).to_owned();
        match own.strip_prefix('!') {
            Some(rest) if condition.kind() == "negated_command" => {
                self.add(Operator::Negate, condition.byte_range(), rest.trim_start());
            }
            // `! a && b` would negate only the first of them.
            _ if condition.kind() == "list" => {
                self.add(
                    Operator::Negate,
                    condition.byte_range(),
                    format!("! {{ {own}; }}"),
                );
            }
            _ => self.add(Operator::Negate, condition.byte_range(), format!("! {own}")),
        }
    }

    fn list(&mut self, node: Node<'_>) {
        let all = children(node);
        let operator = all.iter().find(|child| matches!(child.kind(), "&&" | "||"));
        let (Some(first), Some(operator)) = (all.first(), operator) else {
            return;
        };
        let left = self.text(*first).to_owned();
        let other = if operator.kind() == "&&" { "||" } else { "&&" };
        self.add(Operator::DropAlternative, node.byte_range(), left);
        self.add(Operator::SwapLogic, operator.byte_range(), other);
    }

    fn comparison(&mut self, node: Node<'_>) {
        let own = self.text(node);
        if let Some((_, other)) = COMPARISONS.iter().find(|(one, _)| *one == own) {
            self.add(Operator::SwapComparison, node.byte_range(), *other);
        }
    }

    fn retry(&mut self, node: Node<'_>) {
        if let Some(done) = children(node).last().filter(|last| last.kind() == "done") {
            self.add(Operator::DropRetry, done.byte_range(), "break; done");
        }
    }

    /// Constants of assignments, defaults of expansions, and bounds in arithmetic.
    fn constant(&mut self, node: Node<'_>) {
        let own = self.text(node).to_owned();
        let Some(parent) = node.parent() else { return };
        let is_value = match parent.kind() {
            "variable_assignment" => parent.child_by_field_name("value") == Some(node),
            // `${A:-default}`
            "expansion" => parent.child(1) != Some(node) && own != "@",
            "binary_expression" | "parenthesized_expression" => true,
            _ => false,
        };
        if !is_value {
            return;
        }
        match (own.parse::<i64>(), node.kind()) {
            (Ok(number), _) => self.add(
                Operator::ChangeConstant,
                node.byte_range(),
                (number + 1).to_string(),
            ),
            // A variable of arithmetic is not a constant.
            (Err(_), "word") if matches!(parent.kind(), "variable_assignment") => {
                self.add(Operator::ChangeConstant, node.byte_range(), "\"\"");
            }
            (Err(_), "word") if parent.kind() == "expansion" => {
                self.add(Operator::ChangeConstant, node.byte_range(), "");
            }
            (Err(_), "string" | "raw_string") if own.len() > 2 => {
                self.add(Operator::ChangeConstant, node.byte_range(), "\"\"");
            }
            _ => {}
        }
    }

    fn redirection(&mut self, node: Node<'_>) {
        self.add(Operator::Redirection, self.with_blanks(node), "");
        let append = children(node).into_iter().find(|child| child.kind() == ">>");
        if let Some(append) = append {
            self.add(Operator::Redirection, append.byte_range(), ">");
        }
    }

    /// The node with the blanks before it.
    fn with_blanks(&self, node: Node<'_>) -> std::ops::Range<usize> {
        let before = self.text.get(..node.start_byte()).unwrap_or_default();
        let start = before.trim_end_matches([' ', '\t']).len();
        start..node.end_byte()
    }

    fn arguments(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let arguments: Vec<Node<'_>> = node.children_by_field_name("argument", &mut cursor).collect();
        let name = node
            .child_by_field_name("name")
            .map_or("", |name| self.text(name))
            .to_owned();
        for (index, argument) in arguments.iter().enumerate() {
            let own = self.text(*argument).to_owned();
            if own.starts_with("--") && own.len() > 2 {
                let mut range = self.with_blanks(*argument);
                // A flag without `=` is dropped with its value.
                let value = arguments
                    .get(index + 1)
                    .filter(|next| !self.text(**next).starts_with('-'));
                if let Some(value) = value.filter(|_| !own.contains('=')) {
                    range.end = value.end_byte();
                }
                self.add(Operator::DropArgument, range, "");
            }
            if argument.kind() == "string" {
                let inner = own.trim_matches('"');
                let is_variable = inner.starts_with('$') && !inner.contains([' ', '(', '*', '@']);
                if is_variable && own.matches('$').count() == 1 {
                    self.add(Operator::DropQuotes, argument.byte_range(), inner);
                }
            }
            let sets_mode = name == "chmod" || (index > 0 && self.text(arguments[index - 1]) == "-m");
            if sets_mode && own.len() >= 3 && own.chars().all(|c| ('0'..='7').contains(&c)) {
                let other = match own.strip_suffix("644") {
                    Some(rest) => format!("{rest}666"),
                    None => format!("{}644", &own[..own.len() - 3]),
                };
                self.add(Operator::Permission, argument.byte_range(), other);
            }
        }
    }

    /// Whether a statement prints to the output or the errors of the script, and does nothing else.
    fn only_prints(&self, node: Node<'_>) -> bool {
        match node.kind() {
            "redirected_statement" => children(node).into_iter().all(|child| match child.kind() {
                "file_redirect" => matches!(self.text(child), ">&2" | "1>&2"),
                _ => self.only_prints(child),
            }),
            "command" => {
                let name = node.child_by_field_name("name");
                let is_print = name.is_some_and(|name| matches!(self.text(name), "echo" | "printf"));
                is_print && !self.text(node).contains("$(")
            }
            _ => false,
        }
    }

    /// The statements of a block: each missing, and neighbours in the reverse order.
    fn block(&mut self, node: Node<'_>) {
        let statements: Vec<Node<'_>> = children(node)
            .into_iter()
            .filter(|child| is_simple(*child))
            .collect();
        for statement in &statements {
            self.add(Operator::DropStatement, statement.byte_range(), ":");
        }
        for pair in statements.windows(2) {
            let between = self
                .text
                .get(pair[0].end_byte()..pair[1].start_byte())
                .unwrap_or_default();
            if !between.trim_matches([' ', '\t', '\n', ';']).is_empty() {
                continue;
            }
            let (first, second) = (self.text(pair[0]), self.text(pair[1]));
            // A here-document ends in a line of its own.
            if first.contains("<<") || second.contains("<<") {
                continue;
            }
            // Help and logs in another order do the same.
            if self.only_prints(pair[0]) && self.only_prints(pair[1]) {
                continue;
            }
            let swapped = format!("{second}{between}{first}");
            let bytes = pair[0].start_byte()..pair[1].end_byte();
            self.add(Operator::SwapStatements, bytes, swapped);
        }
    }
}

fn is_block(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "program"
            | "compound_statement"
            | "subshell"
            | "do_group"
            | "if_statement"
            | "elif_clause"
            | "else_clause"
            | "case_item"
    )
}

/// Whether a child of a block is a statement of one line or command, not a condition or a compound.
fn is_simple(node: Node<'_>) -> bool {
    let is_condition = node.parent().is_some_and(|parent| {
        let mut cursor = parent.walk();
        parent
            .children_by_field_name("condition", &mut cursor)
            .any(|child| child == node)
            || parent
                .children_by_field_name("value", &mut cursor)
                .any(|child| child == node)
    });
    let kind = matches!(
        node.kind(),
        "command"
            | "variable_assignment"
            | "variable_assignments"
            | "declaration_command"
            | "unset_command"
            | "redirected_statement"
            | "pipeline"
            | "list"
            | "negated_command"
    );
    kind && !is_condition
}
