//! Files that the CDK uploads to S3 for a stack, and that user data downloads.

use std::path::Path;

use crate::machine::Machine;
use crate::tree::{Tree, json};

/// How the names of manifests end.
pub(super) const MANIFEST: &str = ".assets.json";

/// A file of the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CdkAsset {
    /// Its path in the folder.
    path: String,
    /// The key of its object.
    key: String,
}

/// The files that a manifest lists. One that cannot be read lists none.
pub(super) fn assets(manifest: &Path) -> Vec<CdkAsset> {
    let text = std::fs::read_to_string(manifest).unwrap_or_default();
    let manifest = json(&text).ok();
    let files = manifest.as_ref().and_then(|manifest| manifest.get("files"));
    let files = files.map(Tree::entries).unwrap_or_default().iter();
    let found = files.flat_map(|(_, file)| {
        let path = file.text_at(&["source", "path"]).unwrap_or_default();
        let destinations = file.get("destinations").map(Tree::entries).unwrap_or_default();
        let keys = destinations
            .iter()
            .filter_map(|(_, place)| place.text_at(&["objectKey"]));
        keys.map(move |key| CdkAsset {
            path: path.clone(),
            key,
        })
    });
    found
        .filter(|asset| !asset.path.is_empty() && !asset.key.is_empty())
        .collect()
}

impl CdkAsset {
    /// Says of a machine whose user data downloads the file that a run does not have it.
    pub(super) fn note(&self, machine: &mut Machine) {
        let text = String::from_utf8_lossy(machine.user_data.as_deref().unwrap_or_default()).into_owned();
        let Some(bucket) = self.bucket_in(&text) else {
            return;
        };
        let (path, key) = (&self.path, &self.key);
        let text = format!(
            "the object `{key}` of the bucket `{bucket}`, which is `{path}` in the folder: nothing of it is adopted, and the run lacks it; \
             copy it to `assets/{key}` and give `--with 'aws: {{ buckets: {{ {bucket}: {{ folder: assets }} }} }}'`, and the cluster that \
             it joins with `--with 'cluster: {{ name: ... }}'`"
        );
        if !machine.not_checked.contains(&text) {
            machine.not_checked.push(text);
        }
    }

    /// The bucket from which a text downloads the file.
    fn bucket_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        let is_of_name =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte);
        let mut addresses = text
            .split("s3://")
            .skip(1)
            .filter_map(|rest| rest.split_once('/'));
        let (bucket, _) = addresses.find(|(_, object)| object.starts_with(&self.key))?;
        (!bucket.is_empty() && bucket.bytes().all(is_of_name)).then_some(bucket)
    }
}
