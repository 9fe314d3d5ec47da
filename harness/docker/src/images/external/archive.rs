//! Archives of root file systems: decompression, and a check of all paths before anything is imported.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _};
use std::path::{Component, Path};

use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;
use sha2::{Digest as _, Sha256};

use crate::image_problem::ImageProblem;

/// An archive ends with two blocks of zeros.
const BLOCK: usize = 512;
const BUFFER: usize = 256 * 1024;
/// Folders of which every Linux system has these.
const FOLDERS: [&str; 2] = ["etc", "usr"];
/// Paths of systemd, without and with merged /usr.
const INITS: [&str; 2] = ["usr/lib/systemd/systemd", "lib/systemd/systemd"];

/// How an archive is compressed, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Zstd,
    Xz,
}

impl Compression {
    fn of(file: &mut File) -> io::Result<Self> {
        let mut magic = Vec::new();
        file.rewind()?;
        file.take(6).read_to_end(&mut magic)?;
        file.rewind()?;
        Ok(match magic.as_slice() {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            [0xfd, b'7', b'z', b'X', b'Z', 0] => Self::Xz,
            _ => Self::None,
        })
    }
}

/// Opens an archive and decompresses it.
pub(super) fn open(mut file: File) -> io::Result<Box<dyn Read + Send>> {
    let compression = Compression::of(&mut file)?;
    let file = BufReader::with_capacity(BUFFER, file);
    Ok(match compression {
        Compression::Gzip => Box::new(MultiGzDecoder::new(file)),
        Compression::Zstd => Box::new(zstd::Decoder::new(file)?),
        Compression::Xz => Box::new(XzDecoder::new_multi_decoder(file)),
        Compression::None => Box::new(file),
    })
}

/// Reads a whole archive, checks it, and returns the hash of its uncompressed content.
pub(super) fn survey(mut file: File) -> Result<String, ImageProblem> {
    let is_compressed = Compression::of(&mut file).map_err(ImageProblem::Damaged)? != Compression::None;
    let mut reader = HashReader::new(open(file).map_err(ImageProblem::Damaged)?);
    let mut seen = Survey::default();
    let mut is_first = true;
    let mut archive = tar::Archive::new(&mut reader);
    for entry in archive.entries().map_err(ImageProblem::Damaged)? {
        let entry = entry.map_err(|error| match is_first && !is_truncated(is_compressed, &error) {
            true => ImageProblem::NotRootFs {
                why: format!(
                    "it is not a tar archive ({})",
                    error.to_string().lines().next().unwrap_or_default()
                ),
            },
            false => ImageProblem::Damaged(error),
        })?;
        is_first = false;
        seen.add(entry.header().entry_type(), &path_of(&entry)?);
        if entry.header().entry_type().is_hard_link()
            && let Some(target) = entry.link_name().map_err(ImageProblem::Damaged)?
        {
            check_path(&target)?;
        }
    }
    let hash = reader.finish().map_err(ImageProblem::Damaged)?;
    seen.finish()?;
    Ok(hash)
}

/// Whether a compressed archive ends before its first entry is read.
fn is_truncated(is_compressed: bool, error: &io::Error) -> bool {
    is_compressed && error.kind() == io::ErrorKind::UnexpectedEof
}

/// Checks the paths of a layer of an image. A layer is not a complete system.
pub(super) fn check_layer(reader: impl Read) -> Result<(), ImageProblem> {
    let mut archive = tar::Archive::new(reader);
    for entry in archive.entries().map_err(ImageProblem::Damaged)? {
        path_of(&entry.map_err(ImageProblem::Damaged)?)?;
    }
    Ok(())
}

fn path_of<R: Read>(entry: &tar::Entry<'_, R>) -> Result<String, ImageProblem> {
    let path = entry.path().map_err(ImageProblem::Damaged)?;
    check_path(&path)?;
    let parts = path.components().filter(|part| *part != Component::CurDir);
    Ok(parts
        .collect::<std::path::PathBuf>()
        .to_string_lossy()
        .into_owned())
}

fn check_path(path: &Path) -> Result<(), ImageProblem> {
    let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.components().all(is_inside) {
        return Ok(());
    }
    Err(ImageProblem::OutsidePath {
        path: path.display().to_string(),
    })
}

/// What an archive contains.
#[derive(Debug, Default)]
struct Survey {
    folders: Vec<&'static str>,
    entries: usize,
    has_init: bool,
    is_image: bool,
}

impl Survey {
    fn add(&mut self, kind: tar::EntryType, path: &str) {
        self.entries += 1;
        self.has_init |= INITS.contains(&path);
        self.is_image |= kind.is_file() && ["index.json", "manifest.json"].contains(&path);
        // An archive may contain `usr/bin/sh` without an entry for `usr`.
        let first = path.split('/').next().unwrap_or_default();
        if let Some(found) = FOLDERS.iter().find(|folder| **folder == first)
            && !self.folders.contains(found)
        {
            self.folders.push(found);
        }
    }

