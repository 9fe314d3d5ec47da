//! `UserData` of a CloudFormation template, without the template around it.

use std::collections::BTreeSet;

use crate::error::ImportError;
use crate::tree::{Tree, TreeValue};

/// Where it stands in a part of a template.
const PLACES: [&[&str]; 4] = [
    &["UserData"],
    &["LaunchTemplateData", "UserData"],
    &["Properties", "UserData"],
    &["Properties", "LaunchTemplateData", "UserData"],
];

/// The text of such user data. Names of the template are in it as `${NAME}`.
#[derive(Debug, Default)]
pub(crate) struct TemplateFragment {
    pub(crate) text: String,
    /// What `${!NAME}` became: a text for a shell.
    pub(crate) literals: BTreeSet<String>,
}

/// Whether a document has user data by a function, and no template has it.
pub(crate) fn is_fragment(document: &Tree) -> bool {
    user_data(document).is_some()
}

fn user_data(document: &Tree) -> Option<&Tree> {
    PLACES
        .iter()
        .find_map(|place| document.at(place).filter(|tree| is_function(tree)))
}

fn is_function(tree: &Tree) -> bool {
    matches!(tree.entries(), [(name, _)] if name == "Ref" || name.starts_with("Fn::"))
}

impl TemplateFragment {
    /// Reads the user data of a document.
    ///
    /// # Errors
    /// It has a function whose value only a whole template shows.
    pub(crate) fn of(document: &Tree) -> Result<Self, ImportError> {
        let mut fragment = Self::default();
        if let Some(tree) = user_data(document) {
            fragment.text = fragment.text_of(tree)?;
        }
        Ok(fragment)
    }

    fn text_of(&mut self, tree: &Tree) -> Result<String, ImportError> {
        let (name, argument) = match (&tree.value, tree.entries()) {
            (TreeValue::Scalar { .. }, _) => return Ok(tree.text().unwrap_or_default().to_owned()),
            (_, [(name, argument)]) => (name.as_str(), argument),
            _ => return Err(unknown(tree, "a list or a mapping")),
        };
        match (name, argument.text(), argument.items()) {
            ("Fn::Base64", ..) => self.text_of(argument),
            ("Ref", Some(name), _) => Ok(format!("${{{name}}}")),
            ("Fn::GetAtt", Some(path), _) => Ok(format!("${{{path}}}")),
            ("Fn::GetAtt", None, path) => {
                let path: Vec<&str> = path.iter().filter_map(Tree::text).collect();
                Ok(format!("${{{}}}", path.join(".")))
            }
            ("Fn::Join", None, [separator, list]) => {
                let words: Result<Vec<String>, ImportError> =
                    list.items().iter().map(|item| self.text_of(item)).collect();
                Ok(words?.join(separator.text().unwrap_or_default()))
            }
            ("Fn::Sub", Some(text), _) => self.substituted(text, None),
            ("Fn::Sub", None, [text, names]) => {
                self.substituted(text.text().unwrap_or_default(), Some(names))
            }
            _ => Err(unknown(tree, &format!("`{name}`"))),
        }
    }

    fn substituted(&mut self, text: &str, names: Option<&Tree>) -> Result<String, ImportError> {
        let mut result = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            result.push_str(before);
            let own = names.and_then(|names| names.get(name.trim()));
            match (name.strip_prefix('!'), own) {
                (Some(literal), _) => {
                    let literal = format!("${{{literal}}}");
                    result.push_str(&literal);
                    self.literals.insert(literal);
                }
                (None, Some(value)) => result.push_str(&self.text_of(value)?),
                (None, None) => result.push_str(&format!("${{{}}}", name.trim())),
            }
            rest = after;
        }
        result.push_str(rest);
        Ok(result)
    }
}

fn unknown(tree: &Tree, what: &str) -> ImportError {
    ImportError::Invalid {
        line: tree.line(),
        column: None,
        problem: format!(
            "a fragment of CloudFormation whose user data has {what}: only a whole template shows the value"
        ),
        hint: "give the whole template, or the text of the user data as a file of its own".to_owned(),
    }
}
