//! Small changes of a script, each a mistake that someone could make. A test suite that passes with one of them does
//! not test that line.

mod edit;
mod operators;

use std::collections::BTreeSet;
use std::ops::Range;

pub use edit::Operator;

use crate::parsed;
use crate::statements::ParsedScript;

/// A changed script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    pub operator: Operator,
    /// Line of the change, from 1.
    pub line: u64,
    /// The changed text before and after.
    pub before: String,
    pub after: String,
    /// The whole script.
    pub text: String,
    /// Index of the statement of the original script that the change is in; `None` if bash runs nothing there.
    pub statement: Option<usize>,
}

/// All mutants of a script, in the order of its lines. Those that are not valid, or equal another one, are left out.
#[must_use]
pub fn mutants(text: &str) -> Vec<Mutant> {
    let Some(tree) = parsed(text) else {
        return Vec::new();
    };
    let had_error = tree.root_node().has_error();
    let script = ParsedScript::of(text);
    let mut edits = operators::edits(tree.root_node(), text);
    edits.sort_by_key(|edit| (edit.bytes.start, edit.bytes.end, edit.operator));
    let mut seen = BTreeSet::from([text.to_owned()]);
    let mut mutants = Vec::new();
    for edit in edits {
        let (Some(before), Some(start), Some(end)) = (
            text.get(edit.bytes.clone()),
            text.get(..edit.bytes.start),
            text.get(edit.bytes.end..),
        ) else {
            continue;
        };
        let changed = format!("{start}{}{end}", edit.after);
        let is_valid = had_error || parsed(&changed).is_some_and(|tree| !tree.root_node().has_error());
        if !is_valid || !seen.insert(changed.clone()) {
            continue;
        }
        mutants.push(Mutant {
            operator: edit.operator,
            line: start.matches('\n').count() as u64 + 1,
            before: before.to_owned(),
            after: edit.after,
            text: changed,
            statement: statement_at(&script, &edit.bytes),
        });
    }
    mutants
}

