//! The key `image`: a name, or a root file system on this machine.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use super::variables::expand;
use crate::input::files::Files;
use crate::input::problems::Problems;
use crate::plan::ImagePlan;

/// The key in messages.
const KEY: &str = "image.rootfs";

/// The node image.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ImageFile {
    /// A built-in name, or the name of an image of the container engine as `name:tag`.
    Name(String),
    /// A root file system on this machine.
    RootFs(RootFsFile),
}

/// A root file system on this machine.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RootFsFile {
    /// A tar archive (plain, or compressed with gzip, zstd or xz), a folder, or a folder with an OCI image layout,
    /// relative to this file; `${NAME}` is an environment variable. It is imported once by its content.
    pub rootfs: String,
}

/// The image of a scenario, without its overlay files.
pub(super) fn resolve(
    given: Option<&ImageFile>,
    scenario: &Path,
    files: &dyn Files,
    problems: &mut Problems<'_>,
) -> ImagePlan {
    let given = match given {
        None => return ImagePlan::named(ImagePlan::DEFAULT),
        Some(ImageFile::Name(name)) => return ImagePlan::named(name),
        Some(ImageFile::RootFs(file)) => &file.rootfs,
    };
    let path = match expand(given, files) {
        Ok(path) => scenario.parent().unwrap_or(Path::new("")).join(path),
        Err(unset) => {
            problems.add(KEY, unset.what(), unset.why(), unset.hint());
            return ImagePlan::named(ImagePlan::DEFAULT);
        }
    };
    if !files.is_folder(&path)
        && let Err(error) = files.open(&path)
    {
        problems.add(
            KEY,
            format!("cannot read root file system `{}`", path.display()),
            error.to_string(),
            "the path is relative to the folder of the scenario",
        );
    }
    ImagePlan::of_rootfs(&files.absolute(&path))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::input::files::Memory;
    use crate::plan::ImageSource;
    use crate::scenario::load;

    #[test]
    fn a_root_file_system_is_relative_to_its_scenario() {
        let text = "name: x\nuser_data: '#!/bin/sh'\nimage: { rootfs: '${IMAGES}/ami.tar.gz' }\n";
        let files = Memory::default()
            .with("/s/a.yaml", text)
            .with("/s/images/ami.tar.gz", "")
            .with_variable("IMAGES", "images");
        let plan = load(Path::new("/s/a.yaml"), Path::new("/s"), &files).unwrap();
        let path = Path::new("/s/images/ami.tar.gz");
        assert_eq!(plan.image.source(), ImageSource::RootFs(path));
        let error = load(
            Path::new("/s/a.yaml"),
            Path::new("/s"),
            &files.with_variable("IMAGES", "nope"),
        );
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("cannot read root file system `/s/nope/ami.tar.gz`"),
            "{error}"
        );
    }
}
