//! Folders with a root file system, packed into an archive, and their fingerprint.

use std::fs::{self, File, FileType, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::images::content_hash::ContentHash;

/// Packs a folder, sorted by name, so that the same folder yields the same archive. Sockets are left out, as by `tar`.
pub(super) fn pack(folder: &Path, to: File) -> io::Result<File> {
    let mut archive = tar::Builder::new(io::BufWriter::with_capacity(256 * 1024, to));
    archive.follow_symlinks(false);
    for (path, metadata) in entries(folder)? {
        let relative = path.strip_prefix(folder).unwrap_or(&path);
        add(&mut archive, &path, relative, &metadata)
            .map_err(|error| io::Error::new(error.kind(), format!("`{}`: {error}", path.display())))?;
    }
    archive
        .into_inner()?
        .into_inner()
        .map_err(io::IntoInnerError::into_error)
}

fn add(
    archive: &mut tar::Builder<impl Write>,
    path: &Path,
    relative: &Path,
    metadata: &Metadata,
) -> io::Result<()> {
    let kind = metadata.file_type();
    if kind.is_socket() {
        return Ok(());
    }
    let mut header = tar::Header::new_gnu();
    header.set_metadata(metadata);
    if kind.is_symlink() {
        return archive.append_link(&mut header, relative, fs::read_link(path)?);
    }
    if kind.is_file() {
        return archive.append_data(&mut header, relative, File::open(path)?);
    }
    if is_device(kind) {
        header.set_device_major(rustix::fs::major(metadata.rdev()))?;
        header.set_device_minor(rustix::fs::minor(metadata.rdev()))?;
    }
    header.set_size(0);
    archive.append_data(&mut header, relative, io::empty())
}

fn is_device(kind: FileType) -> bool {
    kind.is_char_device() || kind.is_block_device()
}

/// A hash of path, size, owner, mode and times of a file, or of all files of a folder, which changes with their
/// content.
pub(super) fn fingerprint(path: &Path) -> io::Result<String> {
    let mut hash = ContentHash::new("fingerprint");
    hash.add(&path.to_string_lossy());
    let found = match fs::metadata(path)? {
        metadata if metadata.is_dir() => entries(path)?,
        metadata => vec![(path.to_owned(), metadata)],
    };
    for (path, seen) in found {
        let changed = seen
            .modified()?
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos();
        let numbers = [
            seen.len(),
            u64::from(seen.uid()),
            u64::from(seen.gid()),
            u64::from(seen.mode()),
        ];
        hash.add(&path.to_string_lossy())
            .add(&format!("{numbers:?} {changed}"));
    }
    Ok(hash.short())
}

/// All entries below a folder, sorted, folders before their content.
fn entries(folder: &Path) -> io::Result<Vec<(PathBuf, Metadata)>> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        let read = fs::read_dir(&next)
            .map_err(|error| io::Error::new(error.kind(), format!("`{}`: {error}", next.display())))?;
        for entry in read {
            let path = entry?.path();
            let metadata = fs::symlink_metadata(&path)?;
            if metadata.is_dir() {
                left.push(path.clone());
            }
            found.push((path, metadata));
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_folder_becomes_an_archive_with_its_modes_and_links() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("usr/bin")).unwrap();
        fs::write(root.join("usr/bin/tool"), "#!/bin/sh").unwrap();
        fs::set_permissions(root.join("usr/bin/tool"), fs::Permissions::from_mode(0o4755)).unwrap();
        symlink("/nonexistent/target", root.join("bin")).unwrap();
        let packed = || {
            let mut file = pack(root, tempfile::tempfile().unwrap()).unwrap();
            io::Seek::rewind(&mut file).unwrap();
            let mut archive = tar::Archive::new(file);
            let entries = archive.entries().unwrap();
            let describe = |entry: tar::Entry<'_, File>| {
                let link = entry.link_name().unwrap().map(|link| link.display().to_string());
                (
                    entry.path().unwrap().display().to_string(),
                    entry.header().mode().unwrap() & 0o7777,
                    link,
                )
            };
            entries.map(|entry| describe(entry.unwrap())).collect::<Vec<_>>()
        };
        let entries = packed();
        assert!(
            entries.contains(&("usr/bin/tool".to_owned(), 0o4755, None)),
            "{entries:?}"
        );
        assert!(
            entries
                .iter()
                .any(|(path, _, link)| path == "bin" && link.as_deref() == Some("/nonexistent/target")),
            "{entries:?}"
        );
        assert_eq!(packed(), entries);
    }

    #[test]
    fn the_fingerprint_follows_the_content() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "1").unwrap();
        let before = fingerprint(folder.path()).unwrap();
        assert_eq!(fingerprint(folder.path()).unwrap(), before);
        fs::write(folder.path().join("b"), "").unwrap();
        assert_ne!(fingerprint(folder.path()).unwrap(), before);
    }
}
