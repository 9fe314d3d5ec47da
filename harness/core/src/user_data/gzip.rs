//! Compression with gzip, of user data and of files in it.

use std::io::{Read as _, Write as _};

use flate2::{Compression, GzBuilder};

/// The first bytes of compressed data.
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    // Without time and name, so that a scenario always produces the same bytes.
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("writing to memory does not fail")
}

/// The content; `None` if it is damaged.
pub(super) fn gunzip(bytes: &[u8]) -> Option<Vec<u8>> {
    // User data has at most 16 KiB; protects from decompression bombs.
    const MAX_UNPACKED: u64 = 64 * 1024 * 1024;
    let mut unpacked = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes)
        .take(MAX_UNPACKED)
        .read_to_end(&mut unpacked)
        .ok()?;
    Some(unpacked)
}
