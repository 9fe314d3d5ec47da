//! The archive that a builder gets: streamed, and the same bytes for the same files.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use bytes::Bytes;
use futures::{Stream, stream};
use tokio::sync::mpsc;

use crate::images::recipe::RecipeFile;

/// Where the content of a file comes from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Bytes(Vec<u8>),
    /// Large ones are read while they are sent.
    File(PathBuf),
}

/// A file of the archive.
#[derive(Debug, Clone)]
pub(crate) struct ContextFile {
    pub(crate) path: String,
    pub(crate) mode: u32,
    pub(crate) source: Source,
}

impl From<RecipeFile> for ContextFile {
    fn from(file: RecipeFile) -> Self {
        Self {
            path: file.path,
            mode: file.mode,
            source: Source::Bytes(file.content),
        }
    }
}

/// The files as a tar archive. A file that cannot be read ends the stream with an error, and the build with it.
pub(crate) fn archive(files: Vec<ContextFile>) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    // The builder reads slower than the disk: only a few pieces wait in memory. The thread ends when the reader is dropped.
    let (sender, receiver) = mpsc::channel(8);
    std::thread::spawn(move || {
        let failed = sender.clone();
        if let Err(error) = write(&files, Pieces(sender)) {
            let _ = failed.blocking_send(Err(error));
        }
    });
    stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|piece| (piece, receiver))
    })
}

fn write(files: &[ContextFile], pieces: Pieces) -> io::Result<()> {
    let mut archive = tar::Builder::new(io::BufWriter::with_capacity(256 * 1024, pieces));
    for file in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(file.mode);
        // A fixed time: the builder's cache looks at it.
        header.set_mtime(1);
        match &file.source {
            Source::Bytes(bytes) => {
                header.set_size(bytes.len() as u64);
                archive.append_data(&mut header, &file.path, bytes.as_slice())?;
            }
            Source::File(path) => {
                let content = File::open(path)?;
                header.set_size(content.metadata()?.len());
                archive.append_data(&mut header, &file.path, content)?;
            }
        }
    }
    archive
        .into_inner()?
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    Ok(())
}

/// Hands what is written to the stream.
struct Pieces(mpsc::Sender<io::Result<Bytes>>);

impl Write for Pieces {
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
    async fn an_archive_has_the_files_and_is_always_the_same() {
        let file = ContextFile {
            path: "a/b".to_owned(),
            mode: 0o755,
            source: Source::Bytes(b"#!x".to_vec()),
        };
        let first = bytes(vec![file.clone()]).await.unwrap();
        assert_eq!(first, bytes(vec![file]).await.unwrap());
        let mut archive = tar::Archive::new(first.as_slice());
        let entry = archive.entries().unwrap().next().unwrap().unwrap();
        assert_eq!(entry.path().unwrap().to_str(), Some("a/b"));
        assert_eq!(entry.header().mode().unwrap(), 0o755);
    }

    #[tokio::test]
    async fn a_file_that_is_not_there_is_an_error() {
        let file = ContextFile {
            path: "a".to_owned(),
            mode: 0o644,
            source: Source::File("/nonexistent/x".into()),
        };
        assert!(bytes(vec![file]).await.is_err());
    }
}
