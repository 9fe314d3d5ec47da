//! Snapshots of nodes next to their scenarios, as data.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The parts of a node that snapshots contain.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GoldenFile {
    /// Path of the snapshot, relative to this file (default: the name of the scenario file with the extension
    /// `.snapshot`).
    pub snapshot: Option<String>,
    /// Files on the node, by absolute path.
    pub files: Vec<String>,
    /// Whether the snapshot contains the arguments of the kubelet, one per line.
    pub argv: bool,
    /// Whether a second snapshot has the whole machine at the start of its kubelet: arguments, units, changed files,
    /// AWS calls in order. Its path is that of the first with the extension `.machine`. A node without a kubelet boots
    /// for it. It is for one minor version of the kubelet; with another one it is not compared.
    pub machine: bool,
    /// Parts of the machine that its snapshot leaves out, such as `file /etc/docker/key.json`; `*` stands for any text.
    pub except: Vec<String>,
    /// Texts of lines that the snapshot of files and arguments leaves out, such as `"cpu":`: values that depend on the
    /// host that runs nodejoin.
    pub without_lines: Vec<String>,
}

/// The parts of a node that snapshots contain, with the texts of the existing snapshots.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoldenPlan {
    /// Path of the snapshot file.
    pub path: String,
    /// Files on the node, by absolute path.
    pub files: Vec<String>,
    /// Whether the snapshot contains the arguments of the kubelet.
    pub argv: bool,
    /// Texts of lines that the snapshot leaves out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_lines: Vec<String>,
    /// Content of the snapshot; `None` if the file does not exist yet.
    pub text: Option<String>,
    /// The snapshot of the whole machine; `None` if there is none to compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineSnapshotPlan>,
    /// Whether snapshots that do not exist are not compared: those of an overlay of the command line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_optional: bool,
}

/// The snapshot of a whole machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineSnapshotPlan {
    /// Path of the snapshot file.
    pub path: String,
    /// Parts that it leaves out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Content of the snapshot; `None` if the file does not exist yet.
    pub text: Option<String>,
}

impl GoldenPlan {
    /// Whether the snapshot has parts of the joined node.
    #[must_use]
    pub fn has_parts(&self) -> bool {
        self.argv || !self.files.is_empty()
    }

    /// Takes the snapshots of an overlay of this name, beside those without it. `read` returns the text of a file.
    pub fn of_overlay(&mut self, name: &str, read: impl Fn(&Path) -> Option<String>) {
        let named = |path: &str| {
            let path = Path::new(path);
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            path.with_extension(format!("{name}.{extension}"))
        };
        let path = named(&self.path);
        self.text = read(&path);
        self.path = path.display().to_string();
        if let Some(machine) = &mut self.machine {
            let path = named(&machine.path);
            machine.text = read(&path);
            machine.path = path.display().to_string();
        }
        self.is_optional = true;
    }
}

/// The name of overlays in the names of their snapshots: that of each manifest, or of its folder if that says more.
/// `None` without overlays.
#[must_use]
pub fn overlay_names(manifests: &[PathBuf]) -> Option<String> {
    let name = |manifest: &PathBuf| {
        let manifest = std::path::absolute(manifest).unwrap_or_else(|_| manifest.clone());
        let (stem, folder) = (manifest.file_stem(), manifest.parent().and_then(Path::file_name));
        let is_plain = stem.is_some_and(|stem| stem == "overlay");
        let name = folder.filter(|_| is_plain).or(stem).unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let names: Vec<String> = manifests.iter().map(name).collect();
    (!names.is_empty()).then(|| names.join("+"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlays_are_named_by_their_manifest_or_its_folder() {
        let names = |manifests: &[&str]| {
            let manifests: Vec<PathBuf> = manifests.iter().map(PathBuf::from).collect();
            overlay_names(&manifests)
        };
        assert_eq!(names(&[]), None);
        assert_eq!(names(&["a/pool/overlay.yaml"]).as_deref(), Some("pool"));
        assert_eq!(
            names(&["a/pool.yaml", "/b/overlay.yaml"]).as_deref(),
            Some("pool+b")
        );
    }

    #[test]
    fn an_overlay_has_snapshots_of_its_own() {
        let mut golden = GoldenPlan {
            path: "a/joins.two.snapshot".into(),
            files: Vec::new(),
            argv: false,
            without_lines: Vec::new(),
            text: Some("old".into()),
            machine: Some(MachineSnapshotPlan {
                path: "a/joins.two.machine".into(),
                except: Vec::new(),
                text: Some("old".into()),
            }),
            is_optional: false,
        };
        golden.of_overlay("pool", |path| {
            path.ends_with("joins.two.pool.machine").then(|| "own".to_owned())
        });
        assert_eq!(
            (golden.path.as_str(), golden.text.clone()),
            ("a/joins.two.pool.snapshot", None)
        );
        let machine = golden.machine.unwrap();
        assert_eq!(
            (machine.path.as_str(), machine.text.as_deref()),
            ("a/joins.two.pool.machine", Some("own"))
        );
        assert!(golden.is_optional);
    }
}
