//! Keys of the command line that the scenario of every machine gets.

use std::collections::BTreeMap;

use super::yaml_text::YamlText;
use crate::cluster_access::StatedAccess;
use crate::ec2::tokens as tokens_of;
use crate::error::ImportError;
use crate::machine::{AmiFamily, ClusterTraits, Machine};
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

    /// Whether the keys have the one at a path, such as `instance.network.interfaces[0].mac`.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        let mut entries = &self.0;
        for key in path.split(['.', '[']) {
            match value_of(entries, key) {
                None => return false,
                Some(YamlText::Map(inner)) => entries = inner,
                Some(_) => return true,
            }
        }
        true
    }

    /// Gives a machine what the keys state and user data or its report depends on.
    pub fn adopt_into(&self, machine: &mut Machine) {
        let traits = &mut machine.traits;
        let text = |path: &[&str]| self.text_at(path).map(str::to_owned);
        if let Some(instance_type) = text(&["instance", "type"]) {
            traits.instance_type = Some(instance_type);
        }
        if let Some(tokens) = self.text_at(&["instance", "metadata", "tokens"]) {
            traits.http_tokens = tokens_of(tokens).or(traits.http_tokens);
        }
        if let Some(volumes) = self.volumes() {
            traits.volumes = volumes;
        }
        if let Some(region) = text(&["region"]) {
            traits.region = Some(region);
        }
        if let Some(name) = text(&["cluster", "name"]) {
            traits.cluster.name = Some(name);
        }
        let states = |key: &str| self.value_at(&["cluster", key]).is_some();
        if states("access_entries") || states("aws_auth") {
            traits.cluster.access = StatedAccess::default();
        }
        if !machine.may_be_managed() {
            return;
        }
        // EKS adds another part to the user data of another AMI family, and names the cluster in it.
        let traits = &mut machine.traits;
        traits.ami_family = traits.ami_family.or_else(|| self.ami_family());
        let cluster = ClusterTraits {
            endpoint: text(&["cluster", "endpoint"]),
            service_cidr: text(&["cluster", "service_ipv4_cidr"]),
            ..ClusterTraits::default()
        };
        traits.cluster = cluster.or(&traits.cluster);
    }

    /// The AMI family of the built-in image that the keys choose.
    fn ami_family(&self) -> Option<AmiFamily> {
        match self.text_at(&["image"])? {
            "al2" => Some(AmiFamily::Al2),
            "al2023" => Some(AmiFamily::Al2023),
            _ => None,
        }
    }

    /// Device and size of each volume.
    fn volumes(&self) -> Option<BTreeMap<String, u32>> {
        let YamlText::List(items) = self.value_at(&["instance", "volumes"])? else {
            return None;
        };
        let volume = |item: &YamlText| {
            let YamlText::Map(entries) = item else { return None };
            match (value_of(entries, "device")?, value_of(entries, "gib")?) {
                (YamlText::Text(device), YamlText::Plain(gib)) => Some((device.clone(), gib.parse().ok()?)),
                _ => None,
            }
        };
        Some(items.iter().filter_map(volume).collect())
    }

    fn text_at(&self, path: &[&str]) -> Option<&str> {
        match self.value_at(path)? {
            YamlText::Text(text) => Some(text),
            _ => None,
        }
    }

    fn value_at(&self, path: &[&str]) -> Option<&YamlText> {
        let (first, rest) = path.split_first()?;
        let mut value = value_of(&self.0, first)?;
        for key in rest {
            value = match value {
                YamlText::Map(entries) => value_of(entries, key)?,
                _ => return None,
            };
        }
        Some(value)
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

fn value_of<'a>(entries: &'a [(String, YamlText)], key: &str) -> Option<&'a YamlText> {
    let entry = entries.iter().find(|(known, _)| known == key);
    entry.map(|(_, value)| value)
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
    use nodejoin_core::plan::Tokens;

    use super::*;
    use crate::machine::ManagedNodeGroup;

    fn adopted(keys: &str, machine: Machine) -> Machine {
        let mut machine = machine;
        AddedKeys::read(keys).unwrap().unwrap().adopt_into(&mut machine);
        machine
    }

    #[test]
    fn a_built_in_image_is_the_ami_family_of_a_managed_machine() {
        let managed = || Machine {
            managed: Some(ManagedNodeGroup::default()),
            ..Machine::default()
        };
        let family = |keys: &str| adopted(keys, managed()).traits.ami_family;
        assert_eq!(family("image: al2"), Some(AmiFamily::Al2));
        assert_eq!(family("image: al2023"), Some(AmiFamily::Al2023));
        assert_eq!(family("image: my-ami:1"), None);
        assert_eq!(family("network: open"), None);
        assert_eq!(adopted("image: al2", Machine::default()).traits.ami_family, None);
    }

    #[test]
    fn what_the_keys_state_is_part_of_the_machine() {
        let keys = "instance: { type: m5.xlarge, metadata: { tokens: optional } }\nregion: eu-west-1\ncluster: { name: prod }\n";
        let plain = adopted(keys, Machine::default()).traits;
        assert_eq!(plain.instance_type.as_deref(), Some("m5.xlarge"));
        assert_eq!(plain.http_tokens, Some(Tokens::Optional));
        assert_eq!(plain.region.as_deref(), Some("eu-west-1"));
        // The name of the run's cluster, with which that of the user data is compared.
        assert_eq!(plain.cluster.name.as_deref(), Some("prod"));
        let managed = Machine {
            managed: Some(ManagedNodeGroup::default()),
            ..Machine::default()
        };
        assert_eq!(
            adopted(keys, managed).traits.cluster.name.as_deref(),
            Some("prod")
        );
    }

    #[test]
    fn a_path_is_of_the_keys_if_they_give_its_value() {
        let keys = AddedKeys::read("a: { b: [{ c: 1 }], d: 2 }").unwrap().unwrap();
        for path in ["a", "a.b", "a.b[0].c", "a.d"] {
            assert!(keys.has(path), "{path}");
        }
        for path in ["", "b", "a.c", "user_data"] {
            assert!(!keys.has(path), "{path}");
        }
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
