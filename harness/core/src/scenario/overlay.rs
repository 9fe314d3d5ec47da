//! Overlay manifests: which files of a checkout lie where over the node image.
//!
//! ```yaml
//! kubelet: ">=1.28"              # on other versions its scenarios are skipped
//! root: ${AMAZON_EKS_AMI}        # or a path relative to the manifest; default: the manifest's folder
//! files:
//!   - { from: files/bootstrap.sh, to: /etc/eks/bootstrap.sh, mode: "0755" }
//!   - { from: files/bin/, to: /usr/bin/ }                    # a folder, with everything in it
//!   - { from: files/join.sh, patch: join.patch, to: /usr/bin/join.sh }    # a file, changed by a unified diff
//!   - { from: files/runtime.slice, to: /etc/systemd/system/, optional: true }    # a file of some versions only
//! remove: [/etc/docker, /usr/bin/heptio-authenticator-aws]    # paths of the image or of earlier overlays
//! ```

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use semver::VersionReq;
use serde::Deserialize;

use super::file::version_range;
use super::variables::expand;
use crate::input::document;
use crate::input::files::Files;
use crate::input::mode::octal;
use crate::input::moved::without_dots;
use crate::input::problem::ScenarioError;
use crate::input::problems::Problems;
use crate::input::schema::schema_of;
use crate::plan::{Overlay, OverlayFile, OverlayRange, PatchedFile};
use crate::scenario::patch::{self, PatchError, Patched};

/// An overlay manifest.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Folder that `from` is relative to, itself relative to the manifest; `${NAME}` is an environment variable.
    #[serde(default)]
    pub root: Option<String>,
    /// Version range of the kubelets that the files are for, such as `>=1.28`. Scenarios with the overlay are skipped
    /// on other versions.
    #[serde(default)]
    #[schemars(schema_with = "version_range")]
    pub kubelet: Option<VersionReq>,
    /// Absolute paths in the node that the overlay removes before it adds its files: files, links, or folders with
    /// everything in them.
    #[serde(default)]
    pub remove: Vec<String>,
    /// The files, in order; later ones take precedence.
    #[serde(default)]
    pub files: Vec<ManifestEntry>,
}

/// A file or a folder of an overlay.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ManifestEntry {
    /// The file or folder, relative to `root`.
    pub from: String,
    /// The absolute path in the node; a path that ends in `/` keeps the file's name.
    pub to: String,
    /// A unified diff to apply to the file, relative to the manifest. The file itself does not change.
    #[serde(default)]
    pub patch: Option<String>,
    /// Permission bits in octal, such as `"0755"`; default: the file's.
    #[serde(default)]
    pub mode: Option<String>,
    /// Whether to leave the entry out if `from` does not exist, for files that only some versions of a checkout have.
    /// What the node image has at `to` is removed, unless `keep` is set, another entry brings it or `to` ends with `/`.
    #[serde(default)]
    pub optional: bool,
    /// Whether the node keeps what the image has at `to` if `from` does not exist: a checkout can have it at another
    /// place, or in a form that no kubelet of an image starts with. Requires `optional: true`.
    #[serde(default)]
    pub keep: bool,
}

/// The JSON schema of an overlay manifest.
#[must_use]
pub fn manifest_schema() -> serde_json::Value {
    schema_of::<Manifest>()
}

/// Reads a manifest, its files and its range of kubelets.
///
/// # Errors
/// All problems of the manifest: invalid YAML, unknown keys, an unset environment variable, missing files, patches that
/// do not apply.
pub fn load(path: &Path, files: &dyn Files) -> Result<Overlay, ScenarioError> {
    let read = document::read::<Manifest>(path, "an overlay manifest", files)?;
    let mut problems = Problems::of(&read.name, &read.tree);
    let overlay = Overlay {
        files: resolve(&read.value, path, files, &mut problems),
        ranges: range(&read.value, path).into_iter().collect(),
    };
    let problems = problems.into_problems();
    if problems.is_empty() {
        Ok(overlay)
    } else {
        Err(ScenarioError { problems })
    }
}

fn range(manifest: &Manifest, path: &Path) -> Option<OverlayRange> {
    Some(OverlayRange {
        manifest: without_dots(path).display().to_string(),
        kubelet: manifest.kubelet.clone()?,
    })
}

fn resolve(
    manifest: &Manifest,
    path: &Path,
    files: &dyn Files,
    problems: &mut Problems<'_>,
) -> Vec<OverlayFile> {
    // The parent of a bare file name is empty; it means the current folder.
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let root = match manifest.root.as_deref().map(|root| expand(root, files)) {
        None => folder.to_owned(),
        Some(Ok(root)) => folder.join(root),
        Some(Err(unset)) => {
            problems.add("root", unset.what(), unset.why(), unset.hint());
            return Vec::new();
        }
    };
    if !files.is_folder(&root) {
        problems.add("root", format!("there is no folder `{}`", root.display()), "", "");
        return Vec::new();
    }
    if manifest.files.is_empty() && manifest.remove.is_empty() {
        let hint = "add `files:` or `remove:`";
        problems.add("", "the overlay changes nothing", "", hint);
    }
    let mut missing = Vec::new();
    let mut overlay = removed(manifest, path, files, problems);
    for (index, entry) in manifest.files.iter().enumerate() {
        let key = format!("files[{index}]");
        if entry.keep && !entry.optional {
            let hint = "add `optional: true`, or remove `keep`";
            problems.add(
                &format!("{key}.keep"),
                "`keep` requires `optional: true`",
                "",
                hint,
            );
        }
        if entry.optional && is_missing(&root.join(&entry.from), files) {
            missing.push(entry);
            continue;
        }
        let mut placed = place_entry(entry, &key, &root, files, problems);
        if let Some(patch) = &entry.patch {
            let from = root.join(&entry.from);
            patch_entry(&mut placed, &from, &folder.join(patch), &key, files, problems);
        }
        overlay.extend(placed);
    }
    if overlay.is_empty() && !missing.is_empty() {
        let what = format!("`{}` has none of the optional files", root.display());
        problems.add("files", what, "", "name a checkout that the overlay is for");
    }
    // A machine of that version does not have the file: one that the image has there would be of another version.
    missing.retain(|entry| {
        let is_brought = overlay.iter().any(|file| file.to == entry.to);
        !entry.keep && !entry.to.ends_with('/') && !is_brought
    });
    let gone = missing.into_iter().map(|entry| OverlayFile {
        may_be_missing: true,
        ..removed_file(path, &entry.to, files)
    });
    gone.chain(overlay).collect()
}

