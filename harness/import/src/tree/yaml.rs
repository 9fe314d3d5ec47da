//! Reads YAML: a stream of documents, with CloudFormation's short forms and a limit on what aliases expand to.

use std::collections::BTreeMap;

use granit_parser::{Event, Marker, Parser, ScalarStyle, Span, Tag};

use super::value::{Tree, TreeValue};
use crate::error::ImportError;

/// Values that aliases may add to a stream. Real files stay far below; a bomb exceeds it at once.
const ALIASED: usize = 100_000;
/// Nested lists and mappings. Deeper ones overflow the stack of every recursive reader.
const DEPTH: usize = 128;
/// Functions of CloudFormation with a short form, without `Fn::`, also those that only `Rules` of a template have.
const FUNCTIONS: &[&str] = &[
    "And",
    "Base64",
    "Cidr",
    "Contains",
    "EachMemberEquals",
    "EachMemberIn",
    "Equals",
    "FindInMap",
    "GetAZs",
    "GetAtt",
    "If",
    "ImportValue",
    "Join",
    "Length",
    "Not",
    "Or",
    "RefAll",
    "Select",
    "Split",
    "Sub",
    "ToJsonString",
    "Transform",
    "ValueOf",
    "ValueOfAll",
];

/// Reads all documents; empty ones are omitted.
pub(crate) fn yaml(text: &str) -> Result<Vec<Tree>, ImportError> {
    Ok(built(text, TreeBuilder::default())?.documents)
}

/// A key that a mapping has already, and its line.
type RepeatedKey = (String, usize);

/// Reads all documents. Of equal keys in a mapping the last one counts; they are returned, too, with the line of each
/// but the first.
pub(crate) fn yaml_of_last_keys(text: &str) -> Result<(Vec<Tree>, Vec<RepeatedKey>), ImportError> {
    let builder = TreeBuilder {
        takes_last_key: true,
        ..TreeBuilder::default()
    };
    let built = built(text, builder)?;
    Ok((built.documents, built.repeated))
}

fn built(text: &str, mut builder: TreeBuilder) -> Result<TreeBuilder, ImportError> {
    for next in Parser::new_from_str(text) {
        let (event, span) = next.map_err(|error| {
            let info = error.info();
            invalid(
                *error.marker(),
                info.lines().next().unwrap_or_default().to_owned(),
            )
        })?;
        builder.event(event, span)?;
    }
    builder.documents.retain(|document| !document.is_null());
    Ok(builder)
}

#[derive(Default)]
struct TreeBuilder {
    documents: Vec<Tree>,
    open: Vec<OpenTree>,
    /// Finished values with an anchor, and the number of values in each.
    anchors: BTreeMap<usize, (Tree, usize)>,
    aliased: usize,
    /// Whether a mapping may have equal keys.
    takes_last_key: bool,
    repeated: Vec<RepeatedKey>,
}

/// A list or mapping whose end is not read yet.
struct OpenTree {
    tree: Tree,
    /// Key of a mapping whose value comes next.
    key: Option<(String, Marker)>,
    anchor: usize,
    tag: Option<String>,
}

