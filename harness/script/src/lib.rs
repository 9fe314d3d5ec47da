//! Reads shell scripts by their syntax tree: which flags a bootstrap script accepts, which of its statements ran,
//! and which small changes of it a test suite should notice.
//!
//! A script is data here. Nothing of it runs.

mod calls;
mod coverage;
mod flags;
mod mutants;
mod report;
mod statements;

pub use calls::line_of_call;
pub use coverage::{BranchCoverage, ScriptCoverage, StatementCoverage, coverage};
pub use flags::{Flag, flags};
pub use mutants::{Mutant, Operator, mutants};
pub use report::{CoverageReport, CoveredScript, Share};
pub use statements::{Branch, BranchKind, ParsedScript, Statement};

use tree_sitter::{Node, Parser, Tree};

/// The syntax tree of a script. A script that is not valid has a tree of the parts that are.
fn parsed(script: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    // Fails only if the versions of parser and grammar differ, which a test would see.
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    parser.parse(script, None)
}

fn visit<'t>(node: Node<'t>, look: &mut impl FnMut(Node<'t>)) {
    look(node);
    for child in children(node) {
        visit(child, look);
    }
}

fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}
