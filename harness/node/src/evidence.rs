//! Files for a person who wants to know why a node did not join. Every text goes through the caller's redaction first.

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
/// Journals of their own, beside the whole one.
const UNITS: [(&str, &str); 3] = [
    ("kubelet.log", "kubelet.service"),
    ("containerd.log", "containerd.service"),
    ("docker.log", "docker.service"),
];
/// A log that is longer is cut at its start.
const LARGEST: usize = 8 * 1024 * 1024;

/// The command that answers with an archive.
pub(crate) fn command() -> [&'static str; 3] {
    ["/bin/sh", "-c", SCRIPT]
}

/// Writes the journals, and what the container itself said, from its output.
pub(crate) fn write_journals(
    folder: &Path,
    output: &[u8],
    redact: &(dyn Fn(&str) -> String + Sync),
) -> Result<(), NodeError> {
    let text = String::from_utf8_lossy(output);
    let (mut journal, mut container) = (String::new(), String::new());
    let mut units: [String; UNITS.len()] = Default::default();
    for line in text.lines() {
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
    write(folder, Path::new("journal.log"), &redact(&journal))?;
    for ((name, _), log) in UNITS.iter().zip(&units).filter(|(_, log)| !log.is_empty()) {
        write(folder, Path::new(name), &redact(log))?;
    }
    if container.trim().is_empty() {
        return Ok(());
    }
    write(folder, Path::new("container.log"), &redact(&container))
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

/// Writes the files of the node's archive.
pub(crate) fn write_archive(
    folder: &Path,
    archive: &[u8],
    redact: &(dyn Fn(&str) -> String + Sync),
) -> Result<(), NodeError> {
    let failed = |source| NodeError::Evidence {
        path: folder.display().to_string(),
        source,
    };
    for entry in tar::Archive::new(archive).entries().map_err(failed)? {
        let Ok(mut entry) = entry else { break };
        let path = entry.path().map_err(failed)?.into_owned();
        let Some(path) = inside(&path).filter(|_| entry.header().entry_type().is_file()) else {
            continue;
        };
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(failed)?;
        let kept = &content[content.len().saturating_sub(LARGEST)..];
        write(folder, &path, &redact(&String::from_utf8_lossy(kept)))?;
    }
    Ok(())
}

/// A path that stays below the folder; `None` for one that would not.
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
    fn no_file_leaves_its_folder() {
        assert_eq!(
            inside(Path::new("./files/etc/hosts")),
            Some(PathBuf::from("files/etc/hosts"))
        );
        assert_eq!(inside(Path::new("../x")), None);
        assert_eq!(inside(Path::new("/etc/passwd")), None);
        assert_eq!(inside(Path::new(".")), None);
    }

    #[test]
    fn a_line_says_when_and_who() {
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
}
