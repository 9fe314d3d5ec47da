//! The places of a script that each operator changes.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::edit::{Edit, Operator};
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
        reporting: BTreeSet::new(),
        found: Vec::new(),
    };
    edits.find_reporting(root);
    visit(root, &mut |node| edits.of_node(node));
    let mut logs = Vec::new();
    visit(root, &mut |node| {
        if edits.only_decides_about_a_log(node) {
            logs.push(node.byte_range());
        }
    });
    let is_in_log = |edit: &Edit| {
        let within =
            |log: &std::ops::Range<usize>| log.start <= edit.bytes.start && edit.bytes.end <= log.end;
        logs.iter().any(within)
    };
    edits.found.retain(|edit| !is_in_log(edit));
    edits.found
}

struct Edits<'t> {
    text: &'t str,
    /// Functions that only write to the errors of the script.
    reporting: BTreeSet<String>,
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
        let range = self.with_blanks(node).start..redirection(node).end;
        self.add(Operator::Redirection, range, "");
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
        self.is_print(node, is_to_errors)
    }

    /// Whether a statement only writes to the errors of the script or to the journal: nothing reads that as a value.
    fn reports(&self, node: Node<'_>) -> bool {
        if node.kind() == "command"
            && (self.name(node) == "logger" || self.reporting.contains(self.name(node)))
        {
            return self.is_pure(node);
        }
        redirects(node)
            .iter()
            .any(|redirect| is_to_errors(self.redirection_text(*redirect)))
            && self.is_print(node, is_to_errors)
    }

    /// Whether a statement is `echo` or `printf`, with no other redirection than these.
    fn is_print(&self, node: Node<'_>, allows: impl Fn(&str) -> bool) -> bool {
        let command = match node.kind() {
            "redirected_statement" => node.child(0).filter(|child| child.kind() == "command"),
            "command" => Some(node),
            _ => None,
        };
        let is_print = |command: Node<'_>| matches!(self.name(command), "echo" | "printf");
        command.is_some_and(is_print)
            && redirects(node)
                .iter()
                .all(|redirect| allows(self.redirection_text(*redirect)))
            && self.is_pure(node)
    }

    /// Whether the commands in a statement's substitutions change nothing.
    fn is_pure(&self, node: Node<'_>) -> bool {
        let mut is_pure = true;
        visit(node, &mut |inner| {
            let is_in_substitution = inner.kind() == "command"
                && inner
                    .parent()
                    .is_some_and(|parent| parent.kind() == "command_substitution");
            is_pure &= !is_in_substitution || matches!(self.name(inner), "date" | "basename" | "caller");
        });
        is_pure
    }

    fn redirection_text(&self, node: Node<'_>) -> &str {
        self.text.get(redirection(node)).unwrap_or_default()
    }

    fn name(&self, command: Node<'_>) -> &str {
        command
            .child_by_field_name("name")
            .map_or("", |name| self.text(name))
    }

    /// Whether an `if` without commands in its condition has nothing but lines of a log.
    fn only_decides_about_a_log(&self, node: Node<'_>) -> bool {
        let all = children(node);
        let then = all.iter().position(|child| child.kind() == "then");
        let (Some(then), "if_statement") = (then, node.kind()) else {
            return false;
        };
        let is_test = |child: &Node<'_>| !child.is_named() || child.kind() == "test_command";
        let mut body = all[then..].iter().filter(|child| child.is_named()).peekable();
        all[..then].iter().all(is_test)
            && body.peek().is_some()
            && body.all(|child| child.kind() == "comment" || self.reports(*child))
    }

    /// Functions that only report.
    fn find_reporting(&mut self, root: Node<'_>) {
        visit(root, &mut |node| {
            let body = node.child_by_field_name("body");
            let (Some(body), Some(name)) = (body, node.child_by_field_name("name")) else {
                return;
            };
            let statements: Vec<Node<'_>> = children(body)
                .into_iter()
                .filter(|child| child.is_named() && child.kind() != "comment")
                .collect();
            let is_reporting = node.kind() == "function_definition"
                && !statements.is_empty()
                && statements.iter().all(|statement| self.reports(*statement));
            if is_reporting {
                let name = self.text(name).to_owned();
                self.reporting.insert(name);
            }
        });
    }

    /// The statements of a block: each missing, and neighbours in the reverse order.
    fn block(&mut self, node: Node<'_>) {
        let statements: Vec<Node<'_>> = children(node)
            .into_iter()
            .filter(|child| is_simple(*child))
            .collect();
        for statement in &statements {
            // A script without a line of its log works as before, unless this line says why the script ends.
            let next = statement.next_named_sibling();
            let ends = next.is_some_and(|next| matches!(self.name(next), "exit" | "return"));
            if ends || !self.reports(*statement) {
                self.add(Operator::DropStatement, statement.byte_range(), ":");
            }
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
            let only_print = self.only_prints(pair[0]) && self.only_prints(pair[1]);
            if only_print || self.reports(pair[0]) || self.reports(pair[1]) {
                continue;
            }
            let swapped = format!("{second}{between}{first}");
            let bytes = pair[0].start_byte()..pair[1].end_byte();
            self.add(Operator::SwapStatements, bytes, swapped);
        }
    }
}

/// The redirections of a statement and of the command in it.
fn redirects<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let inner = node.child(0).filter(|_| node.kind() == "redirected_statement");
    let all = inner.map(children).unwrap_or_default();
    let mut redirects = children(node);
    redirects.extend(all);
    redirects.retain(|child| child.kind().ends_with("_redirect"));
    redirects
}

/// A redirection with its file. The grammar takes the words behind it for further files.
fn redirection(node: Node<'_>) -> std::ops::Range<usize> {
    let file = node.child_by_field_name("destination");
    node.start_byte()..file.unwrap_or(node).end_byte()
}

fn is_to_errors(redirect: &str) -> bool {
    matches!(redirect, ">&2" | "1>&2")
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
