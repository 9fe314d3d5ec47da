//! `Fn::If` and the conditions of a template.

use std::collections::BTreeSet;

use super::evaluate::arguments;
use super::template::{Template, invalid};
use crate::error::ImportError;
use crate::tree::Tree;

impl Template<'_> {
    /// The value of `Fn::If`.
    pub(super) fn chosen(&self, argument: &Tree) -> Result<Tree, ImportError> {
        let [name, yes, no] = argument.items() else {
            return Err(invalid(
                argument,
                "invalid arguments of `Fn::If`: expected [CONDITION, VALUE, VALUE]".to_owned(),
                "correct the function; `cfn-lint` checks templates",
            ));
        };
        let known = self.missing.borrow().len();
        let holds = self.condition(name)?;
        if self.missing.borrow().len() > known {
            // Without its value, either branch can be needed.
            self.evaluate(if holds { no } else { yes })?;
        }
        self.evaluate(if holds { yes } else { no })
    }

    /// Whether the condition with this name holds.
    pub(super) fn condition(&self, name: &Tree) -> Result<bool, ImportError> {
        let word = name.text().unwrap_or_default();
        match self.document.at(&["Conditions", word]) {
            Some(condition) => self.deciding(|| self.holds(condition)),
            None => Err(invalid(
                name,
                format!("the template has no condition `{word}`"),
                "define it below `Conditions`",
            )),
        }
    }

    /// The parameters on which a condition depends.
    pub(super) fn parameters_of(&self, condition: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut open = vec![condition.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(name) = open.pop() {
            let tree = self.document.at(&["Conditions", &name]);
            if let Some(tree) = tree.filter(|_| seen.insert(name.clone())) {
                collect_names(tree, &mut found, &mut open);
            }
        }
        found.retain(|name| self.document.at(&["Parameters", name]).is_some());
        found
    }

    fn holds(&self, tree: &Tree) -> Result<bool, ImportError> {
        self.nested(tree, || match tree.entries() {
            [(name, argument)] if name == "Condition" => self.condition(argument),
            [(name, argument)] => self.test(name, argument),
            _ => Ok(tree.is_true()),
        })
    }

    /// `Fn::Equals`, `Fn::Not`, `Fn::And` or `Fn::Or`.
    pub(super) fn test(&self, function: &str, argument: &Tree) -> Result<bool, ImportError> {
        let mut all = argument.items().iter().map(|one| self.holds(one));
        match function {
            "Fn::Equals" => {
                let [left, right] = arguments(argument, function, "[VALUE, VALUE]")?;
                Ok(plain(&self.evaluate(left)?) == plain(&self.evaluate(right)?))
            }
            "Fn::Not" => all.next().unwrap_or(Ok(false)).map(|holds| !holds),
            "Fn::And" => all.try_fold(true, |holds, one| Ok(holds && one?)),
            "Fn::Or" => all.try_fold(false, |holds, one| Ok(holds || one?)),
            name => Err(invalid(
                argument,
                format!("`{name}` is not a condition"),
                "conditions use `Fn::Equals`, `Fn::Not`, `Fn::And`, `Fn::Or` and `Condition`",
            )),
        }
    }
}

/// Adds the names in `Ref`, and those of conditions.
fn collect_names(tree: &Tree, references: &mut BTreeSet<String>, conditions: &mut Vec<String>) {
    references.extend(tree.text_at(&["Ref"]));
    conditions.extend(tree.text_at(&["Condition"]));
    let entries = tree.entries().iter().map(|(_, value)| value);
    for value in entries.chain(tree.items()) {
        collect_names(value, references, conditions);
    }
}

/// Lists compare by their items, scalars by their text.
fn plain(tree: &Tree) -> Vec<String> {
    match tree.text() {
        Some(text) => vec![text.to_owned()],
        None => tree.items().iter().flat_map(plain).collect(),
    }
}
