//! Which manifest another one means, by its name or by a selector.

use std::collections::BTreeMap;

use crate::tree::Tree;

const CLUSTER: &str = "Cluster";
const LAUNCH_TEMPLATE: &str = "LaunchTemplate";
const LAUNCH_CONFIGURATION: &str = "LaunchConfiguration";
/// Fields of Terraform's resources with the kind of manifest that references in them mean.
const FIELDS: [(&str, &str); 9] = [
    ("cluster_name", CLUSTER),
    ("id", LAUNCH_TEMPLATE),
    ("launch_template_id", LAUNCH_TEMPLATE),
    ("launch_configuration", LAUNCH_CONFIGURATION),
    ("arn", "InstanceProfile"),
    ("name", "InstanceProfile"),
    ("role", "Role"),
    ("node_role_arn", "Role"),
    ("principal_arn", "Role"),
];
/// The version that a group takes over from its cluster, which has it itself.
const VERSION: &str = "version";
/// In place of the id of a launch template that labels select. No manifest has this name.
const SELECTED: &str = "(selected by labels)";

/// Manifests of Crossplane, as others refer to them.
pub(super) struct CrossplaneManifests<'a> {
    all: &'a [&'a Tree],
    /// Names in AWS by the kind and the name of a manifest.
    names: BTreeMap<(String, String), String>,
}

/// What a reference or a selector stands for.
pub(super) struct CrossplaneReference {
    /// The field that has the value of the other manifest.
    pub(super) field: String,
    /// The value. `None`: the manifest states the field itself, or nothing tells it.
    pub(super) meant: Option<String>,
    /// Whether it means a launch template or a launch configuration outside of the file.
    pub(super) is_missing: bool,
}

impl<'a> CrossplaneManifests<'a> {
    pub(super) fn of(all: &'a [&'a Tree]) -> Self {
        let name = |document: &&Tree| {
            let kind = document.text_at(&["kind"])?;
            let external = document.text_at(&["metadata", "annotations", "crossplane.io/external-name"])?;
            Some(((kind, document.text_at(&["metadata", "name"])?), external))
        };
        let names = all.iter().filter_map(name).collect();
        Self { all, names }
    }

    /// The name in AWS of the manifest with this kind and name.
    pub(super) fn external_name(&self, kind: &str, name: &str) -> Option<&str> {
        let key = (kind.to_owned(), name.to_owned());
        self.names.get(&key).map(String::as_str)
    }

    /// What a field of a document means, if it is a reference or a selector. `parent`: the mapping with the field.
    pub(super) fn reference(
        &self,
        document: &Tree,
        parent: &Tree,
        (key, value): (&str, &Tree),
    ) -> Option<CrossplaneReference> {
        let (plain, is_selector) = match key.strip_suffix("Ref") {
            Some(plain) => (plain, false),
            None => (key.strip_suffix("Selector")?, true),
        };
        // `principalArnFromRoleRef` of an access entry.
        let plain = plain.strip_suffix("FromRole").unwrap_or(plain);
        let field = snake_case(plain);
        let kind = FIELDS.iter().find(|(name, _)| *name == field);
        let kind = kind.map_or("", |(_, kind)| *kind);
        let names = match is_selector {
            true if kind.is_empty() => return None,
            true => self.selected(document, kind, value),
            false => vec![value.text_at(&["name"])?],
        };
        let is_source = [LAUNCH_TEMPLATE, LAUNCH_CONFIGURATION].contains(&kind);
        // Crossplane writes the value beside the reference when it has resolved it.
        let is_stated = parent.get(plain).is_some() || field == VERSION;
        let (meant, is_missing) = match &names[..] {
            _ if is_stated => (None, false),
            [name] => (Some(self.value(kind, name)), is_source && !self.has(kind, name)),
            _ => (is_source.then(|| SELECTED.to_owned()), is_source),
        };
        Some(CrossplaneReference {
            field,
            meant,
            is_missing,
        })
    }

    /// What resources have for a manifest: the id of a launch template and the name of a cluster, as AWS knows them.
    fn value(&self, kind: &str, name: &str) -> String {
        let external = self.external_name(kind, name);
        let external = external.filter(|_| [CLUSTER, LAUNCH_TEMPLATE].contains(&kind));
        external.unwrap_or(name).to_owned()
    }

    fn has(&self, kind: &str, name: &str) -> bool {
        let mut all = self.all.iter().filter(|document| is_of_kind(document, kind));
        all.any(|document| document.text_at(&["metadata", "name"]).as_deref() == Some(name))
    }

    /// The names of the manifests of a kind that a selector of a document selects.
    fn selected(&self, document: &Tree, kind: &str, selector: &Tree) -> Vec<String> {
        let labels = selector.get("matchLabels").map(Tree::entries).unwrap_or_default();
        let has_labels = |other: &Tree| {
            let label = |key: &str| other.text_at(&["metadata", "labels", key]);
            labels
                .iter()
                .all(|(key, value)| label(key).as_deref() == value.text())
        };
        let needs_controller = selector.get("matchControllerRef").is_some_and(Tree::is_true);
        let own = controller(document);
        let has_controller = |other: &Tree| !needs_controller || (own.is_some() && controller(other) == own);
        let all = self.all.iter().filter(|other| is_of_kind(other, kind));
        let found = all.filter(|other| has_labels(other) && has_controller(other));
        found
            .filter_map(|other| other.text_at(&["metadata", "name"]))
            .collect()
    }
}

fn is_of_kind(document: &Tree, kind: &str) -> bool {
    document.text_at(&["kind"]).as_deref() == Some(kind)
}

/// The composite resource that controls a manifest.
fn controller(document: &Tree) -> Option<String> {
    let mut owners = document.items_at(&["metadata", "ownerReferences"]).iter();
    let owner = owners.find(|owner| owner.get("controller").is_some_and(Tree::is_true))?;
    Some(
        ["kind", "name", "uid"]
            .map(|key| owner.text_at(&[key]).unwrap_or_default())
            .join("/"),
    )
}

/// Such as `http_put_response_hop_limit` of `httpPutResponseHopLimit`.
pub(super) fn snake_case(key: &str) -> String {
    let mut name = String::new();
    for letter in key.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