impl TreeBuilder {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), ImportError> {
        let start = span.start;
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_plain = style == ScalarStyle::Plain && !tag.as_deref().is_some_and(is_text);
                let value = TreeValue::Scalar {
                    text: text.into_owned(),
                    is_plain,
                };
                let tag = function(tag.as_deref(), start)?;
                self.finish(positioned(start, value), anchor, tag, start)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.open(TreeValue::List(Vec::new()), anchor, tag.as_deref(), start)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.open(TreeValue::Map(Vec::new()), anchor, tag.as_deref(), start)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => {
                    let tree = merged(open.tree, start)?;
                    self.finish(tree, open.anchor, open.tag, start)
                }
                None => Ok(()),
            },
            Event::Alias(anchor) => self.alias(anchor, start),
            Event::DocumentStart(..) => {
                self.anchors.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn open(
        &mut self,
        value: TreeValue,
        anchor: usize,
        tag: Option<&Tag>,
        start: Marker,
    ) -> Result<(), ImportError> {
        if self.open.len() >= DEPTH {
            return Err(invalid(start, format!("more than {DEPTH} nested values")));
        }
        self.open.push(OpenTree {
            tree: positioned(start, value),
            key: None,
            anchor,
            tag: function(tag, start)?,
        });
        Ok(())
    }

    fn alias(&mut self, anchor: usize, start: Marker) -> Result<(), ImportError> {
        let Some((tree, size)) = self.anchors.get(&anchor) else {
            return Err(invalid(start, "an alias inside its own anchor".to_owned()));
        };
        self.aliased += size;
        if self.aliased > ALIASED {
            return Err(invalid(
                start,
                format!("aliases expand to more than {ALIASED} values"),
            ));
        }
        let tree = tree.clone();
        self.finish(tree, 0, None, start)
    }

    /// Adds a complete value to its parent.
    fn finish(
        &mut self,
        tree: Tree,
        anchor: usize,
        tag: Option<String>,
        start: Marker,
    ) -> Result<(), ImportError> {
        let tree = match tag {
            Some(tag) => with_function(tree, tag),
            None => tree,
        };
        if anchor > 0 {
            self.anchors.insert(anchor, (tree.clone(), size(&tree)));
        }
        let Some(parent) = self.open.last_mut() else {
            self.documents.push(tree);
            return Ok(());
        };
        match (&mut parent.tree.value, parent.key.take()) {
            (TreeValue::List(items), _) => items.push(tree),
            (TreeValue::Map(entries), Some((key, _))) => entries.push((key, tree)),
            (TreeValue::Map(entries), None) => {
                let TreeValue::Scalar { text, .. } = tree.value else {
                    return Err(invalid(start, "a key that is not text".to_owned()));
                };
                if text != "<<" && entries.iter().any(|(key, _)| *key == text) {
                    if !self.takes_last_key {
                        return Err(invalid(start, format!("key `{text}` appears twice")));
                    }
                    entries.retain(|(key, _)| *key != text);
                    self.repeated.push((text.clone(), start.line()));
                }
                parent.key = Some((text, start));
            }
            (TreeValue::Scalar { .. }, _) => {}
        }
        Ok(())
    }
}

/// Resolves merge keys: entries of the merged mappings that the mapping itself does not have.
fn merged(mut tree: Tree, end: Marker) -> Result<Tree, ImportError> {
    let TreeValue::Map(entries) = &mut tree.value else {
        return Ok(tree);
    };
    let (merges, mut own): (Vec<_>, Vec<_>) = std::mem::take(entries)
        .into_iter()
        .partition(|(key, _)| key == "<<");
    for (_, merge) in merges {
        let sources = match merge.value {
            TreeValue::List(items) => items,
            TreeValue::Map(_) => vec![merge],
            TreeValue::Scalar { .. } => {
                return Err(invalid(
                    end,
                    "`<<` merges a value that is not a mapping".to_owned(),
                ));
            }
        };
        for (key, value) in sources.iter().flat_map(Tree::entries) {
            if !own.iter().any(|(name, _)| name == key) {
                own.push((key.clone(), value.clone()));
            }
        }
    }
    tree.value = TreeValue::Map(own);
    Ok(tree)
}

fn is_text(tag: &Tag) -> bool {
    tag.is_yaml_core_schema_tag("str")
}

/// The name of the function that a tag stands for.
fn function(tag: Option<&Tag>, start: Marker) -> Result<Option<String>, ImportError> {
    let Some(tag) = tag.filter(|tag| tag.handle() == "!" && !tag.suffix().is_empty()) else {
        return Ok(None);
    };
    match tag.suffix() {
        "Ref" | "Condition" => Ok(Some(tag.suffix().to_owned())),
        name if FUNCTIONS.contains(&name) => Ok(Some(format!("Fn::{name}"))),
        name => Err(invalid(start, format!("unknown tag `!{name}`"))),
    }
}

/// The long form of a function: `!GetAtt A.B` is `{ Fn::GetAtt: [A, B] }`.
fn with_function(mut tree: Tree, function: String) -> Tree {
    let (line, column) = (tree.line, tree.column);
    let at = |value| Tree { line, column, value };
    if let ("Fn::GetAtt", TreeValue::Scalar { text, .. }) = (function.as_str(), &tree.value) {
        let (resource, attribute) = text.split_once('.').unwrap_or((text, ""));
        let scalars = [resource, attribute].map(|text| {
            at(TreeValue::Scalar {
                text: text.to_owned(),
                is_plain: false,
            })
        });
        tree = at(TreeValue::List(scalars.into()));
    }
    at(TreeValue::Map(vec![(function, tree)]))
}

