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
    /// What the node image has at `to` is removed, unless another entry brings it or `to` ends with `/`.
    #[serde(default)]
    pub optional: bool,
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
        if entry.optional && is_missing(&root.join(&entry.from), files) {
            missing.push(entry.to.as_str());
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
    missing.retain(|to| !to.ends_with('/') && !overlay.iter().any(|file| file.to == **to));
    let gone = missing.into_iter().map(|to| OverlayFile {
        may_be_missing: true,
        ..removed_file(path, to, files)
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
mod tests {
    use super::*;
    use crate::input::files::Memory;

    const PATCH: &str = "--- a\n+++ b\n@@ -1 +1,2 @@\n #!/bin/bash\n+set -e\n";

    fn checkout() -> Memory {
        Memory::default()
            .with("/src/files/bootstrap.sh", "#!/bin/bash\n")
            .with_mode("/src/files/bootstrap.sh", 0o755)
            .with("/src/files/bin/imds", "x")
            .with("/src/files/bin/lib/helper", "x")
            .with("/overlays/good.patch", PATCH)
            .with("/overlays/stale.patch", PATCH.replace("/bin/bash", "/bin/sh"))
            .with("/overlays/empty.patch", "nothing\n")
            .with_variable("CHECKOUT", "/src")
    }

    fn load_text(text: &str) -> Result<Vec<(String, String, u32)>, String> {
        let files = checkout().with("/overlays/a.yaml", text);
        match load(Path::new("/overlays/a.yaml"), &files) {
            Ok(found) => Ok(found.files.into_iter().map(|f| (f.from, f.to, f.mode)).collect()),
            Err(error) => Err(error.with_hints()),
        }
    }

    #[test]
    fn files_and_folders_land_where_the_manifest_says() {
        let found = load_text(
            "root: ${CHECKOUT}/files\nfiles:\n  - { from: bootstrap.sh, to: /etc/eks/ }\n  - { from: bin, to: /usr/bin, mode: \"0700\" }\n",
        )
        .unwrap();
        let file = |from: &str, to: &str, mode| (from.to_owned(), to.to_owned(), mode);
        assert_eq!(
            found,
            [
                file("/src/files/bootstrap.sh", "/etc/eks/bootstrap.sh", 0o755),
                file("/src/files/bin/imds", "/usr/bin/imds", 0o700),
                file("/src/files/bin/lib/helper", "/usr/bin/lib/helper", 0o700),
            ]
        );
    }

    #[test]
    fn a_patched_file_lands_with_the_change_and_keeps_its_source() {
        let text = "root: /src\nfiles: [{ from: files/bootstrap.sh, patch: good.patch, to: /etc/eks/ }]\n";
        let files = checkout().with("/overlays/a.yaml", text);
        let placed = load(Path::new("/overlays/a.yaml"), &files)
            .unwrap()
            .files
            .remove(0);
        assert_eq!(
            (placed.from.as_str(), placed.to.as_str(), placed.mode),
            ("/src/files/bootstrap.sh", "/etc/eks/bootstrap.sh", 0o755)
        );
        let patched = placed.patched.unwrap();
        assert_eq!(patched.content, "#!/bin/bash\nset -e\n");
        assert_eq!(patched.patch, "/overlays/good.patch");
        let inserted = patched.lines.source(2).unwrap();
        assert_eq!(
            (inserted.file.as_str(), inserted.line),
            ("/overlays/good.patch", Some(5))
        );
    }

    #[test]
    fn removed_paths_come_before_the_files() {
        let text =
            "root: /src\nremove: [/etc/docker/]\nfiles: [{ from: files/bin/imds, to: /etc/docker/x }]\n";
        let files = checkout().with("/overlays/a.yaml", text);
        let found = load(Path::new("/overlays/a.yaml"), &files).unwrap().files;
        let shown: Vec<_> = found
            .iter()
            .map(|file| (file.to.as_str(), file.removed))
            .collect();
        assert_eq!(shown, [("/etc/docker", true), ("/etc/docker/x", false)]);
        assert_eq!(found[0].from, "/overlays/a.yaml");
    }

    #[test]
    fn an_optional_file_that_is_missing_is_not_on_the_node() {
        let text = |optional: &str, from: &str| {
            format!(
                "root: /src/files\nfiles:\n  - {{ from: {from}, to: /usr/{from}{optional} }}\n  - {{ from: bootstrap.sh, to: /etc/eks/ }}\n"
            )
        };
        let places = |text: &str| {
            load_text(text).map(|found| found.into_iter().map(|(_, to, _)| to).collect::<Vec<_>>())
        };
        let optional = ", optional: true";
        assert_eq!(
            places(&text(optional, "bin/gone")).unwrap(),
            ["/usr/bin/gone", "/etc/eks/bootstrap.sh"]
        );
        // That of the image is removed.
        let gone = load_text(&text(optional, "bin/gone")).unwrap().remove(0);
        assert_eq!(
            gone,
            ("/overlays/a.yaml".to_owned(), "/usr/bin/gone".to_owned(), 0)
        );
        // Another entry brings the file.
        let both = text(optional, "bin/gone") + "  - { from: bin/imds, to: /usr/bin/gone }\n";
        assert_eq!(places(&both).unwrap(), ["/etc/eks/bootstrap.sh", "/usr/bin/gone"]);
        assert_eq!(
            places(&text(optional, "gone/")).unwrap(),
            ["/etc/eks/bootstrap.sh"]
        );
        assert_eq!(
            places(&text(optional, "bin/imds")).unwrap(),
            ["/usr/bin/imds", "/etc/eks/bootstrap.sh"]
        );
        assert!(
            places(&text("", "bin/gone"))
                .unwrap_err()
                .contains("`/src/files/bin/gone` cannot be read")
        );
    }

    #[test]
    fn a_folder_without_any_optional_file_is_a_problem() {
        let error = load_text("root: /src\nfiles: [{ from: gone, to: /x, optional: true }]\n").unwrap_err();
        assert!(error.contains("`/src` has none of the optional files"), "{error}");
    }

    #[test]
    fn the_range_of_kubelets_names_its_manifest() {
        let path = Path::new("/scenarios/../overlays/a.yaml");
        let ranges = |text: &str| {
            load(path, &checkout().with("/overlays/a.yaml", text))
                .unwrap()
                .ranges
        };
        let [range] = &ranges("kubelet: \">=1.28\"\nremove: [/x]\n")[..] else {
            panic!("one manifest has one range");
        };
        assert_eq!(
            (range.manifest.as_str(), range.kubelet.to_string().as_str()),
            ("/overlays/a.yaml", ">=1.28")
        );
        assert_eq!(ranges("remove: [/x]\n"), []);
    }

    #[test]
    fn the_root_is_relative_to_the_manifest() {
        let found = load_text("root: ../src/files\nfiles: [{ from: bin/imds, to: /x }]\n").unwrap();
        assert_eq!(found[0].0, "/src/files/bin/imds");
    }

    #[test]
    fn each_fault_says_where_and_what_to_do() {
        for (text, message) in [
            (
                "root: ${NOPE}\nfiles: []\n",
                "a.yaml:1:7: `root`: the environment variable `NOPE` is not set",
            ),
            (
                "root: ${NOPE}\nfiles: []\n",
                "hint: set it to your checkout: export NOPE=/path/to/it",
            ),
            ("root: ${CHECKOUT\nfiles: []\n", "unclosed `${`"),
            ("root: /none\nfiles: []\n", "`root`: there is no folder `/none`"),
            (
                "files: [{ form: a, to: /b }]\n",
                "a.yaml:1:11: `files[0].form`: unknown key",
            ),
            (
                "root: /src\nfiles: [{ from: nope, to: /b }]\n",
                "a.yaml:2:17: `files[0].from`: `/src/nope` cannot be read",
            ),
            (
                "root: /src\nfiles: [{ from: files, to: b }]\n",
                "expected an absolute path in the node",
            ),
            (
                "root: /src\nfiles: [{ from: files, to: /b, mode: \"9\" }]\n",
                "`files[0].mode`",
            ),
            (
                "root: /src\nfiles: [{ from: files/bootstrap.sh, patch: nope.patch, to: /b }]\n",
                "a.yaml:2:44: `files[0].patch`: cannot apply `/overlays/nope.patch` to `/src/files/bootstrap.sh`: cannot read the patch: ",
            ),
            (
                "root: /src\nfiles: [{ from: files/bootstrap.sh, patch: stale.patch, to: /b }]\n",
                "hunk 1 (line 3 of the patch) does not apply: expected `#!/bin/sh` at line 1 of the file, found `#!/bin/bash`\n  hint: the file has changed since",
            ),
            (
                "root: /src\nfiles: [{ from: files/bootstrap.sh, patch: empty.patch, to: /b }]\n",
                "the patch contains no hunk",
            ),
            (
                "root: /src\nfiles: [{ from: files/bin, patch: good.patch, to: /b }]\n",
                "a.yaml:2:35: `files[0].patch`: a patch applies to one file: `/src/files/bin` is a folder",
            ),
            ("files: [\n", "invalid YAML in overlay manifest"),
            (
                "root: /src\n",
                "the overlay changes nothing\n  hint: add `files:` or `remove:`",
            ),
            (
                "remove: [etc/docker]\n",
                "a.yaml:1:10: `remove[0]`: expected an absolute path below `/`: found `etc/docker`",
            ),
            ("kubelet: new\nremove: [/x]\n", "a.yaml:1:10: `kubelet`"),
            ("remove: [/, /etc/../usr]\n", "`remove[1]`"),
        ] {
            let error = load_text(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
        let error = load(Path::new("/nope.yaml"), &checkout()).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("/nope.yaml: cannot read overlay manifest"),
            "{error}"
        );
    }
}
