//! Files for a person who wants to know why a node did not join. The caller's redaction edits each text first.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use nodejoin_core::observation::JournalLine;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::error::NodeError;
use crate::journal::journal_line;

const SCRIPT: &str = include_str!("../guest/evidence");
/// Units whose lines are also written to a file of their own.
const UNITS: [(&str, &str); 3] = [
    ("kubelet.log", "kubelet.service"),
    ("containerd.log", "containerd.service"),
    ("docker.log", "docker.service"),
];
/// Maximum size of a file. A longer file loses its start.
const LARGEST: usize = 8 * 1024 * 1024;

/// The command that prints the archive; `timeout` is that of containerd's list of containers, in seconds.
pub(crate) fn command(timeout: &str) -> [&str; 5] {
    ["/bin/sh", "-c", SCRIPT, "evidence", timeout]
}

/// Writes the journals and the messages of the entry program. Returns an error for each file that could not be written.
pub(crate) fn write_journals(
    folder: &Path,
    output: &[String],
    redact: &(dyn Fn(&str) -> String + Sync),
) -> Vec<NodeError> {
    let (mut journal, mut container) = (String::new(), String::new());
    let mut units: [String; UNITS.len()] = Default::default();
    for line in output {
        let Some((at, line)) = journal_line(line) else {
            let _ = writeln!(container, "{line}");
            continue;
        };
        let printed = printed(at, &line);
        for ((_, unit), log) in UNITS.iter().zip(&mut units) {
            if line.unit.as_deref() == Some(unit) {
                log.push_str(&printed);
            }
        }
        journal.push_str(&printed);
    }
    let units = UNITS.iter().zip(&units).map(|((name, _), log)| (*name, log));
    let optional = units
        .chain([("container.log", &container)])
        .filter(|(_, log)| !log.trim().is_empty());
    [("journal.log", &journal)]
        .into_iter()
        .chain(optional)
        .filter_map(|(name, log)| write(folder, Path::new(name), &redact(log)).err())
        .collect()
}

fn printed(at: SystemTime, line: &JournalLine) -> String {
    let at = OffsetDateTime::from(at).format(&Rfc3339).unwrap_or_default();
    let who = line.command.as_deref().or(line.unit.as_deref()).unwrap_or("-");
    let about = line
        .unit
        .as_deref()
        .filter(|_| line.by_systemd)
        .map(|u| format!(" [{u}]"))
        .unwrap_or_default();
    format!("{at} {who}{about}: {}\n", line.message)
}

/// Writes the files of the node's archive. Returns an error for each file that could not be written.
pub(crate) fn write_archive(
    folder: &Path,
    archive: &[u8],
    redact: &(dyn Fn(&str) -> String + Sync),
) -> Vec<NodeError> {
    let failed = |source| NodeError::Evidence {
        path: folder.display().to_string(),
        source,
    };
    let mut archive = tar::Archive::new(archive);
    let entries = match archive.entries() {
        Ok(entries) => entries,
        Err(source) => return vec![failed(source)],
    };
    let mut errors = Vec::new();
    // A truncated archive ends at its first damaged entry.
    for mut entry in entries.map_while(Result::ok) {
        let path = entry.path().ok().and_then(|path| inside(&path));
        let Some(path) = path.filter(|_| entry.header().entry_type().is_file()) else {
            continue;
        };
        let mut content = Vec::new();
        if let Err(source) = entry.read_to_end(&mut content) {
            errors.push(failed(source));
            break;
        }
        let kept = &content[content.len().saturating_sub(LARGEST)..];
        errors.extend(write(folder, &path, &redact(&String::from_utf8_lossy(kept))).err());
    }
    errors
}

/// The path without `.`; `None` for a path that leaves the folder.
fn inside(path: &Path) -> Option<PathBuf> {
    let mut kept = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => kept.push(name),
            Component::CurDir => {}
            _ => return None,
        }
    }
    (!kept.as_os_str().is_empty()).then_some(kept)
}

fn write(folder: &Path, name: &Path, text: &str) -> Result<(), NodeError> {
    let path = folder.join(name);
    let put = || -> io::Result<()> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, text)
    };
    put().map_err(|source| NodeError::Evidence {
        path: path.display().to_string(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_outside_the_folder_is_refused() {
        assert_eq!(
            inside(Path::new("./files/etc/hosts")),
            Some(PathBuf::from("files/etc/hosts"))
        );
        assert_eq!(inside(Path::new("../x")), None);
        assert_eq!(inside(Path::new("/etc/passwd")), None);
        assert_eq!(inside(Path::new(".")), None);
    }

    #[test]
    fn a_line_has_its_time_command_and_unit() {
        let line = JournalLine {
            unit: Some("kubelet.service".to_owned()),
            command: Some("systemd".to_owned()),
            by_systemd: true,
            message: "Started".to_owned(),
        };
        assert_eq!(
            printed(SystemTime::UNIX_EPOCH, &line),
            "1970-01-01T00:00:00Z systemd [kubelet.service]: Started\n"
        );
    }

    #[test]
    fn a_file_that_cannot_be_written_is_an_error_and_the_others_are_written() {
        let folder = tempfile::tempdir().unwrap();
        // A folder in the file's place cannot be overwritten, not even by root.
        std::fs::create_dir(folder.path().join("journal.log")).unwrap();
        let plain = |text: &str| text.to_owned();
        let errors = write_journals(folder.path(), &["nodejoin: enter failed".to_owned()], &plain);
        assert_eq!(errors.len(), 1, "{errors:?}");
        let container = std::fs::read_to_string(folder.path().join("container.log")).unwrap();
        assert_eq!(container, "nodejoin: enter failed\n");
    }

    #[test]
    fn every_file_of_an_archive_is_tried() {
        let mut builder = tar::Builder::new(Vec::new());
        for name in ["units.txt", "mounts.txt"] {
            let mut header = tar::Header::new_gnu();
            header.set_size(1);
            header.set_mode(0o644);
            builder.append_data(&mut header, name, &b"x"[..]).unwrap();
        }
        let archive = builder.into_inner().unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("units.txt")).unwrap();
        let errors = write_archive(folder.path(), &archive, &|text: &str| text.to_owned());
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(folder.path().join("mounts.txt").is_file());
    }
}