/// Whether there is neither a file nor a folder. A file that cannot be read for another reason is not missing.
fn is_missing(from: &Path, files: &dyn Files) -> bool {
    !files.is_folder(from)
        && files
            .read(from)
            .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// The paths to remove. A path of a whole node, or one with `..`, is a mistake.
fn removed(
    manifest: &Manifest,
    path: &Path,
    files: &dyn Files,
    problems: &mut Problems<'_>,
) -> Vec<OverlayFile> {
    let mut removed = Vec::new();
    for (index, given) in manifest.remove.iter().enumerate() {
        let to = given.trim_end_matches('/');
        if !to.starts_with('/') || to.split('/').any(|name| name == "..") {
            let why = format!("found `{given}`");
            let hint = "for example `/etc/docker`";
            let what = "expected an absolute path below `/`";
            problems.add(&format!("remove[{index}]"), what, why, hint);
            continue;
        }
        removed.push(removed_file(path, to, files));
    }
    removed
}

/// A path of a node that the manifest removes.
fn removed_file(manifest: &Path, to: &str, files: &dyn Files) -> OverlayFile {
    OverlayFile {
        from: files.absolute(manifest).display().to_string(),
        to: to.to_owned(),
        mode: 0,
        removed: true,
        may_be_missing: false,
        patched: None,
    }
}

fn place_entry(
    entry: &ManifestEntry,
    key: &str,
    root: &Path,
    files: &dyn Files,
    problems: &mut Problems<'_>,
) -> Vec<OverlayFile> {
    let mode = match entry.mode.as_deref().map(octal) {
        None => None,
        Some(Some(mode)) => Some(mode),
        Some(None) => {
            problems.add(
                &format!("{key}.mode"),
                "invalid permission bits",
                "",
                "write it in octal, such as \"0755\"",
            );
            return Vec::new();
        }
    };
    if !entry.to.starts_with('/') {
        let why = format!("`{}` does not begin with `/`", entry.to);
        problems.add(
            &format!("{key}.to"),
            "expected an absolute path in the node",
            why,
            "",
        );
        return Vec::new();
    }
    match found(&root.join(&entry.from), &entry.to, files) {
        Ok(found) => found
            .into_iter()
            .map(|(from, to)| overlay_file(&from, to, mode, files))
            .collect(),
        Err(error) => {
            let what = format!("`{}` cannot be read", root.join(&entry.from).display());
            problems.add(
                &format!("{key}.from"),
                what,
                error.to_string(),
                format!("paths are relative to `{}`", root.display()),
            );
            Vec::new()
        }
    }
}

/// Applies an entry's patch. Nothing is placed if there was a problem with the entry already.
fn patch_entry(
    placed: &mut [OverlayFile],
    from: &Path,
    patch: &Path,
    key: &str,
    files: &dyn Files,
    problems: &mut Problems<'_>,
) {
    let key = format!("{key}.patch");
    if files.is_folder(from) {
        let why = format!("`{}` is a folder", from.display());
        problems.add(
            &key,
            "a patch applies to one file",
            why,
            "name the file in an entry of its own",
        );
        return;
    }
    for file in placed {
        let patched = files
            .read(from)
            .map_err(PatchError::Unreadable)
            .and_then(|original| patch::apply_file(&original, &file.from, patch, files));
        match patched {
            Ok(Patched { text, lines }) => {
                file.patched = Some(PatchedFile {
                    patch: files.absolute(patch).display().to_string(),
                    content: text,
                    lines,
                });
            }
            Err(error) => problems.add(
                &key,
                format!("cannot apply `{}` to `{}`", patch.display(), from.display()),
                error.to_string(),
                error.hint(),
            ),
        }
    }
}

/// The files of an entry with their paths in the node: one, or all of a folder.
fn found(from: &Path, to: &str, files: &dyn Files) -> std::io::Result<Vec<(PathBuf, String)>> {
    if !files.is_folder(from) {
        files.read(from)?;
        let name = from.file_name().unwrap_or_default().to_string_lossy();
        let to = if to.ends_with('/') {
            format!("{to}{name}")
        } else {
            to.to_owned()
        };
        return Ok(vec![(from.to_owned(), to)]);
    }
    let mut all = Vec::new();
    for path in files.list(from)? {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        all.extend(found(
            &path,
            &format!("{}/{name}", to.trim_end_matches('/')),
            files,
        )?);
    }
    Ok(all)
}

fn overlay_file(from: &Path, to: String, mode: Option<u32>, files: &dyn Files) -> OverlayFile {
    let mode = mode.or_else(|| files.mode(from).ok()).unwrap_or(0o644);
    OverlayFile {
        from: files.absolute(from).display().to_string(),
        to,
        mode,
        removed: false,
        may_be_missing: false,
        patched: None,
    }
}

#[cfg(test)]
mod tests;
