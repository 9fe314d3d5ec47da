//! What the arguments of a plan refer to: ids are unknown until apply, and the configuration names the resources.

use std::collections::BTreeSet;

use super::address::{index_of, name_and_index, parent, steps};
use super::configuration::Configuration;
use super::file::TerraformFile;
use super::resource::TerraformResource;
use crate::tree::Tree;
use crate::words::list;

/// The most expressions that a search reads: in a damaged file they may refer to each other.
const LIMIT: usize = 100;
/// The references of an expression that has another value for each instance.
const KEYS: [&str; 2] = ["each.key", "count.index"];

/// The resource to which arguments of another one refer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReferenceTarget {
    /// The configuration names none.
    Unnamed,
    /// It names several, or one with several instances.
    Unclear,
    /// The address of the only one.
    Known(String),
}

impl ReferenceTarget {
    /// Searches for a resource of a kind in the arguments, through variables and outputs of modules.
    pub(super) fn of(
        file: &TerraformFile<'_>,
        resource: &TerraformResource<'_>,
        arguments: &[&[&str]],
        kind: &str,
    ) -> Self {
        let Some(configuration) = &file.configuration else {
            return Self::Unnamed;
        };
        let mut search = Search {
            file,
            configuration,
            kind,
            open: Vec::new(),
            found: BTreeSet::new(),
        };
        search.start(resource, arguments);
        search.run();
        match search.found.len() {
            0 => Self::Unnamed,
            1 => search.found.pop_first().map_or(Self::Unnamed, Self::Known),
            _ => Self::Unclear,
        }
    }
}

/// An expression, and where it is evaluated.
#[derive(Debug)]
struct PlanExpression<'a> {
    tree: &'a Tree,
    /// The address of the module, with a `.` at its end; empty for the root module.
    module: String,
    /// The index of the resource or module call that has the expression.
    index: String,
    /// Whether the expression is a mapping or list, of which the item at the index is meant.
    is_indexed: bool,
    /// The argument `for_each` of the resource or module call.
    for_each: Option<&'a Tree>,
}

#[derive(Debug)]
struct Search<'f, 'a> {
    file: &'f TerraformFile<'a>,
    configuration: &'f Configuration<'a>,
    kind: &'f str,
    open: Vec<PlanExpression<'a>>,
    found: BTreeSet<String>,
}

impl<'a> Search<'_, 'a> {
    fn start(&mut self, resource: &TerraformResource<'_>, arguments: &[&[&str]]) {
        let Some(own) = self.configuration.resource(resource) else {
            return;
        };
        let expressions = arguments
            .iter()
            .filter_map(|path| own.get("expressions")?.at(path));
        self.open.extend(expressions.map(|tree| PlanExpression {
            tree,
            module: resource.module().to_owned(),
            index: index_of(&resource.address).to_owned(),
            is_indexed: false,
            for_each: own.get("for_each_expression"),
        }));
    }

    fn run(&mut self) {
        for _ in 0..LIMIT {
            let Some(expression) = self.open.pop() else { break };
            let references = list(expression.tree.items_at(&["references"]));
            let has_key = references
                .iter()
                .any(|reference| KEYS.contains(&reference.as_str()));
            let index = match has_key || expression.is_indexed {
                true => expression.index.as_str(),
                false => "",
            };
            for (name, index) in named(&references, self.kind, index) {
                let plain = format!("{}{}.{name}", expression.module, self.kind);
                self.found.append(&mut self.file.instances(&plain, index));
            }
            self.open_outputs(&expression, &references, index);
            self.open_variables(&expression, &references, index);
            self.open_each_value(&expression, &references);
        }
    }

    /// Adds the outputs of modules.
    fn open_outputs(&mut self, expression: &PlanExpression<'a>, references: &[String], index: &str) {
        for (name, call_index) in named(references, "module", index) {
            let plain = format!("{}module.{name}", expression.module);
            let modules = self.file.instances(&plain, call_index);
            for module in modules.into_iter().map(|module| format!("{module}.")) {
                let outputs = self
                    .configuration
                    .module(&module)
                    .and_then(|tree| tree.get("outputs"));
                let outputs = outputs.map(Tree::entries).unwrap_or_default();
                for (output, index) in outputs_of(references, name, index, outputs) {
                    let tree = outputs.iter().find(|(name, _)| name == output);
                    let Some(tree) = tree.and_then(|(_, tree)| tree.get("expression")) else {
                        continue;
                    };
                    self.open.push(PlanExpression {
                        tree,
                        module: module.clone(),
                        index: index.to_owned(),
                        is_indexed: true,
                        for_each: None,
                    });
                }
            }
        }
    }

    /// Adds what the call of this module gives its variables.
    fn open_variables(&mut self, expression: &PlanExpression<'a>, references: &[String], index: &str) {
        let Some((module, call, call_index)) = parent(&expression.module) else {
            return;
        };
        let calls = self
            .configuration
            .module(module)
            .and_then(|tree| tree.get("module_calls"));
        let Some(call) = calls.and_then(|calls| calls.get(call)) else {
            return;
        };
        for (name, index) in named(references, "var", index) {
            let Some(tree) = call.at(&["expressions", name]) else {
                continue;
            };
            let is_indexed = !index.is_empty();
            let index = if is_indexed { index } else { call_index };
            self.open.push(PlanExpression {
                tree,
                module: module.to_owned(),
                index: index.to_owned(),
                is_indexed,
                for_each: call.get("for_each_expression"),
            });
        }
    }

    /// Adds `for_each` of an expression that reads its value.
    fn open_each_value(&mut self, expression: &PlanExpression<'a>, references: &[String]) {
        let is_read = references
            .iter()
            .any(|reference| reference.starts_with("each.value"));
        if let Some(tree) = expression.for_each.filter(|_| is_read) {
            self.open.push(PlanExpression {
                tree,
                module: expression.module.clone(),
                index: expression.index.clone(),
                is_indexed: true,
                for_each: None,
            });
        }
    }
}

/// The names after a first step of references, each with its own index, or with `index` where it has none.
fn named<'r>(references: &'r [String], first: &str, index: &'r str) -> BTreeSet<(&'r str, &'r str)> {
    let names = references
        .iter()
        .filter_map(|reference| match steps(reference)[..] {
            [head, step, ..] if head == first => Some(name_and_index(step)),
            _ => None,
        });
    own_or(names.collect(), index)
}

/// The outputs of a module in references: all of them if the call's index is not in the reference itself.
fn outputs_of<'r>(
    references: &'r [String],
    module: &str,
    index: &'r str,
    all: &'r [(String, Tree)],
) -> BTreeSet<(&'r str, &'r str)> {
    let names = references
        .iter()
        .filter_map(|reference| match steps(reference)[..] {
            ["module", step, output, ..] if name_and_index(step).0 == module => Some(name_and_index(output)),
            _ => None,
        });
    let names: BTreeSet<_> = names.collect();
    if names.is_empty() {
        return all.iter().map(|(name, _)| (name.as_str(), index)).collect();
    }
    own_or(names, index)
}

/// A plan lists a reference with an index and without it: only the first one counts.
fn own_or<'r>(names: BTreeSet<(&'r str, &'r str)>, index: &'r str) -> BTreeSet<(&'r str, &'r str)> {
    let has_own = |name: &str| names.iter().any(|(other, own)| *other == name && !own.is_empty());
    let of_name = |(name, own): &(&'r str, &'r str)| match (own.is_empty(), has_own(name)) {
        (false, _) => Some((*name, *own)),
        (true, false) => Some((*name, index)),
        (true, true) => None,
    };
    names.iter().filter_map(of_name).collect()
}
