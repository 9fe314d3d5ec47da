//! Which statements and branches of a script ran, from the commands that bash reported.

use crate::statements::{Branch, ParsedScript, Statement, first_word, letters};

/// A script with how often its parts ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptCoverage {
    pub statements: Vec<StatementCoverage>,
    pub branches: Vec<BranchCoverage>,
}

impl ScriptCoverage {
    /// Adds the counts of another run of the same script.
    pub(crate) fn merge(&mut self, other: &Self) {
        if self.statements.is_empty() {
            *self = other.clone();
            return;
        }
        for (own, other) in self.statements.iter_mut().zip(&other.statements) {
            own.count += other.count;
        }
        for (own, other) in self.branches.iter_mut().zip(&other.branches) {
            own.taken += other.taken;
            own.not_taken += other.not_taken;
        }
    }
}

/// A statement with how often it ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementCoverage {
    pub line: u64,
    pub last_line: u64,
    pub count: u64,
}

/// A branch with how often it was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchCoverage {
    pub branch: Branch,
    pub taken: u64,
    /// How often the script decided otherwise.
    pub not_taken: u64,
}

/// Assigns commands to the statements of a script. A command is the line that bash reports, its first characters, and
/// how often it ran. Commands without a statement, such as those of `eval`, are left out.
pub fn coverage<'c>(
    script: &ParsedScript,
    commands: impl IntoIterator<Item = (u64, &'c str, u64)>,
) -> ScriptCoverage {
    let mut counts = vec![0_u64; script.statements.len()];
    for (line, start, count) in commands {
        let of_loop = loop_of(script, line, start);
        let index = of_loop.map_or_else(|| statement_of(script, line, start), |of_loop| of_loop.counted());
        if let Some(index) = index {
            counts[index] += count;
        }
    }
    let with_count = |(statement, count): (&Statement, &u64)| StatementCoverage {
        line: statement.line,
        last_line: statement.last_line,
        count: *count,
    };
    let branches = script.branches.iter().map(|branch| {
        let taken = counts[branch.inside];
        BranchCoverage {
            branch: branch.clone(),
            taken,
            not_taken: counts[branch.before].saturating_sub(taken),
        }
    });
    ScriptCoverage {
        branches: branches.collect(),
        statements: script.statements.iter().zip(&counts).map(with_count).collect(),
    }
}

/// An expression of a `for ((...))`.
struct LoopExpression {
    statement: usize,
    is_condition: bool,
}

impl LoopExpression {
    /// A loop counts as often as its condition: once more than its body.
    fn counted(&self) -> Option<usize> {
        self.is_condition.then_some(self.statement)
    }
}

/// The nearest loop with this expression, if the command is not a statement of its own in that line.
fn loop_of(script: &ParsedScript, line: u64, start: &str) -> Option<LoopExpression> {
    let whole = letters(start);
    let expression = whole.strip_prefix("((")?.trim_end_matches(')');
    let is_statement = |statement: &Statement| statement.line == line && statement.letters == whole;
    if script.statements.iter().any(is_statement) {
        return None;
    }
    let of_statement = |(statement, one): (usize, &Statement)| {
        let same = |known: &&String| known.trim_end_matches(')') == expression;
        let found = one.expressions.iter().find(same)?;
        let is_condition = one.expressions.get(1) == Some(found);
        Some((
            one.line.abs_diff(line),
            LoopExpression {
                statement,
                is_condition,
            },
        ))
    };
    let found = script.statements.iter().enumerate().filter_map(of_statement);
    found
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, found)| found)
}

/// The statement that begins like the command. Of several, the one with more letters in common, then the nearest one.
fn statement_of(script: &ParsedScript, line: u64, start: &str) -> Option<usize> {
    let (word, start) = (first_word(start), letters(start));
    let on_line = |statement: &Statement| (statement.line..=statement.last_line).contains(&line);
    let same_word = |statement: &Statement| statement.first_word == word;
    if script.functions.contains(&line) && !script.statements.iter().any(|one| on_line(one) && same_word(one))
    {
        return None;
    }
    let candidates = script
        .statements
        .iter()
        .enumerate()
        .filter(|(_, one)| same_word(one));
    let rank = |statement: &Statement| {
        let common = statement
            .letters
            .chars()
            .zip(start.chars())
            .take_while(|(a, b)| a == b)
            .count();
        let distance = match on_line(statement) {
            true => 0,
            false => statement
                .line
                .abs_diff(line)
                .min(statement.last_line.abs_diff(line)),
        };
        (common, std::cmp::Reverse(distance))
    };
    // The first of equal ones.
    let (best, found) = candidates.rev().max_by_key(|(_, statement)| rank(statement))?;
    if on_line(found) || is_inside(script, found) {
        return Some(best);
    }
    // The handler of a trap has its own lines, but bash still reports the command that the trap interrupted.
    let in_handler = script.statements.iter().position(|one| one.line == line);
    in_handler.or(Some(best))
}

