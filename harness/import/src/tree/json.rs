//! Reads JSON. Its grammar is part of YAML's, so that the YAML reader adds positions.

use serde_json::Value;

use super::value::{Tree, TreeValue};
use super::yaml::yaml;
use crate::error::ImportError;

/// Reads a JSON document.
pub(crate) fn json(text: &str) -> Result<Tree, ImportError> {
    let value: Value = serde_json::from_str(text).map_err(|error| invalid(&error))?;
    // The YAML reader rejects what JSON allows in rare cases, such as a key that appears twice.
    let positioned = yaml(text).ok().and_then(|mut documents| documents.pop());
    Ok(positioned.unwrap_or_else(|| tree(value)))
}

fn tree(value: Value) -> Tree {
    let scalar = |text: String, is_plain| TreeValue::Scalar { text, is_plain };
    let value = match value {
        Value::Null => scalar("null".to_owned(), true),
        Value::Bool(value) => scalar(value.to_string(), true),
        Value::Number(value) => scalar(value.to_string(), true),
        Value::String(value) => scalar(value, false),
        Value::Array(items) => TreeValue::List(items.into_iter().map(tree).collect()),
        Value::Object(entries) => TreeValue::Map(
            entries
                .into_iter()
                .map(|(key, value)| (key, tree(value)))
                .collect(),
        ),
    };
    Tree {
        line: 0,
        column: 0,
        value,
    }
}

fn invalid(error: &serde_json::Error) -> ImportError {
    let text = error.to_string();
    let text = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(text, _)| text);
    ImportError::Invalid {
        line: Some(error.line()).filter(|line| *line > 0),
        column: Some(error.column()).filter(|column| *column > 0),
        problem: format!("invalid JSON: {text}"),
        hint: "write the output of the tool into the file again; it must be one complete JSON document"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_positions() {
        let tree = json("{\n  \"a\": [1, \"x\\ud83d\\ude00\\/\"],\n\t\"b\": null\n}").unwrap();
        assert_eq!(tree.at(&["a", "1"]).unwrap().line, 2);
        assert_eq!(tree.text_at(&["a", "1"]).unwrap(), "x\u{1f600}/");
        assert_eq!(tree.text_at(&["a", "0"]).unwrap(), "1");
        assert_eq!(tree.get("b"), None);
    }

    #[test]
    fn a_key_that_appears_twice_is_legal() {
        let tree = json(r#"{"a": 1, "a": 2}"#).unwrap();
        assert_eq!(tree.text_at(&["a"]).unwrap(), "2");
    }

    #[test]
    fn invalid_json_has_its_position() {
        let error = json("{\n  \"a\": 1,\n}").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 3, column 1: invalid JSON: trailing comma"
        );
        let error = json("{\"a\": ").unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 1, column 6: invalid JSON: EOF while parsing a value"
        );
    }
}
