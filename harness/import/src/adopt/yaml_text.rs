//! Writes YAML in block style, in the order of its keys.

/// A value of YAML.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum YamlText {
    Text(String),
    /// A number or a boolean.
    Plain(String),
    List(Vec<YamlText>),
    Map(Vec<(String, YamlText)>),
}

impl YamlText {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub(crate) fn plain(value: impl ToString) -> Self {
        Self::Plain(value.to_string())
    }

    pub(crate) fn json(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::String(text) => Self::text(text),
            serde_json::Value::Array(items) => Self::List(items.iter().map(Self::json).collect()),
            serde_json::Value::Object(entries) => {
                let entries = entries
                    .iter()
                    .map(|(key, value)| (key.clone(), Self::json(value)));
                Self::Map(entries.collect())
            }
            plain => Self::plain(plain),
        }
    }

    pub(crate) fn texts(texts: impl IntoIterator<Item = String>) -> Self {
        Self::List(texts.into_iter().map(Self::Text).collect())
    }

    /// A mapping without the entries that have no value.
    pub(crate) fn map<'a>(entries: impl IntoIterator<Item = (&'a str, Option<Self>)>) -> Self {
        let entries = entries.into_iter();
        let entries = entries.filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Self::Map(entries.filter(|(_, value)| !value.is_empty()).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Text(_) | Self::Plain(_) => false,
            Self::List(items) => items.is_empty(),
            Self::Map(entries) => entries.is_empty(),
        }
    }

    /// This value as a document.
    pub(crate) fn document(&self) -> String {
        let mut text = String::new();
        self.write(0, &mut text);
        text
    }

    fn write(&self, indent: usize, to: &mut String) {
        let blank = " ".repeat(indent);
        match self {
            Self::Text(text) => to.push_str(&format!("{blank}{}\n", scalar(text))),
            Self::Plain(text) => to.push_str(&format!("{blank}{text}\n")),
            Self::List(items) => items
                .iter()
                .for_each(|item| to.push_str(&format!("{blank}- {}\n", item.flow()))),
            Self::Map(entries) => {
                for (key, value) in entries {
                    match value {
                        Self::Map(_) | Self::List(_) if !value.is_empty() => {
                            to.push_str(&format!("{blank}{}:\n", scalar(key)));
                            value.write(indent + 2, to);
                        }
                        _ => to.push_str(&format!("{blank}{}: {}\n", scalar(key), value.flow())),
                    }
                }
            }
        }
    }

    /// This value on one line.
    fn flow(&self) -> String {
        match self {
            Self::Text(text) => scalar(text),
            Self::Plain(text) => text.clone(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::flow).collect();
                format!("[{}]", items.join(", "))
            }
            Self::Map(entries) => {
                let entries: Vec<String> = entries
                    .iter()
                    .map(|(key, value)| format!("{}: {}", scalar(key), value.flow()))
                    .collect();
                format!("{{ {} }}", entries.join(", "))
            }
        }
    }
}

/// A text without quotes if YAML reads it as the same text, else with those of JSON.
fn scalar(text: &str) -> String {
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte));
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    if is_word && !words.contains(&text.to_lowercase().as_str()) {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::yaml;

    #[test]
    fn a_document_reads_back_as_it_was() {
        let value = YamlText::map([
            ("name", Some(YamlText::text("a: b \"c\" #d\nx"))),
            ("none", None),
            ("empty", Some(YamlText::Map(Vec::new()))),
            (
                "node",
                Some(YamlText::map([
                    (
                        "labels",
                        Some(YamlText::Map(vec![("a.b/c".to_owned(), YamlText::text("true"))])),
                    ),
                    ("pods", Some(YamlText::plain(29))),
                    ("taints", Some(YamlText::texts(["k=v:NoSchedule".to_owned()]))),
                ])),
            ),
            (
                "rows",
                Some(YamlText::List(vec![YamlText::map([(
                    "role",
                    Some(YamlText::text("1")),
                )])])),
            ),
        ]);
        let text = value.document();
        let read = yaml(&text).unwrap().remove(0).to_json();
        assert_eq!(
            read,
            serde_json::json!({
                "name": "a: b \"c\" #d\nx",
                "node": { "labels": { "a.b/c": "true" }, "pods": 29, "taints": ["k=v:NoSchedule"] },
                "rows": [{ "role": "1" }],
            }),
            "{text}"
        );
    }
}
