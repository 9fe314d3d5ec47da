//! Any bytes either are an archive whose image content lies within them, or are refused with an error and a hint.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use nodejoin_core::plan::architecture::Architecture;
use nodejoin_core::image_archive::ImageArchive;

fuzz_target!(|bytes: &[u8]| {
    match ImageArchive::read(Cursor::new(bytes), Architecture::X86_64) {
        Ok(image) => {
            assert!(!image.manifests.is_empty());
            for blob in image.blobs {
                assert!(blob.offset + blob.length <= bytes.len() as u64);
            }
        }
        Err(error) => assert!(!error.to_string().is_empty() && !error.hint().is_empty()),
    }
});
