//! Random access to the files of a tar archive.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};

use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::error::NotAnImage;
use super::image::{Extent, named};

/// Registries limit documents to this size, too.
const MAX_DOCUMENT_BYTES: u64 = 4 * 1024 * 1024;
/// Links may form a chain; a longer chain is a loop.
const MAX_LINKS: usize = 8;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 2] = [0x28, 0xb5];
const XZ: [u8; 2] = [0xfd, b'7'];

/// A tar archive and the offsets of its files.
pub(super) struct Pack<R> {
    archive: R,
    files: BTreeMap<String, PackedFile>,
}

#[derive(Debug, Clone)]
enum PackedFile {
    At {
        offset: u64,
        length: u64,
    },
    /// `docker save` writes a repeated layer as a link.
    Link(String),
}

impl<R: Read + Seek> Pack<R> {
    pub(super) fn open(mut archive: R) -> Result<Self, NotAnImage> {
        let begin = peek(&mut archive, 0)?;
        for (magic, program) in [(GZIP, "gzip"), (ZSTD, "zstd"), (XZ, "xz")] {
            if begin == magic {
                return Err(NotAnImage::Compressed(program));
            }
        }
        let end = archive.seek(SeekFrom::End(0))?;
        archive.seek(SeekFrom::Start(0))?;
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(&mut archive).entries_with_seek()? {
            let entry = entry?;
            let name = plain(&entry.path()?.to_string_lossy());
            let file = match (entry.header().entry_type(), entry.link_name()?) {
                (tar::EntryType::Regular | tar::EntryType::Continuous, _) => {
                    let (offset, length) = (entry.raw_file_position(), entry.size());
                    if offset.saturating_add(length) > end {
                        return Err(NotAnImage::Broken(format!(
                            "the archive is truncated in `{name}`"
                        )));
                    }
                    PackedFile::At { offset, length }
                }
                (tar::EntryType::Symlink, Some(to)) => PackedFile::Link(beside(&name, &to.to_string_lossy())),
                (tar::EntryType::Link, Some(to)) => PackedFile::Link(plain(&to.to_string_lossy())),
                _ => continue,
            };
            files.insert(name, file);
        }
        Ok(Self { archive, files })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    /// Offset and length of a file.
    pub(super) fn position(&self, name: &str) -> Option<(u64, u64)> {
        let mut name = plain(name);
        for _ in 0..MAX_LINKS {
            match self.files.get(&name)? {
                PackedFile::At { offset, length } => return Some((*offset, *length)),
                PackedFile::Link(to) => name.clone_from(to),
            }
        }
        None
    }

    /// Reads a file.
    pub(super) fn bytes(&mut self, name: &str) -> Result<Vec<u8>, NotAnImage> {
        let (offset, length) = self.position_or_error(name)?;
        if length > MAX_DOCUMENT_BYTES {
            return Err(NotAnImage::Broken(format!(
                "`{name}` is too large: {length} bytes"
            )));
        }
        let mut bytes = Vec::new();
        self.at(offset, length)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads a JSON file.
    pub(super) fn json<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, NotAnImage> {
        json(name, &self.bytes(name)?)
    }

    /// The position of a file as a blob with this digest.
    pub(super) fn extent(&self, name: &str, digest: &str) -> Result<Extent, NotAnImage> {
        let (offset, length) = self.position_or_error(name)?;
        Ok(Extent {
            digest: digest.to_owned(),
            offset,
            length,
        })
    }

    pub(super) fn is_gzip(&mut self, name: &str) -> Result<bool, NotAnImage> {
        let (offset, _) = self.position_or_error(name)?;
        Ok(peek(&mut self.archive, offset)? == GZIP)
    }

    /// Computes the digest of a file of any size.
    pub(super) fn digest(&mut self, name: &str) -> Result<String, NotAnImage> {
        let (offset, length) = self.position_or_error(name)?;
        let mut file = self.at(offset, length)?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(named(&hash.finalize())),
                read => hash.update(&buffer[..read]),
            }
        }
    }

    fn position_or_error(&self, name: &str) -> Result<(u64, u64), NotAnImage> {
        self.position(name)
            .ok_or_else(|| NotAnImage::Broken(format!("`{name}` is missing")))
    }

    fn at(&mut self, offset: u64, length: u64) -> Result<impl Read + '_, NotAnImage> {
        self.archive.seek(SeekFrom::Start(offset))?;
        Ok((&mut self.archive).take(length))
    }
}

pub(super) fn json<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T, NotAnImage> {
    serde_json::from_slice(bytes)
        .map_err(|error| NotAnImage::Broken(format!("invalid JSON in `{name}`: {error}")))
}

/// The two bytes at an offset; zeros past the end.
fn peek(archive: &mut (impl Read + Seek), offset: u64) -> Result<[u8; 2], NotAnImage> {
    archive.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    archive.take(2).read_to_end(&mut bytes)?;
    Ok(bytes.try_into().unwrap_or_default())
}

/// Normalizes a path.
fn plain(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            other => parts.push(other),
        }
    }
    parts.join("/")
}

/// The target of a symbolic link at `name`.
fn beside(name: &str, target: &str) -> String {
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    plain(&format!("{folder}/{target}"))
}