    fn finish(&self) -> Result<(), ImageProblem> {
        if self.is_image {
            let why = "it is an archive of a container image; unpack an OCI image layout into a folder, or run `docker load` and \
                       set `image` to the name";
            return Err(ImageProblem::NotRootFs { why: why.to_owned() });
        }
        if let Some(missing) = FOLDERS.iter().find(|folder| !self.folders.contains(folder)) {
            let why = match self.entries {
                0 => "it is empty".to_owned(),
                count => format!("none of its {count} files is in the folder `{missing}`"),
            };
            return Err(ImageProblem::NotRootFs { why });
        }
        if self.has_init {
            return Ok(());
        }
        Err(ImageProblem::NoInit)
    }
}

/// Hashes everything that is read, and remembers the last block.
struct HashReader<R> {
    inner: R,
    hash: Sha256,
    /// Number of zeros at the end of what was read so far.
    zeros: usize,
}

impl<R: Read> HashReader<R> {
    fn new(inner: R) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
            zeros: 0,
        }
    }

    /// Reads the rest, which contains the checksums of the compression, and returns the hash.
    fn finish(mut self) -> io::Result<String> {
        let mut rest = vec![0; BUFFER];
        while self.read(&mut rest)? > 0 {}
        if self.zeros < BLOCK {
            let problem = "the end marker of the archive is missing";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, problem));
        }
        Ok(hex::encode(self.hash.finalize()))
    }
}

impl<R: Read> Read for HashReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let piece = &buffer[..count];
        self.hash.update(piece);
        let zeros = piece.iter().rev().take_while(|byte| **byte == 0).count();
        self.zeros = if zeros == count { self.zeros + zeros } else { zeros };
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// An archive with these paths, each a small file. Paths are written as they are, also invalid ones.
    fn archive(paths: &[&str]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for path in paths {
            let mut header = tar::Header::new_gnu();
            let name = &mut header.as_old_mut().name;
            name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_size(3);
            header.set_mode(0o755);
            header.set_cksum();
            builder.append(&header, &b"abc"[..]).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn of(bytes: &[u8]) -> Result<String, ImageProblem> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        survey(file)
    }

    fn system() -> Vec<u8> {
        archive(&["./etc/os-release", "./usr/bin/sh", "./usr/lib/systemd/systemd"])
    }

    fn compressed() -> [Vec<u8>; 3] {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&system()).unwrap();
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(&system()).unwrap();
        let zstd = zstd::encode_all(system().as_slice(), 1).unwrap();
        [gzip.finish().unwrap(), xz.finish().unwrap(), zstd]
    }

    #[test]
    fn the_hash_does_not_depend_on_the_compression() {
        let plain = of(&system()).unwrap();
        for bytes in compressed() {
            assert_eq!(of(&bytes).unwrap(), plain);
        }
        assert_ne!(
            of(&archive(&["etc/x", "usr/x", "lib/systemd/systemd"])).unwrap(),
            plain
        );
    }

    #[test]
    fn a_truncated_archive_is_damaged_wherever_it_ends() {
        let whole = system();
        let parts = [&whole[..700], &whole[..1024], &whole[..2048]];
        let packed = compressed();
        let packed = packed.iter().map(|bytes| &bytes[..bytes.len() - 5]);
        for bytes in parts.into_iter().chain(packed) {
            let problem = of(bytes).unwrap_err();
            assert!(
                matches!(problem, ImageProblem::Damaged(_)),
                "{} bytes: {problem}",
                bytes.len()
            );
        }
    }

    #[test]
    fn paths_outside_the_root_are_refused() {
        for path in ["/etc/passwd", "../etc/passwd", "usr/../../etc/passwd"] {
            let problem = of(&archive(&["etc/x", path, "usr/x"])).unwrap_err();
            assert!(problem.to_string().contains(path), "{problem}");
        }
    }

    #[test]
    fn other_files_are_not_root_file_systems() {
        let text = |bytes: &[u8]| of(bytes).unwrap_err().to_string();
        assert!(text(&[b'x'; 2000]).contains("not a tar archive"));
        assert!(text(&archive(&["README.md"])).contains("none of its 1 files is in the folder `etc`"));
        assert!(text(&archive(&[])).contains("it is empty"));
        assert!(text(&archive(&["index.json", "oci-layout"])).contains("container image"));
        assert!(matches!(
            of(&archive(&["etc/os-release", "usr/bin/sh"])),
            Err(ImageProblem::NoInit)
        ));
    }
}
