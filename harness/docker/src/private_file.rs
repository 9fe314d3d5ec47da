//! Files with keys and tokens: readable by their owner only.

use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

const MODE: u32 = 0o600;

/// Writes a file with mode 0600, and narrows the mode of a file that exists before its content changes.
///
/// # Errors
/// When the file cannot be created, changed or written.
pub fn write_private(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(MODE)
        .open(path)?;
    // `mode` applies to new files only.
    file.set_permissions(std::fs::Permissions::from_mode(MODE))?;
    file.write_all(content.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_file_is_readable_by_its_owner_only_even_if_it_existed_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        write_private(&path, "new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            MODE
        );
    }
}
