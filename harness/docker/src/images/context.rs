//! The archive for the builder: streamed, and reproducible for the same files.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use bytes::Bytes;
use futures::{Stream, stream};
use tokio::sync::mpsc;

use crate::images::recipe::RecipeFile;

/// Content of a file.
#[derive(Debug, Clone)]
pub(crate) enum FileContent {
    Bytes(Vec<u8>),
    /// Read while the archive is sent, for large files.
    File(PathBuf),
}

/// A file in the archive.
#[derive(Debug, Clone)]
pub(crate) struct ContextFile {
    pub(crate) path: String,
    pub(crate) mode: u32,
    pub(crate) source: FileContent,
}

impl From<RecipeFile> for ContextFile {
    fn from(file: RecipeFile) -> Self {
        Self {
            path: file.path,
            mode: file.mode,
            source: FileContent::Bytes(file.content),
        }
    }
}

/// The files as a tar archive. A file that cannot be read ends the stream with an error, which fails the build.
pub(crate) fn archive(files: Vec<ContextFile>) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    streamed(move |pieces| write(&files, pieces))
}

/// What a function writes, as a stream. An error ends the stream.
pub(crate) fn streamed(
    write: impl FnOnce(Box<dyn Write>) -> io::Result<()> + Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    // The reader is slower than the disk: the channel limits the pieces in memory. The thread ends when the reader is
    // dropped.
    let (sender, receiver) = mpsc::channel(8);
    std::thread::spawn(move || {
        let failed = sender.clone();
        let pieces = io::BufWriter::with_capacity(256 * 1024, ChunkWriter(sender));
        if let Err(error) = write(Box::new(pieces)) {
            let _ = failed.blocking_send(Err(error));
        }
    });
    stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|piece| (piece, receiver))
    })
}

fn write(files: &[ContextFile], pieces: impl Write) -> io::Result<()> {
    let mut archive = tar::Builder::new(pieces);
    for file in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(file.mode);
        // A fixed time, because the builder's cache compares it.
        header.set_mtime(1);
        match &file.source {
            FileContent::Bytes(bytes) => {
                header.set_size(bytes.len() as u64);
                archive.append_data(&mut header, &file.path, bytes.as_slice())?;
            }
            FileContent::File(path) => {
                let content = File::open(path)?;
                header.set_size(content.metadata()?.len());
                archive.append_data(&mut header, &file.path, content)?;
            }
        }
    }
    archive.into_inner()?.flush()
}

/// Sends written bytes to the stream.
struct ChunkWriter(mpsc::Sender<io::Result<Bytes>>);

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes)));
        sent.map(|()| bytes.len())
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::TryStreamExt as _;

    async fn bytes(files: Vec<ContextFile>) -> io::Result<Vec<u8>> {
        let pieces: Vec<Bytes> = archive(files).try_collect().await?;
        Ok(pieces.concat())
    }

    #[tokio::test]
    async fn an_archive_is_reproducible() {
        let file = ContextFile {
            path: "a/b".to_owned(),
            mode: 0o755,
            source: FileContent::Bytes(b"#!x".to_vec()),
        };
        let first = bytes(vec![file.clone()]).await.unwrap();
        assert_eq!(first, bytes(vec![file]).await.unwrap());
        let mut archive = tar::Archive::new(first.as_slice());
        let entry = archive.entries().unwrap().next().unwrap().unwrap();
        assert_eq!(entry.path().unwrap().to_str(), Some("a/b"));
        assert_eq!(entry.header().mode().unwrap(), 0o755);
    }

    #[tokio::test]
    async fn a_missing_file_is_an_error() {
        let file = ContextFile {
            path: "a".to_owned(),
            mode: 0o644,
            source: FileContent::File("/nonexistent/x".into()),
        };
        assert!(bytes(vec![file]).await.is_err());
    }
}
