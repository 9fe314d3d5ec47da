//! The node image and its overlay files.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::sources::LineMap;

/// The node image and its overlay files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImagePlan {
    /// Name of the node image: a folder of `fixtures/images/nodes`, or an image of the container engine (`image:tag`).
    /// With `rootfs` the name of that file or folder.
    pub name: String,
    /// A root file system on this machine, as an absolute path: an archive, a folder, or a folder with an OCI image
    /// layout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rootfs: Option<String>,
    /// Overlay files, in order; later files take precedence.
    pub overlay: Vec<OverlayFile>,
}

/// Where a node image comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageSource<'a> {
    /// A recipe of the harness.
    BuiltIn(&'a str),
    /// An image that the container engine has.
    Engine(&'a str),
    /// A root file system on this machine.
    RootFs(&'a Path),
}

impl ImagePlan {
    /// The built-in image of scenarios without `image`.
    pub const DEFAULT: &'static str = "al2";

    /// An image without overlay files.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            rootfs: None,
            overlay: Vec::new(),
        }
    }

    /// The root file system at an absolute path, without overlay files.
    #[must_use]
    pub fn of_rootfs(path: &Path) -> Self {
        let name = path.file_name().unwrap_or(path.as_os_str());
        Self {
            name: name.to_string_lossy().into_owned(),
            rootfs: Some(path.display().to_string()),
            overlay: Vec::new(),
        }
    }

    /// The files that overlays add, in order, without those that a later overlay removes.
    pub fn added(&self) -> impl DoubleEndedIterator<Item = &OverlayFile> {
        let all = self.overlay.iter().enumerate();
        all.filter(|(index, file)| {
            let mut later = self.overlay[index + 1..].iter();
            !file.removed && !later.any(|later| later.removes(&file.to))
        })
        .map(|(_, file)| file)
    }

    /// The paths that overlays remove, each with whether the image itself must have it: an earlier overlay may have
    /// added it instead.
    pub fn removed(&self) -> impl Iterator<Item = (&str, bool)> {
        let all = self.overlay.iter().enumerate();
        let removed = all.filter(|(_, file)| file.removed);
        removed.map(|(index, file)| {
            let mut earlier = self.overlay[..index].iter();
            (
                file.to.as_str(),
                !file.may_be_missing && !earlier.any(|earlier| file.removes(&earlier.to)),
            )
        })
    }

    /// Where the image comes from. Names of images of the engine have a tag, a digest or a folder; built-in names have
    /// none of them.
    #[must_use]
    pub fn source(&self) -> ImageSource<'_> {
        match &self.rootfs {
            Some(path) => ImageSource::RootFs(Path::new(path)),
            None if self.name.contains([':', '/', '@']) => ImageSource::Engine(&self.name),
            None => ImageSource::BuiltIn(&self.name),
        }
    }
}

/// A file that an overlay adds to the image, or a path that it removes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverlayFile {
    /// Absolute path on the host; of a removed path, that of the manifest.
    pub from: String,
    /// Absolute path in the node.
    pub to: String,
    /// File mode.
    pub mode: u32,
    /// Whether the path is removed, with everything below it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// Whether the image need not have the path that is removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_missing: bool,
    /// Replaces the content of `from` if the manifest names a patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patched: Option<PatchedFile>,
}

impl OverlayFile {
    /// Whether this entry removes a path, or a folder that contains it.
    fn removes(&self, path: &str) -> bool {
        let below = path.strip_prefix(&self.to);
        self.removed && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// A file of an overlay after its patch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PatchedFile {
    /// The patch file on this machine, absolute.
    pub patch: String,
    /// The content that lands in the node.
    pub content: String,
    /// Maps lines of `content` to `from` and `patch`.
    pub lines: LineMap,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_overlay_removes_what_an_earlier_one_added() {
        let entry = |to: &str, removed| OverlayFile {
            from: "/x".to_owned(),
            to: to.to_owned(),
            mode: 0,
            removed,
            may_be_missing: false,
            patched: None,
        };
        let mut plan = ImagePlan::named("al2");
        plan.overlay = vec![
            entry("/etc/docker/daemon.json", false),
            entry("/etc/dockerd", false),
            entry("/etc/docker", true),
            entry("/etc/eks", true),
            entry("/etc/eks/new", false),
            OverlayFile {
                may_be_missing: true,
                ..entry("/etc/of-other-versions", true)
            },
        ];
        let added: Vec<&str> = plan.added().map(|file| file.to.as_str()).collect();
        assert_eq!(added, ["/etc/dockerd", "/etc/eks/new"]);
        let removed: Vec<_> = plan.removed().collect();
        let expected = [
            ("/etc/docker", false),
            ("/etc/eks", true),
            ("/etc/of-other-versions", false),
        ];
        assert_eq!(removed, expected);
    }

    #[test]
    fn a_tag_a_digest_or_a_folder_names_an_image_of_the_engine() {
        assert_eq!(ImagePlan::named("al2").source(), ImageSource::BuiltIn("al2"));
        for name in ["my-ami:1", "registry/ami", "ami@sha256:00"] {
            assert_eq!(ImagePlan::named(name).source(), ImageSource::Engine(name));
        }
        let file = Path::new("/images/ami:1.tar.gz");
        let plan = ImagePlan::of_rootfs(file);
        assert_eq!(
            (plan.source(), plan.name.as_str()),
            (ImageSource::RootFs(file), "ami:1.tar.gz")
        );
    }
}
