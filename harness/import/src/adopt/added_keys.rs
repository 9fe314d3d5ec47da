//! Keys of the command line that the scenario of every machine gets.

use super::yaml_text::YamlText;
use crate::error::ImportError;
use crate::machine::AmiFamily;
use crate::tree::{Tree, TreeValue, yaml};

/// Keys of a scenario, such as `aws` or `network`, that no file of another tool has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AddedKeys(Vec<(String, YamlText)>);

impl AddedKeys {
    /// Reads a mapping in YAML; `None` for other text.
    ///
    /// # Errors
    /// The text is not valid YAML.
    pub fn read(text: &str) -> Result<Option<Self>, ImportError> {
        let documents = yaml(text)?;
        let [document] = documents.as_slice() else {
            return Ok(None);
        };
        let mapping = document.is_map().then(|| entries(document));
        Ok(mapping.map(Self))
    }

    /// The AMI family of the built-in image that the keys choose.
    #[must_use]
    pub fn ami_family(&self) -> Option<AmiFamily> {
        let image = self.0.iter().find(|(key, _)| key == "image");
        match image {
            Some((_, YamlText::Text(name))) if name == "al2" => Some(AmiFamily::Al2),
            Some((_, YamlText::Text(name))) if name == "al2023" => Some(AmiFamily::Al2023),
            _ => None,
        }
    }

    /// Adds more keys, which win.
    pub fn merge(&mut self, more: Self) {
        merge(&mut self.0, &more.0);
    }

    /// Adds these keys to those of a scenario. Mappings are merged; other values take the place of the scenario's.
    pub(super) fn merge_into(&self, keys: &mut Vec<(String, YamlText)>) {
        merge(keys, &self.0);
    }
}

fn merge(keys: &mut Vec<(String, YamlText)>, added: &[(String, YamlText)]) {
    for (key, value) in added {
        let known = keys.iter_mut().find(|(known, _)| known == key);
        match (known.map(|(_, known)| known), value) {
            (Some(YamlText::Map(entries)), YamlText::Map(more)) => merge(entries, more),
            (Some(known), _) => *known = value.clone(),
            (None, _) => keys.push((key.clone(), value.clone())),
        }
    }
}

fn entries(tree: &Tree) -> Vec<(String, YamlText)> {
    let entries = tree.entries().iter();
    entries.map(|(key, value)| (key.clone(), text(value))).collect()
}

fn text(tree: &Tree) -> YamlText {
    match &tree.value {
        TreeValue::Scalar { text, is_plain: true } if is_typed(tree) => YamlText::plain(text),
        TreeValue::Scalar { text, .. } => YamlText::text(text),
        TreeValue::List(items) => YamlText::List(items.iter().map(self::text).collect()),
        TreeValue::Map(_) => YamlText::Map(entries(tree)),
    }
}

/// Whether a plain scalar is something else than text.
fn is_typed(tree: &Tree) -> bool {
    !tree.to_json().is_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_in_image_is_an_ami_family() {
        let family = |text: &str| AddedKeys::read(text).unwrap().unwrap().ami_family();
        assert_eq!(family("image: al2"), Some(AmiFamily::Al2));
        assert_eq!(family("image: al2023"), Some(AmiFamily::Al2023));
        assert_eq!(family("image: my-ami:1"), None);
        assert_eq!(family("network: open"), None);
    }

    #[test]
    fn mappings_are_merged_and_other_values_replaced() {
        let scenario = "network: isolated\naws:\n  allow: [ssm.PutParameter]\n  parameters: { /a: one }\n";
        let mut keys = AddedKeys::read(scenario).unwrap().unwrap().0;
        let added =
            "network: open\naws: { parameters: { /b: \"2\" }, allow: [] }\nlimits: { join_seconds: 9 }";
        AddedKeys::read(added).unwrap().unwrap().merge_into(&mut keys);
        let document = YamlText::Map(keys).document();
        let read = yaml(&document).unwrap().remove(0).to_json();
        let expected = serde_json::json!({
            "network": "open",
            "aws": { "allow": [], "parameters": { "/a": "one", "/b": "2" } },
            "limits": { "join_seconds": 9 },
        });
        assert_eq!(read, expected, "{document}");
    }

    #[test]
    fn text_without_a_mapping_has_no_keys() {
        for text in ["", "network", "[network]", "a: 1\n---\nb: 2\n"] {
            assert_eq!(AddedKeys::read(text).unwrap(), None, "{text}");
        }
        AddedKeys::read("a: [").unwrap_err();
    }
}
