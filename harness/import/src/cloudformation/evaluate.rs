//! Evaluates the functions of a template.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::template::{Template, at, invalid, nothing, text};
use crate::error::ImportError;
use crate::tree::{Tree, TreeValue};

impl Template<'_> {
    /// The value with every function replaced by its result.
    ///
    /// # Errors
    /// A function that needs a value which only CloudFormation knows.
    pub(super) fn evaluate(&self, tree: &Tree) -> Result<Tree, ImportError> {
        let result = self.nested(tree, || match &tree.value {
            TreeValue::Scalar { .. } => self.resolved(tree),
            TreeValue::List(items) => self.list(tree, items),
            TreeValue::Map(entries) => match &entries[..] {
                [(name, argument)] if name == "Ref" || name.starts_with("Fn::") => {
                    self.function(name, argument)
                }
                [(name, argument)] if name == "Condition" && argument.text().is_some() => {
                    Ok(text(argument, self.condition(argument)?.to_string()))
                }
                _ => self.map(tree, entries),
            },
        });
        self.or_nothing(tree, result)
    }

    /// The value; what cannot be evaluated is null.
    pub(super) fn evaluate_known(&self, tree: &Tree) -> Tree {
        if let Ok(value) = self.evaluate(tree) {
            return value;
        }
        match &tree.value {
            TreeValue::Map(entries) if !is_function(entries) => {
                let entries = entries
                    .iter()
                    .map(|(key, value)| (key.clone(), self.evaluate_known(value)));
                at(tree, TreeValue::Map(entries.collect()))
            }
            TreeValue::List(items) => {
                let items = items.iter().map(|item| self.evaluate_known(item));
                at(
                    tree,
                    TreeValue::List(items.filter(|item| !item.is_null()).collect()),
                )
            }
            TreeValue::Map(_) | TreeValue::Scalar { .. } => nothing(tree),
        }
    }

    /// The text of a value.
    pub(super) fn text_of(&self, tree: &Tree) -> Result<String, ImportError> {
        let value = self.evaluate(tree)?;
        match value.text() {
            Some(text) => Ok(text.to_owned()),
            None if self.is_collecting.get() => Ok(String::new()),
            None => Err(invalid(
                tree,
                "expected text".to_owned(),
                "a list becomes text with `Fn::Join` or `Fn::Select`",
            )),
        }
    }

    fn list(&self, tree: &Tree, items: &[Tree]) -> Result<Tree, ImportError> {
        let items: Result<Vec<Tree>, ImportError> = items.iter().map(|item| self.evaluate(item)).collect();
        let items = items?.into_iter().filter(|item| !item.is_null()).collect();
        Ok(at(tree, TreeValue::List(items)))
    }

    fn map(&self, tree: &Tree, entries: &[(String, Tree)]) -> Result<Tree, ImportError> {
        let entries: Result<Vec<_>, ImportError> = entries
            .iter()
            .map(|(key, value)| Ok((key.clone(), self.evaluate(value)?)))
            .collect();
        Ok(at(tree, TreeValue::Map(entries?)))
    }

    fn function(&self, name: &str, argument: &Tree) -> Result<Tree, ImportError> {
        match name {
            "Ref" => self.reference(argument),
            "Fn::GetAtt" => self.attribute(argument),
            "Fn::Base64" => self.base64(argument),
            "Fn::Sub" => self.substituted(argument),
            "Fn::Join" => self.joined(argument),
            "Fn::Split" => self.split(argument),
            "Fn::Select" => self.selected(argument),
            "Fn::FindInMap" => self.found_in_map(argument),
            "Fn::If" => self.chosen(argument),
            "Fn::Equals" | "Fn::Not" | "Fn::And" | "Fn::Or" => {
                Ok(text(argument, self.test(name, argument)?.to_string()))
            }
            "Fn::GetAZs" => Ok(self.zones(argument)),
            "Fn::Length" => {
                let list = self.evaluate(argument)?;
                Ok(text(argument, list.items().len().to_string()))
            }
            "Fn::ImportValue" => self.imported(argument),
            name => Err(invalid(
                argument,
                format!("`{name}` is evaluated by CloudFormation only"),
                "give the launch template of the stack: `aws ec2 describe-launch-template-versions`",
            )),
        }
    }

    /// The plain text, as an instance receives it. Inside of another `Fn::Base64`, as in a part of a message, base64.
    fn base64(&self, argument: &Tree) -> Result<Tree, ImportError> {
        if self.is_in_base64.get() {
            return Ok(text(argument, STANDARD.encode(self.text_of(argument)?)));
        }
        self.is_in_base64.set(true);
        let plain = self.text_of(argument);
        self.is_in_base64.set(false);
        Ok(text(argument, plain?))
    }

    fn joined(&self, argument: &Tree) -> Result<Tree, ImportError> {
        let [separator, list] = arguments(argument, "Fn::Join", "[SEPARATOR, LIST]")?;
        let list = self.evaluate(list)?;
        let words: Result<Vec<String>, ImportError> =
            list.items().iter().map(|item| self.text_of(item)).collect();
        Ok(text(argument, words?.join(separator.text().unwrap_or_default())))
    }

    fn split(&self, argument: &Tree) -> Result<Tree, ImportError> {
        let [separator, source] = arguments(argument, "Fn::Split", "[SEPARATOR, TEXT]")?;
        let source = self.text_of(source)?;
        let words = source
            .split(separator.text().unwrap_or_default())
            .map(|word| text(argument, word));
        Ok(at(argument, TreeValue::List(words.collect())))
    }

    fn selected(&self, argument: &Tree) -> Result<Tree, ImportError> {
        let [index, list] = arguments(argument, "Fn::Select", "[INDEX, LIST]")?;
        let index = self.text_of(index)?;
        let list = self.evaluate(list)?;
        let item = index
            .parse()
            .ok()
            .and_then(|index: usize| list.items().get(index));
        item.cloned().ok_or_else(|| {
            let problem = format!("`Fn::Select` takes item {index} of {}", list.items().len());
            invalid(argument, problem, "correct the index, which counts from 0")
        })
    }

    fn found_in_map(&self, argument: &Tree) -> Result<Tree, ImportError> {
        let keys = argument.items().iter().take(3).map(|key| self.text_of(key));
        let keys: Vec<String> = self.deciding(|| keys.collect::<Result<_, ImportError>>())?;
        let mut path = vec!["Mappings"];
        path.extend(keys.iter().map(String::as_str));
        if let Some(found) = self.document.at(&path).filter(|_| keys.len() == 3) {
            return Ok(found.clone());
        }
        match argument.at(&["3", "DefaultValue"]) {
            Some(default) => self.evaluate(default),
            None => Err(invalid(
                argument,
                format!("the template maps no value to {}", keys.join(", ")),
                "choose another region or parameter: `--set AWS::Region=REGION`",
            )),
        }
    }

    fn zones(&self, argument: &Tree) -> Tree {
        let region = self
            .text_of(argument)
            .ok()
            .filter(|region| !region.is_empty())
            .unwrap_or_else(|| self.pseudo("AWS::Region").unwrap_or_default());
        let zones = ["a", "b", "c"].map(|zone| text(argument, format!("{region}{zone}")));
        at(argument, TreeValue::List(zones.into()))
    }

    fn imported(&self, argument: &Tree) -> Result<Tree, ImportError> {
        let name = self.text_of(argument)?;
        if let Some(value) = self.set.get(&name) {
            return Ok(text(argument, value));
        }
        // A made-up name is enough for user data, and does not tell which resource is meant.
        let is_of_user_data = self.is_noting.get() || self.is_collecting.get();
        let export = self.imports.get(&name);
        if let Some(export) = export.filter(|export| is_of_user_data || export.notes.is_empty()) {
            export.notes.iter().for_each(|note| self.note(note.clone()));
            return Ok(at(argument, export.value.value.clone()));
        }
        self.lacking(
            argument,
            ("export ", &name),
            format!("another stack exports `{name}`"),
            format!("give its value: `--set {name}=VALUE`; `aws cloudformation list-exports` shows it"),
        )
    }
}

pub(super) fn is_function(entries: &[(String, Tree)]) -> bool {
    matches!(entries, [(name, _)] if name == "Ref" || name.starts_with("Fn::"))
}

/// The two arguments of a function.
pub(super) fn arguments<'t>(
    argument: &'t Tree,
    function: &str,
    expected: &str,
) -> Result<[&'t Tree; 2], ImportError> {
    match argument.items() {
        [first, second] => Ok([first, second]),
        _ => Err(invalid(
            argument,
            format!("invalid arguments of `{function}`: expected {expected}"),
            "correct the function; `cfn-lint` checks templates",
        )),
    }
}
