//! `Fn::Sub`, and dynamic references such as `{{resolve:ssm:NAME}}`.

use super::template::{Template, invalid, text};
use crate::error::ImportError;
use crate::source_lines::of_user_data;
use crate::tree::Tree;

const DYNAMIC: &str = "{{resolve:";

impl Template<'_> {
    /// `Fn::Sub` of a text, or of a text and a mapping of names.
    pub(super) fn substituted(&self, argument: &Tree) -> Result<Tree, ImportError> {
        let (template, names) = match argument.items() {
            [template, names] => (template, Some(names)),
            _ => (argument, None),
        };
        let Some(source) = template.text() else {
            return Err(invalid(
                argument,
                "invalid arguments of `Fn::Sub`: expected TEXT or [TEXT, MAPPING]".to_owned(),
                "write names as `${NAME}` in the text",
            ));
        };
        let mut result = String::new();
        let mut rest = source;
        while let Some((before, after)) = rest.split_once("${") {
            result.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                result.push_str("${");
                rest = after;
                continue;
            };
            match name.strip_prefix('!') {
                Some(literal) => {
                    let text = format!("${{{literal}}}");
                    result.push_str(&text);
                    self.literals.borrow_mut().insert(text);
                }
                None => result.push_str(&self.named(template, name.trim(), names)?),
            }
            rest = after;
        }
        result.push_str(rest);
        self.resolved(&text(template, result))
    }

    /// Checks a text in `Fn::Base64` without `Fn::Sub`: CloudFormation leaves `${NAME}` of the template in it as it is.
    ///
    /// # Errors
    /// The text has the name of a parameter, a resource or a pseudo parameter that the script does not set itself.
    pub(super) fn check_substituted(&self, plain: &Tree) -> Result<(), ImportError> {
        let Some(source) = plain.text() else { return Ok(()) };
        let is_set = |name: &str| {
            [
                format!("{name}="),
                format!("read -r {name}"),
                format!("for {name} in"),
            ]
            .iter()
            .any(|words| source.contains(words.as_str()))
        };
        let is_of_template = |name: &str| {
            let parameter = self.document.at(&["Parameters", name]).is_some();
            self.pseudo(name).is_some() || parameter || self.resource(name).is_some()
        };
        for (number, line) in (1..).zip(source.lines()) {
            let mut names = line
                .split("${")
                .skip(1)
                .filter_map(|rest| Some(rest.split_once('}')?.0));
            if let Some(name) = names.find(|name| is_of_template(name) && !is_set(name)) {
                let error = invalid(
                    plain,
                    format!(
                        "`${{{name}}}` stays as it is: CloudFormation fills in names of the template in `Fn::Sub` only"
                    ),
                    "write `Fn::Base64: !Sub |` before the text, and the variables of a shell in it as `${!NAME}`",
                );
                // A text of one line is at its value.
                return Err(match source.trim_end().contains('\n') {
                    true => of_user_data(error.at_line(number), source),
                    false => error,
                });
            }
        }
        Ok(())
    }

    fn named(&self, origin: &Tree, name: &str, names: Option<&Tree>) -> Result<String, ImportError> {
        if let Some(value) = names.and_then(|names| names.get(name)) {
            return self.text_of(value);
        }
        let value = match name.split_once('.') {
            Some((resource, attribute)) => self.attribute_of(origin, resource, attribute),
            None => self.reference(&text(origin, name)),
        };
        self.text_of(&self.or_nothing(origin, value)?)
    }

    /// Fills in dynamic references that the user gives values for.
    ///
    /// # Errors
    /// A reference without value.
    pub(super) fn resolved(&self, tree: &Tree) -> Result<Tree, ImportError> {
        let has_references = |source: &&str| source.contains(DYNAMIC) && !self.is_naming.get();
        let Some(source) = tree.text().filter(has_references) else {
            return Ok(tree.clone());
        };
        let mut result = source.to_owned();
        while let Some(start) = result.find(DYNAMIC) {
            let end = result[start..]
                .find("}}")
                .map_or(result.len(), |end| start + end + 2);
            let name = result[start..end]
                .trim_start_matches("{{")
                .trim_end_matches("}}")
                .to_owned();
            // A value may not contain a reference: CloudFormation resolves once.
            let value = self.set.get(&name).filter(|value| !value.contains(DYNAMIC));
            let Some(value) = value else {
                self.lacking(
                    tree,
                    ("reference ", &name),
                    format!("CloudFormation reads `{name}` when it creates the stack"),
                    format!("give its value: `--set {name}=VALUE`"),
                )?;
                result.replace_range(start..end, "");
                continue;
            };
            result.replace_range(start..end, value);
        }
        Ok(text(tree, result))
    }
}
