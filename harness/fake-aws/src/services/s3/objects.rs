//! The objects of a bucket: texts of the scenario, and the files of a folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use nodejoin_core::plan::stored::BucketPlan;
use sha2::{Digest, Sha256};

use crate::content::Content;

/// Limit of folders within folders; links may form a circle.
const MAX_DEPTH: usize = 16;

/// A bucket of the scenario.
pub(super) struct Bucket<'a>(pub(super) &'a BucketPlan);

impl Bucket<'_> {
    /// The content of an object. Keys are compared with those of the files, so that none leads out of the folder.
    pub(super) fn object(&self, key: &str) -> Option<Content> {
        if let Some(text) = self.0.objects.get(key) {
            return Some(text.clone().into());
        }
        Content::of_file(self.files().get(key)?).ok()
    }

    /// The lengths of all objects by key, in the order of the keys.
    pub(super) fn lengths(&self) -> BTreeMap<String, u64> {
        let files = self.files().into_iter();
        let files = files.filter_map(|(key, path)| Some((key, fs::metadata(path).ok()?.len())));
        let texts = self.0.objects.iter();
        files
            .chain(texts.map(|(key, text)| (key.clone(), text.len() as u64)))
            .collect()
    }

    fn files(&self) -> BTreeMap<String, PathBuf> {
        let mut found = BTreeMap::new();
        if let Some(folder) = &self.0.folder {
            collect(Path::new(folder), "", MAX_DEPTH, &mut found);
        }
        found
    }
}

/// The entity tag of an object: the fake's objects do not change.
pub(super) fn entity_tag(resource: &str, length: u64) -> String {
    let hash = hex::encode(Sha256::digest(format!("{resource} {length}")));
    format!("\"{}\"", &hash[..32])
}

fn collect(folder: &Path, prefix: &str, depth: usize, found: &mut BTreeMap<String, PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        let key = format!("{prefix}{name}");
        if path.is_file() {
            found.insert(key, path);
        } else if depth > 0 && path.is_dir() {
            collect(&path, &format!("{key}/"), depth - 1, found);
        }
    }
}
