//! Any scenario file and any rows of `aws-auth` are read, or refused with a position in them.
#![no_main]

use std::io;
use std::path::{Path, PathBuf};

use libfuzzer_sys::fuzz_target;
use nodejoin_core::plan::change::AwsAuthText;
use nodejoin_core::input::files::{Files, Seekable};
use nodejoin_core::scenario::{aws_auth_rows, load_account};

/// The only file.
struct One<'a>(&'a [u8]);

impl Files for One<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path == Path::new("/a.yaml") {
            Ok(self.0.to_vec())
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Seekable>> {
        Ok(Box::new(io::Cursor::new(self.read(path)?)))
    }

    fn list(&self, _: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }

    fn is_folder(&self, _: &Path) -> bool {
        false
    }

    fn mode(&self, _: &Path) -> io::Result<u32> {
        Ok(0o644)
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

fuzz_target!(|text: &[u8]| {
    if let Err(error) = load_account(Path::new("/a.yaml"), &One(text)) {
        assert!(error.to_string().starts_with("/a.yaml"), "{error}");
    }
    let rows = AwsAuthText {
        file: "/rows".to_owned(),
        text: String::from_utf8_lossy(text).into_owned(),
    };
    let (account, region) = ("111122223333".parse().unwrap(), "eu-west-1".parse().unwrap());
    if let Err(error) = aws_auth_rows(&rows, &account, &region) {
        assert!(error.to_string().starts_with("/rows"), "{error}");
    }
});
