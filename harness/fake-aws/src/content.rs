//! The content of a body: bytes in memory, or a part of a file, which may exceed the memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

/// Limit of one read from a file: short enough that other connections hardly wait for the disk.
const CHUNK: u64 = 64 * 1024;

/// The content of a body. Cloning it copies nothing.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Memory(Bytes),
    File(FilePart),
}

/// A part of an open file. It stays readable even if the file is removed.
#[derive(Debug, Clone)]
pub(crate) struct FilePart {
    pub file: Arc<File>,
    pub offset: u64,
    pub length: u64,
}

impl Content {
    /// A whole file.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn of_file(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self::File(FilePart {
            file: Arc::new(file),
            offset: 0,
            length,
        }))
    }

    /// A part of the content, which must contain it.
    #[must_use]
    pub(crate) fn part(self, first: u64, length: u64) -> Self {
        match self {
            Self::Memory(bytes) => {
                let (first, length) = (usize::try_from(first), usize::try_from(length));
                let (first, length) = (first.unwrap_or(usize::MAX), length.unwrap_or(usize::MAX));
                let start = first.min(bytes.len());
                Self::Memory(bytes.slice(start..start.saturating_add(length).min(bytes.len())))
            }
            Self::File(part) => Self::File(FilePart {
                offset: part.offset + first,
                length,
                ..part
            }),
        }
    }

    #[must_use]
    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(part) => part.length,
        }
    }

    /// The bytes in memory; empty for a part of a file.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn in_memory(&self) -> &[u8] {
        match self {
            Self::Memory(bytes) => bytes,
            Self::File(_) => &[],
        }
    }

    /// Takes up to `limit` bytes from the front; from a file at most one chunk.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn take(&mut self, limit: u64) -> io::Result<Bytes> {
        match self {
            Self::Memory(bytes) => {
                let limit = usize::try_from(limit).unwrap_or(usize::MAX);
                Ok(bytes.split_to(limit.min(bytes.len())))
            }
            Self::File(part) => part.take(limit),
        }
    }
}

impl FilePart {
    fn take(&mut self, limit: u64) -> io::Result<Bytes> {
        let length = limit.min(self.length).min(CHUNK);
        let mut chunk = vec![0; usize::try_from(length).unwrap_or_default()];
        self.file.read_exact_at(&mut chunk, self.offset)?;
        self.offset += length;
        self.length -= length;
        Ok(chunk.into())
    }
}

impl<T: Into<Bytes>> From<T> for Content {
    fn from(bytes: T) -> Self {
        Self::Memory(bytes.into())
    }
}

impl From<FilePart> for Content {
    fn from(part: FilePart) -> Self {
        Self::File(part)
    }
}