fn size(tree: &Tree) -> usize {
    1 + match &tree.value {
        TreeValue::Scalar { .. } => 0,
        TreeValue::List(items) => items.iter().map(size).sum(),
        TreeValue::Map(entries) => entries.iter().map(|(_, tree)| size(tree)).sum(),
    }
}

fn positioned(start: Marker, value: TreeValue) -> Tree {
    Tree {
        line: start.line(),
        column: start.col() + 1,
        value,
    }
}

fn invalid(at: Marker, problem: String) -> ImportError {
    ImportError::Invalid {
        line: Some(at.line()),
        column: Some(at.col() + 1),
        problem: format!("invalid YAML: {problem}"),
        hint: "correct the line; a YAML linter shows more of it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Tree {
        yaml(text).unwrap().remove(0)
    }

    #[test]
    fn documents_of_a_stream_are_separate_and_scalars_stay_as_written() {
        let documents = yaml("# c\na: 1.30\n---\n---\nb: |\n  text\nc: 0644\n").unwrap();
        assert_eq!(documents.len(), 2);
        assert_eq!(documents[0].text_at(&["a"]).unwrap(), "1.30");
        assert_eq!(
            documents[1].to_json(),
            serde_json::json!({"b": "text\n", "c": "0644"})
        );
        assert_eq!(documents[1].get("c").unwrap().line, 7);
        assert_eq!(documents[1].get("c").unwrap().column, 4);
    }

    #[test]
    fn short_forms_become_functions() {
        let tree = one("a: !Sub \"x${Y}\"\nb: !GetAtt C.Endpoint.D\nc: !If [X, !Ref Y, ~]\n");
        assert_eq!(
            tree.to_json(),
            serde_json::json!({
                "a": {"Fn::Sub": "x${Y}"},
                "b": {"Fn::GetAtt": ["C", "Endpoint.D"]},
                "c": {"Fn::If": ["X", {"Ref": "Y"}, null]},
            })
        );
    }

    #[test]
    fn functions_of_rules_have_short_forms() {
        let tree = one("a: !ValueOfAll [x, y]\nb: !EachMemberIn [!RefAll x, [y]]\n");
        assert_eq!(
            tree.to_json(),
            serde_json::json!({
                "a": {"Fn::ValueOfAll": ["x", "y"]},
                "b": {"Fn::EachMemberIn": [{"Fn::RefAll": "x"}, ["y"]]},
            })
        );
    }

    #[test]
    fn the_last_of_equal_keys_counts_where_they_are_allowed() {
        let (documents, repeated) = yaml_of_last_keys("a: 1\nb: { c: 1,\n  c: 2 }\na: 3\n").unwrap();
        assert_eq!(documents[0].to_json(), serde_json::json!({"b": {"c": 2}, "a": 3}));
        assert_eq!(repeated, [("c".to_owned(), 3), ("a".to_owned(), 4)]);
        yaml_of_last_keys("a: [1\n").unwrap_err();
    }

    #[test]
    fn anchors_and_merge_keys_are_resolved() {
        let tree = one("a: &a { x: 1, y: 2 }\nb:\n  <<: *a\n  y: 3\n");
        assert_eq!(
            tree.get("b").unwrap().to_json(),
            serde_json::json!({"x": 1, "y": 3})
        );
    }

    #[test]
    fn invalid_yaml_has_its_position() {
        for (text, expected) in [
            ("a: [1\nb: 2\n", "line 2"),
            (
                "a: 1\na: 2\n",
                "line 2, column 1: invalid YAML: key `a` appears twice",
            ),
            (
                "a: !Sbu x\n",
                "line 1, column 9: invalid YAML: unknown tag `!Sbu`",
            ),
            ("? [a]\n: 1\n", "invalid YAML: a key that is not text"),
            ("a: *b\n", "line 1"),
        ] {
            let error = yaml(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_bomb_of_aliases_is_rejected() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        let error = yaml(&bomb).unwrap_err().to_string();
        assert!(
            error.contains("aliases expand to more than 100000 values"),
            "{error}"
        );
    }

    #[test]
    fn deep_nesting_is_rejected() {
        let error = yaml(&format!("{}{}", "[".repeat(200), "]".repeat(200)))
            .unwrap_err()
            .to_string();
        assert!(error.contains("more than 128 nested values"), "{error}");
    }
}
