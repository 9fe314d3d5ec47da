//! The resources of a stack or preview, in one form.

use crate::error::ImportError;
use crate::tree::Tree;

/// In place of a value that is known after the update only.
pub(super) const UNKNOWN: &str = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
/// The key of an object that holds a secret.
const SECRET: &str = "4dabf18193072939515e22adb298388d";
/// The kind of a provider, and the name of the one of resources that name none.
const PROVIDER: &str = "pulumi:providers:aws";
const DEFAULT_PROVIDER: &str = "default";

/// A resource of a stack, or of a preview.
#[derive(Debug)]
pub(super) struct PulumiResource<'a> {
    urn: String,
    /// Such as `aws:ec2/launchTemplate:LaunchTemplate`.
    pub(super) kind: String,
    pub(super) inputs: &'a Tree,
    outputs: Option<&'a Tree>,
    /// The resource with its dependencies.
    state: &'a Tree,
}

/// All resources of a file.
#[derive(Debug)]
pub(super) struct PulumiStack<'a> {
    pub(super) resources: Vec<PulumiResource<'a>>,
    /// The region in the configuration. Only previews have it.
    region: Option<String>,
}

impl<'a> PulumiStack<'a> {
    /// Reads a stack or a preview.
    pub(super) fn of(document: &'a Tree) -> Self {
        let states = document.items_at(&["deployment", "resources"]).iter();
        let steps = document.items_at(&["steps"]).iter();
        let steps = steps.filter(|step| step.text_at(&["op"]).as_deref() != Some("delete"));
        let states = states.chain(steps.filter_map(|step| step.get("newState")));
        Self {
            resources: states.filter_map(PulumiResource::of).collect(),
            region: document.text_at(&["config", "aws:region"]),
        }
    }

    pub(super) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &PulumiResource<'a>> {
        self.resources
            .iter()
            .filter(move |resource| resource.kind == kind)
    }

    /// The region of the resource's provider.
    pub(super) fn region(&self, resource: &PulumiResource<'_>) -> Option<String> {
        let named = resource.state.text_at(&["provider"]).unwrap_or_default();
        let own = self.of_kind(PROVIDER).find(|provider| provider.is_named(&named));
        let by_default = || {
            self.of_kind(PROVIDER)
                .find(|provider| provider.name().starts_with(DEFAULT_PROVIDER))
        };
        own.or_else(by_default)
            .and_then(|provider| provider.text(&["region"]))
            .or_else(|| self.region.clone())
    }
}

impl<'a> PulumiResource<'a> {
    fn of(state: &'a Tree) -> Option<Self> {
        Some(Self {
            urn: state.text_at(&["urn"])?,
            kind: state.text_at(&["type"])?,
            inputs: state.get("inputs")?,
            outputs: state.get("outputs"),
            state,
        })
    }

    /// The last part of the URN.
    pub(super) fn name(&self) -> String {
        self.urn.rsplit("::").next().unwrap_or_default().to_owned()
    }

    /// Whether AWS has it: it has an id.
    pub(super) fn exists(&self) -> bool {
        self.state.text_at(&["id"]).is_some_and(|id| !id.is_empty())
    }

    /// Whether this is the provider in a reference: its URN, and its id behind `::`.
    fn is_named(&self, reference: &str) -> bool {
        reference
            .strip_prefix(&self.urn)
            .is_some_and(|id| id.starts_with("::"))
    }

    /// An input, or an output that the provider computes.
    pub(super) fn text(&self, path: &[&str]) -> Option<String> {
        let own = self.inputs.text_at(path).or_else(|| self.outputs?.text_at(path));
        own.filter(|text| text != UNKNOWN)
    }

    /// The texts of a list, as input and as output. `None`: one that is not known, or the whole list is not.
    pub(super) fn texts(&self, key: &str) -> Vec<Option<String>> {
        let mut texts = Vec::new();
        for value in self.values(key) {
            match is_list(value) {
                true => texts.extend(value.items().iter().map(known_text)),
                false => texts.push(None),
            }
        }
        texts
    }

    /// Whether a list is missing or empty, as input and as output.
    pub(super) fn is_empty(&self, key: &str) -> bool {
        let mut values = self.values(key);
        values.all(|value| is_list(value) && value.items().is_empty())
    }

    /// An input and the output with its name.
    fn values(&self, key: &str) -> impl Iterator<Item = &'a Tree> {
        let output = self.outputs.and_then(|outputs| outputs.get(key));
        self.inputs.get(key).into_iter().chain(output)
    }

    /// Whether an input has a value of another resource.
    pub(super) fn depends_on_any(&self, input: &str) -> bool {
        !self.state.items_at(&["propertyDependencies", input]).is_empty()
    }

    /// Whether an input has a value of the other resource, which may be known after the update only.
    pub(super) fn depends_on(&self, input: &str, other: &PulumiResource<'_>) -> bool {
        let urns = self.state.items_at(&["propertyDependencies", input]).iter();
        urns.filter_map(Tree::text).any(|urn| urn == other.urn)
    }

    /// Whether an input is one of these attributes of the other resource.
    pub(super) fn refers(&self, input: &[&str], other: &PulumiResource<'_>, attributes: &[&str]) -> bool {
        match self.text(input) {
            Some(value) => attributes
                .iter()
                .any(|attribute| other.text(&[attribute]).as_ref() == Some(&value)),
            None => input.first().is_some_and(|name| self.depends_on(name, other)),
        }
    }

    /// The text of a field, if the document has it.
    pub(super) fn known(&self, field: &Tree) -> Result<String, ImportError> {
        if field.get(SECRET).is_some() {
            return self.secret(field);
        }
        let text = field.text().unwrap_or_default();
        match text.contains(UNKNOWN) {
            true => Err(ImportError::UnknownUntilApply {
                machine: self.name(),
                hint: "give the stack after the update: `pulumi stack export --show-secrets`".to_owned(),
            }),
            false => Ok(text.to_owned()),
        }
    }

    /// The text of a secret that the export shows, which is JSON in the document.
    fn secret(&self, field: &Tree) -> Result<String, ImportError> {
        let plain = field.text_at(&["plaintext"]);
        let plain = plain.and_then(|json| serde_json::from_str(&json).ok());
        plain.ok_or_else(|| ImportError::Invalid {
            line: field.line(),
            column: None,
            problem: format!("the user data of `{}` is a secret", self.name()),
            hint: "export it in clear: `pulumi stack export --show-secrets`".to_owned(),
        })
    }
}

/// Whether a value is a list, and neither a secret nor known after the update only.
fn is_list(value: &Tree) -> bool {
    value.text().is_none() && !value.is_map()
}

/// The text of a value that is neither a secret nor known after the update only.
fn known_text(value: &Tree) -> Option<String> {
    let text = value.text().filter(|text| !text.contains(UNKNOWN));
    text.map(str::to_owned)
}
