//! ScenarioFilter expressions that select scenarios, such as `flow(al2) and not cause(role-not-mapped)`.
//!
//! | file | purpose |
//! | --- | --- |
//! | `grammar` | text to a tree of `and`, `or`, `not` and terms |
//! | `term` | which scenarios a term selects |

mod grammar;
mod term;

use std::str::FromStr;

use crate::plan::Plan;
use grammar::Expression;
use term::Term;

pub use term::Key;

/// A valid filter expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioFilter(Expression<Term>);

/// An invalid filter expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid filter `{text}`: {reason}")]
pub struct InvalidFilter {
    text: String,
    reason: String,
}

impl ScenarioFilter {
    /// Whether the expression selects a scenario.
    #[must_use]
    pub fn selects(&self, plan: &Plan) -> bool {
        selects(&self.0, plan)
    }
}

impl FromStr for ScenarioFilter {
    type Err = InvalidFilter;

    fn from_str(text: &str) -> Result<Self, InvalidFilter> {
        let tree = grammar::parse(text).and_then(|tree| tree.try_map(&Term::new));
        tree.map(Self).map_err(|reason| InvalidFilter {
            text: text.to_owned(),
            reason,
        })
    }
}

fn selects(expression: &Expression<Term>, plan: &Plan) -> bool {
    match expression {
        Expression::Any(parts) => parts.iter().any(|part| selects(part, plan)),
        Expression::All(parts) => parts.iter().all(|part| selects(part, plan)),
        Expression::Not(part) => !selects(part, plan),
        Expression::Term(term) => term.selects(plan),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::Cause;
    use crate::testing;

    fn plans() -> Vec<Plan> {
        let plan = |id: &str, name: &str| {
            let mut plan = testing::plan();
            plan.id = id.parse().unwrap();
            plan.name = name.to_owned();
            plan
        };
        let mut refused = plan("al2/role", "a role that is not mapped");
        refused.expect.diagnosis = Some(Cause::RoleNotMapped);
        refused.tags = vec!["slow".parse().unwrap()];
        let mut old = plan("al2-2019/joins", "an old script joins and stays");
        old.kubelet = Some("<1.24".parse().unwrap());
        let mut new = plan("generators/karpenter/joins", "a node of Karpenter");
        new.kubernetes = Some(">=1.24".parse().unwrap());
        vec![refused, old, new, plan("first-join", "a node joins")]
    }

    fn selected(text: &str) -> Vec<String> {
        let filter: ScenarioFilter = text.parse().unwrap_or_else(|error| panic!("{error}"));
        let plans = plans();
        let selected = plans.iter().filter(|plan| filter.selects(plan));
        selected.map(|plan| plan.id.to_string()).collect()
    }

    #[test]
    fn expressions_select_scenarios() {
        let (role, old, new, first) = (
            "al2/role",
            "al2-2019/joins",
            "generators/karpenter/joins",
            "first-join",
        );
        for (text, expected) in [
            ("joins", vec![old, new, first]),
            ("a node", vec![new, first]),
            ("\"joins and stays\"", vec![old]),
            ("al2*joins", vec![old]),
            ("id(joins)", vec![old, new]),
            ("id(first-join)", vec![first]),
            ("name(Karpenter)", vec![new]),
            ("flow(al2)", vec![role]),
            ("flow(al2*)", vec![role, old]),
            ("flow(generators)", vec![new]),
            ("folder(generators/karpenter)", vec![new]),
            ("folder(generators)", vec![new]),
            ("folder(gen)", vec![]),
            ("tag(slow)", vec![role]),
            ("cause(role-not-mapped)", vec![role]),
            ("cause(*)", vec![role]),
            ("not cause(*)", vec![old, new, first]),
            ("version(1.20)", vec![role, old, first]),
            ("version(1.36.2)", vec![role, new, first]),
            ("flow(al2) or flow(generators)", vec![role, new]),
            (
                "joins and not flow(al2-2019) and not folder(generators)",
                vec![first],
            ),
            ("not (flow(al2) or flow(al2-2019))", vec![new, first]),
            ("flow(al2) or joins and version(1.36)", vec![role, new, first]),
        ] {
            assert_eq!(selected(text), expected, "{text}");
        }
    }

    #[test]
    fn errors_name_the_mistake_and_the_nearest_word() {
        let refused = |text: &str| text.parse::<ScenarioFilter>().unwrap_err().to_string();
        let texts = [
            "",
            "flow(al2",
            "flow(al2) and",
            "flow(al2) joins",
            "(joins",
            "joins)",
            "\"joins",
            "folder()",
            "fodler(al2)",
            "cause(role-not-maped)",
            "version(new)",
        ];
        let all: Vec<String> = texts.iter().map(|text| refused(text)).collect();
        insta::assert_snapshot!(all.join("\n"));
    }
}
