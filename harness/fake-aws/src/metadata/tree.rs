//! The tree of an instance: paths, the versions that introduced them, and the lookup of a path.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use nodejoin_core::vocabulary::metadata_path;

use crate::identity::DocumentSignature;

/// Directory with a listing of its own format.
const PUBLIC_KEYS: &str = "meta-data/public-keys";

/// The value of a path.
#[derive(Debug, Clone)]
pub(crate) enum Leaf {
    /// A constant text.
    Text(String),
    UserData(Bytes),
    /// Credentials of the role.
    Credentials,
    ProfileInfo,
    /// Credentials that identify the instance to EC2 itself. The services reject them, as AWS does.
    IdentityCredentials,
    /// The description of [`Self::IdentityCredentials`].
    IdentityInfo,
    IdentityDocument,
    IdentitySignature(DocumentSignature),
    /// A text with the time of an event after the start of the node.
    Later {
        /// The text; `{}` stands for the time.
        form: String,
        /// Seconds after the start of the node.
        seconds: f64,
    },
}

/// The result of a lookup.
#[derive(Debug, Clone)]
pub(crate) enum Lookup {
    Leaf(Leaf),
    /// The names in a directory; subdirectories end with a slash.
    Listing(Vec<String>),
    Missing,
}

/// The metadata tree of an instance.
#[derive(Debug, Default)]
pub(crate) struct MetadataTree {
    leaves: BTreeMap<String, TreeEntry>,
    /// Directories that exist even without entries, with the version that introduced them.
    pub(super) directories: BTreeMap<String, &'static str>,
    /// The listing of `public-keys/`.
    pub(super) public_keys: Vec<String>,
}

#[derive(Debug)]
struct TreeEntry {
    /// The version that introduced it.
    since: &'static str,
    /// Seconds after the start of the node at which it appears.
    from_seconds: f64,
    leaf: Leaf,
}

/// The part of the tree that a request sees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreeView<'a> {
    /// Version root in the path.
    pub version: &'a str,
    /// Seconds after the start of the node.
    pub seconds: f64,
    /// Hides the role's paths, which appear late on EC2.
    pub without_role: bool,
}

impl TreeView<'_> {
    /// Versions compare as text: `1.0` sorts before every date, `latest` after.
    fn shows(&self, path: &str, entry: &TreeEntry) -> bool {
        entry.since <= self.version
            && entry.from_seconds <= self.seconds
            && !(self.without_role && path.starts_with("meta-data/iam/"))
    }
}

impl MetadataTree {
    /// Looks up a path below a version root.
    #[must_use]
    pub(crate) fn find(&self, view: TreeView<'_>, path: &str) -> Lookup {
        let path = path.trim_end_matches('/');
        if let Some(entry) = self.leaves.get(path) {
            return if view.shows(path, entry) {
                Lookup::Leaf(entry.leaf.clone())
            } else {
                Lookup::Missing
            };
        }
        let names = self.names(view, path);
        let exists = self
            .directories
            .get(path)
            .is_some_and(|since| *since <= view.version);
        if names.is_empty() && !exists {
            Lookup::Missing
        } else if path == PUBLIC_KEYS {
            Lookup::Listing(self.public_keys.clone())
        } else {
            Lookup::Listing(names)
        }
    }

    fn names(&self, view: TreeView<'_>, directory: &str) -> Vec<String> {
        let prefix = if directory.is_empty() {
            String::new()
        } else {
            format!("{directory}/")
        };
        let visible = self
            .leaves
            .iter()
            .filter(|(path, entry)| view.shows(path, entry))
            .map(|(path, _)| path);
        let directories = self
            .directories
            .iter()
            .filter(|(_, since)| **since <= view.version)
            .map(|(path, _)| path);
        let mut names = BTreeSet::new();
        for rest in visible.filter_map(|path| path.strip_prefix(&prefix)) {
            names.insert(first_name(rest));
        }
        for rest in directories
            .filter_map(|path| path.strip_prefix(&prefix))
            .filter(|rest| !rest.is_empty())
        {
            names.insert(first_name(&format!("{rest}/")));
        }
        // The listing of the root omits the slashes.
        let root = directory.is_empty();
        names
            .into_iter()
            .map(|(name, is_directory)| {
                if is_directory && !root {
                    format!("{name}/")
                } else {
                    name
                }
            })
            .collect()
    }

    /// Adds a constant below `meta-data/`.
    pub(super) fn text(&mut self, path: &str, value: impl Into<String>) {
        self.add(&format!("meta-data/{path}"), Leaf::Text(value.into()));
    }

    pub(super) fn add(&mut self, path: &str, leaf: Leaf) {
        self.add_from(path, 0.0, leaf);
    }

    pub(super) fn add_from(&mut self, path: &str, from_seconds: f64, leaf: Leaf) {
        let entry = TreeEntry {
            since: metadata_path::since(path),
            from_seconds,
            leaf,
        };
        self.leaves.insert(path.to_owned(), entry);
    }
}

fn first_name(rest: &str) -> (String, bool) {
    match rest.split_once('/') {
        Some((name, _)) => (name.to_owned(), true),
        None => (rest.to_owned(), false),
    }
}
