//! Manifests of Kubernetes in resources.

use super::resource::TerraformResource;
use crate::error::ImportError;
use crate::tree::{Tree, yaml};

/// The resources that apply manifests.
pub(super) const APPLYING: [&str; 2] = ["kubectl_manifest", "kubernetes_manifest"];

/// The manifests that a resource applies.
///
/// # Errors
/// Their text is not YAML.
pub(super) fn manifests(resource: &TerraformResource<'_>) -> Result<Vec<Tree>, ImportError> {
    match resource.values.get("manifest") {
        Some(manifest) => Ok(vec![untyped(manifest).clone()]),
        None => yaml(&resource.text(&["yaml_body"]).unwrap_or_default()),
    }
}

/// A state as Terraform stores it has the type of the manifest beside its value.
fn untyped(manifest: &Tree) -> &Tree {
    let is_typed = manifest.get("type").is_some() && manifest.get("kind").is_none();
    manifest.get("value").filter(|_| is_typed).unwrap_or(manifest)
}
