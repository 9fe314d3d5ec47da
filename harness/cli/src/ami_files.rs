//! Files of AMIs that the node image lacks, embedded so that an installed `nodejoin` needs no checkout.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Component, Path, PathBuf};

use nodejoin_fixtures::{Dir, IMAGES, OVERLAYS};
use nodejoin_import::AmiFiles;

/// Where the embedded folders are in `fixtures`.
const FOLDERS: [(&str, &Dir<'_>); 2] = [("overlays", &OVERLAYS), ("images", &IMAGES)];

/// The files of an AMI, and those of other folders that its manifest names, by their paths in `fixtures`.
pub(crate) fn of(ami: AmiFiles) -> Vec<(PathBuf, &'static [u8])> {
    let folder = Path::new("overlays").join(ami.folder());
    let mut paths = below(&folder);
    let manifest = content(&folder.join("overlay.yaml")).unwrap_or_default();
    for from in sources(&String::from_utf8_lossy(manifest)) {
        paths.insert(normal(&folder.join(from)));
    }
    let found = paths.into_iter().filter_map(|path| {
        let bytes = content(&path)?;
        Some((path, bytes))
    });
    found.collect()
}

/// The path of the manifest in `fixtures`.
pub(crate) fn manifest(ami: AmiFiles) -> PathBuf {
    Path::new("overlays").join(ami.folder()).join("overlay.yaml")
}

/// Writes the files of an AMI into the cache. Returns the path of the manifest.
pub(crate) fn cached(ami: AmiFiles, cache: &Path) -> io::Result<PathBuf> {
    let files = of(ami);
    let mut hash = DefaultHasher::new();
    files.hash(&mut hash);
    let root = cache.join("ami-files").join(format!("{:016x}", hash.finish()));
    for (path, bytes) in files {
        let path = root.join(path);
        if std::fs::read(&path).is_ok_and(|old| old == bytes) {
            continue;
        }
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        // Another process may read the file: it appears at once.
        let new = path.with_extension(format!("new-{}", std::process::id()));
        std::fs::write(&new, bytes)?;
        std::fs::rename(&new, &path)?;
    }
    Ok(root.join(manifest(ami)))
}

/// The paths that a manifest names after `from:`.
fn sources(manifest: &str) -> Vec<&str> {
    let after = manifest.split("from: ").skip(1);
    after
        .filter_map(|rest| rest.split([',', '\n', ' ', '}']).next())
        .filter(|path| path.starts_with("../"))
        .collect()
}

fn below(folder: &Path) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    let mut open: Vec<&Dir<'_>> = folder
        .strip_prefix("overlays")
        .ok()
        .and_then(|name| OVERLAYS.get_dir(name))
        .into_iter()
        .collect();
    while let Some(folder) = open.pop() {
        open.extend(folder.dirs());
        paths.extend(folder.files().map(|file| Path::new("overlays").join(file.path())));
    }
    paths
}

fn content(path: &Path) -> Option<&'static [u8]> {
    FOLDERS.iter().find_map(|(root, folder)| {
        let file = folder.get_file(path.strip_prefix(root).ok()?)?;
        Some(file.contents())
    })
}

fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use nodejoin_core::input::files::Disk;
    use nodejoin_core::scenario::overlay;

    use super::*;

    #[test]
    fn every_ami_has_all_files_that_its_manifest_names() {
        let cache = tempfile::tempdir().unwrap();
        for ami in [
            AmiFiles::Al2Of2026,
            AmiFiles::OldKubelet,
            AmiFiles::Ubuntu,
            AmiFiles::Kubeadm,
        ] {
            let manifest = cached(ami, cache.path()).unwrap();
            let embedded = overlay::load(&manifest, &Disk::default())
                .unwrap_or_else(|error| panic!("{}", error.with_hints()));
            let checkout = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../fixtures")
                .join(super::manifest(ami));
            let original = overlay::load(&checkout, &Disk::default())
                .unwrap_or_else(|error| panic!("{}", error.with_hints()));
            let shown = |files: &[nodejoin_core::plan::OverlayFile]| -> Vec<(String, u32, Vec<u8>)> {
                let file = |file: &nodejoin_core::plan::OverlayFile| {
                    (file.to.clone(), file.mode, std::fs::read(&file.from).unwrap())
                };
                files.iter().map(file).collect()
            };
            assert_eq!(shown(&embedded.files), shown(&original.files), "{ami:?}");
        }
    }
}