/// Whether a statement is inside another one, such as that of a substitution, whose lines bash miscounts.
fn is_inside(script: &ParsedScript, statement: &Statement) -> bool {
    script.statements.iter().any(|around| {
        around.bytes.start <= statement.bytes.start
            && statement.bytes.end <= around.bytes.end
            && around.bytes.len() > statement.bytes.len()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "#!/bin/bash
f() {
  echo in f
}
f x
x=$(
  echo one
  f y
)
if [[ -n $x ]]; then
  echo \"two\" >/dev/null 2>&1
fi
false && echo never
for i in 1 2; do
  case $i in
    1) echo a ;;
    2) echo b ;;
    3) echo c ;;
  esac
done
";

    #[test]
    fn the_handler_of_a_trap_counts_although_bash_reports_what_it_interrupted() {
        let text = "report() {\n  local code=$1\n  echo \"$code\"\n}\ntrap 'report $?' ERR\nif true; then\n  false\nfi\n";
        let reported = [
            (5, "trap 'report $?' ERR", 1),
            (6, "true", 1),
            (7, "false", 2),
            (1, "false", 1),
            (2, "false", 1),
            (3, "false", 1),
        ];
        let covered = coverage(&ParsedScript::of(text), reported);
        let counts = covered.statements.iter().map(|one| (one.line, one.count));
        assert_eq!(
            counts.collect::<Vec<_>>(),
            [(2, 1), (3, 1), (5, 1), (6, 1), (7, 2)]
        );
    }

    #[test]
    fn commands_of_a_substitution_stay_there_whatever_line_bash_reports() {
        let text = "x=($(for v in a b; do echo \"$v\"; done | sort))\nif [ \"$x\" = a ]; then\n  y=-1\nelse\n  y=1\nfi\n";
        let reported = [
            (1, "x=($(for", 1),
            (3, "echo \"$v\"", 2),
            (2, "[ \"$x\" = a ]", 1),
            (5, "y=1", 1),
        ];
        let covered = coverage(&ParsedScript::of(text), reported);
        let missed: Vec<u64> = covered
            .statements
            .iter()
            .filter(|one| one.count == 0)
            .map(|one| one.line)
            .collect();
        assert!(missed.contains(&3), "{covered:?}");
    }

    fn counts(commands: &[(u64, &str, u64)]) -> ScriptCoverage {
        coverage(&ParsedScript::of(SCRIPT), commands.iter().copied())
    }

    #[test]
    fn commands_as_bash_5_2_reports_them_belong_to_their_statements() {
        let covered = counts(&[
            (5, "f x", 1),
            (2, "f x", 1),
            (3, "echo in f", 2),
            (9, "x=$(echo one", 1),
            (9, "echo one", 1),
            (10, "f y", 1),
            (2, "f y", 1),
            (10, "[[ -n $x ]]", 1),
            (11, "echo \"two\" > /dev/null 2>&1", 1),
            (13, "false", 1),
            (14, "for i in 1 2", 2),
            (15, "case $i in ", 2),
            (16, "echo a", 1),
            (17, "echo b", 1),
            (18, "in_eval", 1),
        ]);
        let found: Vec<_> = covered
            .statements
            .iter()
            .map(|one| (one.line, one.count))
            .collect();
        assert_eq!(
            found,
            [
                (3, 2),
                (5, 1),
                (6, 1),
                (7, 1),
                (8, 1),
                (10, 1),
                (11, 1),
                (13, 1),
                (13, 0),
                (14, 2),
                (15, 2),
                (16, 1),
                (17, 1),
                (18, 0)
            ]
        );
        let branches: Vec<_> = covered
            .branches
            .iter()
            .map(|one| (one.branch.line, one.taken, one.not_taken))
            .collect();
        assert_eq!(
            branches,
            [
                (10, 1, 0),
                (13, 0, 1),
                (14, 2, 0),
                (16, 1, 1),
                (17, 1, 1),
                (18, 0, 2)
            ]
        );
    }

    #[test]
    fn a_loop_counts_as_often_as_its_condition() {
        let text = "f() {\n  for ((try = 0; try < 2; try++)); do\n    ((try == 0)) || sleep 1\n  done\n}\nf\nfor ((;;)); do\n  break\ndone\n";
        let covered = coverage(
            &ParsedScript::of(text),
            [
                (6, "f", 1),
                (1, "f", 1),
                (2, "((try = 0))", 1),
                (2, "((try < 2))", 3),
                (3, "((try == 0))", 2),
                (3, "sleep 1", 1),
                (2, "((try++))", 2),
                (7, "((1))", 2),
                (8, "break", 1),
            ],
        );
        let counts: Vec<_> = covered
            .statements
            .iter()
            .map(|one| (one.line, one.count))
            .collect();
        assert_eq!(counts, [(2, 3), (3, 2), (3, 1), (6, 1), (7, 2), (8, 1)]);
        let looped = &covered.branches[0];
        assert_eq!((looped.branch.line, looped.taken, looped.not_taken), (2, 2, 1));
    }

    #[test]
    fn a_script_that_did_not_run_has_no_counts() {
        let covered = counts(&[]);
        assert!(covered.statements.iter().all(|one| one.count == 0));
        assert!(covered.branches.iter().all(|one| one.taken + one.not_taken == 0));
    }
}