/// The statement with which a change begins, otherwise the innermost one around it, otherwise the first one within it.
/// Around two statements that change places is the definition of their function, which runs without them.
fn statement_at(script: &ParsedScript, bytes: &Range<usize>) -> Option<usize> {
    let statements = script.statements.iter().enumerate();
    let mut within = statements
        .clone()
        .filter(|(_, one)| bytes.start <= one.bytes.start && one.bytes.end <= bytes.end);
    let first = within.next();
    let around = statements
        .filter(|(_, one)| one.bytes.start <= bytes.start && bytes.end <= one.bytes.end)
        .min_by_key(|(_, one)| one.bytes.len());
    let begins = first.filter(|(_, one)| one.bytes.start == bytes.start);
    begins.or(around).or(first).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, operator: Operator) -> Vec<(u64, String, String)> {
        let of_operator = mutants(text)
            .into_iter()
            .filter(|mutant| mutant.operator == operator);
        of_operator
            .map(|mutant| (mutant.line, mutant.before, mutant.after))
            .collect()
    }

    fn changes(text: &str, operator: Operator) -> Vec<String> {
        let lines = |(line, before, after): (u64, String, String)| format!("{line}: {before} -> {after}");
        found(text, operator).into_iter().map(lines).collect()
    }

    #[test]
    fn swapped_statements_of_a_function_run_when_the_first_one_runs() {
        let text = "f() {\n  a=0\n  b || c\n}\nf\n";
        let script = ParsedScript::of(text);
        let swapped = mutants(text)
            .into_iter()
            .find(|mutant| mutant.operator == Operator::SwapStatements && mutant.line == 2)
            .unwrap();
        assert_eq!(script.statements[swapped.statement.unwrap()].line, 2);
    }

    #[test]
    fn lines_that_are_only_printed_keep_their_order() {
        let text = "echo 1\nprintf 2 >&2\necho 3 > file\necho \"$(next)\"\necho 5\n";
        assert_eq!(
            changes(text, Operator::SwapStatements),
            [
                "3: echo 3 > file\necho \"$(next)\" -> echo \"$(next)\"\necho 3 > file",
                "4: echo \"$(next)\"\necho 5 -> echo 5\necho \"$(next)\"",
            ]
        );
    }

    #[test]
    fn lines_of_a_log_stay_unless_they_say_why_the_script_ends() {
        let text = "function log {\n  echo >&2 \"$(date +%s)\" \"$@\"\n}\nsay() { echo \"$1\" >&2; }\n\
                    value() { echo 1; }\nwrites() { echo \"$(next)\" >&2; }\nlog a\nshift\nlog b\nexit 1\n\
                    say c\nvalue\nwrites\n";
        assert_eq!(
            changes(text, Operator::DropStatement),
            [
                "5: echo 1 -> :",
                "6: echo \"$(next)\" >&2 -> :",
                "8: shift -> :",
                "9: log b -> :",
                "10: exit 1 -> :",
                "12: value -> :",
                "13: writes -> :",
            ]
        );
        assert_eq!(
            changes(text, Operator::SwapStatements),
            ["12: value\nwrites -> writes\nvalue"]
        );
    }

    #[test]
    fn a_condition_of_a_log_stays_as_it_is() {
        let text = "log() { echo \"$@\" >&2; }\nif [[ $A -gt 0 ]]; then\n  log a\nfi\nif [[ $A -gt 0 ]]; then\n  log b\n  \
                    exit 1\nfi\nif [[ -z $A ]]; then\n  log c\nelse\n  b\nfi\n";
        let lines: BTreeSet<u64> = mutants(text).iter().map(|mutant| mutant.line).collect();
        assert_eq!(lines, [1, 5, 6, 7, 9, 12].into());
    }

    #[test]
    fn each_operator_makes_its_mistake() {
        let cases = [
            (
                Operator::Negate,
                "if [[ -n $A ]]; then\n  a\nfi\n",
                vec!["1: [[ -n $A ]] -> ! [[ -n $A ]]"],
            ),
            (
                Operator::Negate,
                "while ! a; do\n  b\ndone\n",
                vec!["1: ! a -> a"],
            ),
            (
                Operator::DropStatement,
                "A=1\nf() {\n  chown root a\n}\n",
                vec!["1: A=1 -> :", "3: chown root a -> :"],
            ),
            (
                Operator::DropAlternative,
                "a || true\n",
                vec!["1: a || true -> a"],
            ),
            (Operator::SwapLogic, "a && b\n", vec!["1: && -> ||"]),
            (
                Operator::DropRetry,
                "for i in 1 2; do\n  a && break\ndone\n",
                vec!["3: done -> break; done"],
            ),
            (
                Operator::SwapComparison,
                "if [ -z \"$A\" ]; then a; fi\n[[ $A == b ]]\n((A < 3))\n",
                vec!["1: -z -> -n", "2: == -> !=", "3: < -> >="],
            ),
            (
                Operator::ChangeConstant,
                "A=10\nB=text\nC=${D:-x}\n",
                vec!["1: 10 -> 11", "2: text -> \"\"", "3: x -> "],
            ),
            (
                Operator::DropArgument,
                "aws eks wait --region \"$R\" --name=x\n",
                vec!["1:  --region \"$R\" -> ", "1:  --name=x -> "],
            ),
            (Operator::DropQuotes, "a \"$B\"\n", vec!["1: \"$B\" -> $B"]),
            (
                Operator::Redirection,
                "a > b 2> /dev/null\nc >> d\ne >&2 f\n",
                vec![
                    "1:  > b -> ",
                    "1:  2> /dev/null -> ",
                    "2:  >> d -> ",
                    "2: >> -> >",
                    "3:  >&2 -> ",
                ],
            ),
            (
                Operator::Permission,
                "chmod 0644 a\ninstall -m 755 b c\n",
                vec!["1: 0644 -> 0666", "2: 755 -> 644"],
            ),
            (
                Operator::SwapStatements,
                "a 1\nb 2\n",
                vec!["1: a 1\nb 2 -> b 2\na 1"],
            ),
        ];
        for (operator, text, expected) in cases {
            assert_eq!(changes(text, operator), expected, "{operator:?} of {text}");
        }
        let tested: BTreeSet<Operator> = [
            Operator::Negate,
            Operator::DropStatement,
            Operator::DropAlternative,
            Operator::SwapLogic,
            Operator::DropRetry,
            Operator::SwapComparison,
            Operator::ChangeConstant,
            Operator::DropArgument,
            Operator::DropQuotes,
            Operator::Redirection,
            Operator::Permission,
            Operator::SwapStatements,
        ]
        .into();
        assert_eq!(tested, Operator::ALL.into());
    }

    #[test]
    fn a_mutant_names_the_statement_that_must_run() {
        let text = "#!/bin/bash\nif a; then\n  b 1\nfi\n";
        let script = ParsedScript::of(text);
        for mutant in mutants(text) {
            let statement = &script.statements[mutant.statement.unwrap()];
            assert!(statement.line <= mutant.line, "{mutant:?}");
            assert_ne!(mutant.text, text);
        }
    }

    #[test]
    fn mutants_are_valid_and_distinct() {
        let text = "set -e\ncase $1 in\n  --a) A=$2; shift 2 ;;\n  *) exit 1 ;;\nesac\ncat <<TEXT > file\n$A\nTEXT\n";
        let all = mutants(text);
        let texts: BTreeSet<&str> = all.iter().map(|mutant| mutant.text.as_str()).collect();
        assert_eq!(texts.len(), all.len());
        for mutant in &all {
            assert!(
                !parsed(&mutant.text).unwrap().root_node().has_error(),
                "{mutant:?}"
            );
        }
        assert!(mutants("").is_empty());
    }
}
