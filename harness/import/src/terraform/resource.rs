//! A resource of a plan or state.

use crate::tree::Tree;

/// A resource or data source.
#[derive(Debug, Clone)]
pub(super) struct TerraformResource<'a> {
    pub(super) address: String,
    /// Such as `aws_launch_template`.
    pub(super) kind: String,
    pub(super) values: &'a Tree,
    /// Whether a plan creates it: what is known of it then is what its configuration states.
    pub(super) is_created: bool,
    /// Attributes that are known after apply only.
    pub(super) unknown: Option<&'a Tree>,
}

impl<'a> TerraformResource<'a> {
    pub(super) fn text(&self, path: &[&str]) -> Option<String> {
        self.values.text_at(path)
    }

    pub(super) fn is_unknown(&self, attribute: &str) -> bool {
        self.unknown
            .and_then(|unknown| unknown.get(attribute))
            .is_some_and(Tree::is_true)
    }

    /// The address of the module, with a `.` at its end; empty for the root module.
    pub(super) fn module(&self) -> &str {
        let length = self.address.rfind(&format!("{}.", self.kind)).unwrap_or_default();
        let module = &self.address[..length];
        module.strip_suffix("data.").unwrap_or(module)
    }
}
