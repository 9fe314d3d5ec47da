//! What a body is made of: bytes that are here, or a part of a file, which may be larger than memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytes::Bytes;

/// The content of a body. Cloning it copies nothing.
#[derive(Debug, Clone)]
pub enum Content {
    /// Bytes.
    Here(Bytes),
    /// A part of a file.
    Stored(FilePart),
}

/// A part of a file that is open, and so stays there though somebody removes it.
#[derive(Debug, Clone)]
pub struct FilePart {
    /// The file.
    pub file: Arc<File>,
    /// Where the part begins.
    pub offset: u64,
    /// How long it is.
    pub length: u64,
}

impl Content {
    /// Its length.
    #[must_use]
    pub fn length(&self) -> u64 {
        match self {
            Self::Here(bytes) => bytes.len() as u64,
            Self::Stored(part) => part.length,
        }
    }

    /// The bytes that are here: none of those in a file.
    #[must_use]
    pub fn here(&self) -> &[u8] {
        match self {
            Self::Here(bytes) => bytes,
            Self::Stored(_) => &[],
        }
    }

    /// Takes bytes off its front: of those that are here all up to `most`, of a file's a chunk of them.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub(crate) fn take(&mut self, most: u64) -> io::Result<Bytes> {
        match self {
            Self::Here(bytes) => {
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                Ok(bytes.split_to(most.min(bytes.len())))
            }
            Self::Stored(part) => part.take(most),
        }
    }
}

impl FilePart {
    fn take(&mut self, most: u64) -> io::Result<Bytes> {
        let length = most.min(self.length).min(CHUNK);
        let mut chunk = vec![0; usize::try_from(length).unwrap_or_default()];
        self.file.read_exact_at(&mut chunk, self.offset)?;
        self.offset += length;
        self.length -= length;
        Ok(chunk.into())
    }
}

/// What is read of a file at once: little enough that other connections hardly wait for the disk.
const CHUNK: u64 = 64 * 1024;

impl<T: Into<Bytes>> From<T> for Content {
    fn from(bytes: T) -> Self {
        Self::Here(bytes.into())
    }
}

impl From<FilePart> for Content {
    fn from(part: FilePart) -> Self {
        Self::Stored(part)
    }
}
