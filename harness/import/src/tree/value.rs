//! A value of a document, and what is in it.

/// A value with its position, from 1; 0 if the parser does not tell it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tree {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) value: TreeValue,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TreeValue {
    /// Text, a number, a boolean or null, as written. A plain one has no quotes.
    Scalar {
        text: String,
        is_plain: bool,
    },
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

impl Tree {
    /// The value of a key of this mapping.
    pub(crate) fn get(&self, key: &str) -> Option<&Tree> {
        let (_, tree) = self.entries().iter().find(|(name, _)| name == key)?;
        (!tree.is_null()).then_some(tree)
    }

    /// The value of a path of keys; a number is the index of a list.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Tree> {
        path.iter().try_fold(self, |tree, step| match &tree.value {
            TreeValue::List(items) => items.get(step.parse::<usize>().ok()?),
            TreeValue::Map(_) => tree.get(step),
            TreeValue::Scalar { .. } => None,
        })
    }

    /// Another value at the place of this one.
    pub(crate) fn replaced(&self, value: TreeValue) -> Tree {
        Tree { value, ..*self }
    }

    /// This document without its positions.
    pub(crate) fn without_lines(&self) -> Tree {
        let value = match &self.value {
            TreeValue::List(items) => TreeValue::List(items.iter().map(Tree::without_lines).collect()),
            TreeValue::Map(entries) => {
                let without = |(key, tree): &(String, Tree)| (key.clone(), tree.without_lines());
                TreeValue::Map(entries.iter().map(without).collect())
            }
            scalar @ TreeValue::Scalar { .. } => scalar.clone(),
        };
        Tree {
            line: 0,
            column: 0,
            value,
        }
    }

    /// A text at the place of this value.
    pub(crate) fn replaced_by_text(&self, text: &str) -> Tree {
        self.replaced(TreeValue::Scalar {
            text: text.to_owned(),
            is_plain: false,
        })
    }

    /// This document with changed texts of all its scalars and keys.
    pub(crate) fn with_texts(&self, change: &impl Fn(&str) -> String) -> Tree {
        let value = match &self.value {
            TreeValue::Scalar { text, is_plain } => TreeValue::Scalar {
                text: change(text),
                is_plain: *is_plain,
            },
            TreeValue::List(items) => {
                TreeValue::List(items.iter().map(|item| item.with_texts(change)).collect())
            }
            TreeValue::Map(entries) => {
                let changed = |(key, tree): &(String, Tree)| (change(key), tree.with_texts(change));
                TreeValue::Map(entries.iter().map(changed).collect())
            }
        };
        Tree { value, ..*self }
    }

    /// The text of a scalar at a path; empty text counts as missing.
    pub(crate) fn text_at(&self, path: &[&str]) -> Option<String> {
        let text = self.at(path)?.text()?;
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The items of the list at a path; empty for other values.
    pub(crate) fn items_at(&self, path: &[&str]) -> &[Tree] {
        self.at(path).map(Tree::items).unwrap_or_default()
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            TreeValue::Scalar { text, .. } if !self.is_null() => Some(text),
            TreeValue::Scalar { .. } | TreeValue::List(_) | TreeValue::Map(_) => None,
        }
    }

    pub(crate) fn items(&self) -> &[Tree] {
        match &self.value {
            TreeValue::List(items) => items,
            TreeValue::Scalar { .. } | TreeValue::Map(_) => &[],
        }
    }

    pub(crate) fn entries(&self) -> &[(String, Tree)] {
        match &self.value {
            TreeValue::Map(entries) => entries,
            TreeValue::Scalar { .. } | TreeValue::List(_) => &[],
        }
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self.value, TreeValue::Map(_))
    }

    pub(crate) fn is_true(&self) -> bool {
        self.text() == Some("true")
    }

    pub(crate) fn is_null(&self) -> bool {
        match &self.value {
            TreeValue::Scalar { text, is_plain } => {
                *is_plain && ["", "~", "null", "Null", "NULL"].contains(&text.as_str())
            }
            TreeValue::List(_) | TreeValue::Map(_) => false,
        }
    }

    /// Line for messages, if known.
    pub(crate) fn line(&self) -> Option<usize> {
        (self.line > 0).then_some(self.line)
    }

    /// The value with the types that YAML 1.2 gives plain scalars.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            TreeValue::Scalar {
                text,
                is_plain: false,
            } => text.clone().into(),
            TreeValue::Scalar { text, is_plain: true } => plain(text),
            TreeValue::List(items) => items.iter().map(Tree::to_json).collect(),
            TreeValue::Map(entries) => entries
                .iter()
                .map(|(key, tree)| (key.clone(), tree.to_json()))
                .collect(),
        }
    }
}

fn plain(text: &str) -> serde_json::Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => serde_json::Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        other => {
            let is_number = other.starts_with(|c: char| c.is_ascii_digit() || c == '-');
            let number = serde_json::from_str::<serde_json::Number>(other).ok();
            match number.filter(|_| is_number) {
                Some(number) => number.into(),
                None => other.into(),
            }
        }
    }
}
