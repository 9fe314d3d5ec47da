//! The scripts of a release: `install.sh` against a loopback server, and the notes of a version.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

use crate::support::both;

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../ci/release")
        .join(name)
        .canonicalize()
        .unwrap()
}

pub fn shell(folder: &Path, text: &str) {
    let output = Command::new("bash")
        .args(["-euc", text])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", both(&output));
}

/// Files of a release, served on loopback.
pub struct ServedRelease {
    pub folder: TempDir,
    server: Child,
    pub url: String,
}

impl ServedRelease {
    fn start() -> Self {
        Self::below(".")
    }

    /// Serves the files in a folder of the server.
    pub fn below(path: &str) -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir_all(folder.path().join(path)).unwrap();
        shell(
            &folder.path().join(path),
            "printf '#!/bin/sh\\necho nodejoin 9.9.9\\n' >nodejoin && chmod 0755 nodejoin
             name=nodejoin-linux-$(uname -m).tar.gz
             tar -czf $name nodejoin && sha256sum $name >$name.sha256",
        );
        let mut server = Command::new("python3")
            .args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let port = line.split("port ").nth(1).and_then(|rest| rest.split(' ').next());
        let url = format!("http://127.0.0.1:{}", port.unwrap_or_else(|| panic!("{line}")));
        Self { folder, server, url }
    }

    fn install(&self, to: &Path) -> Output {
        let mut installer = Command::new("sh");
        installer.arg(script("install.sh")).args(["--from", &self.url]);
        installer.arg("--to").arg(to).output().unwrap()
    }
}

impl Drop for ServedRelease {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn a_binary_is_installed_once_its_checksum_is_right() {
    let release = ServedRelease::start();
    let to = release.folder.path().join("bin");
    let installed = release.install(&to);
    assert!(installed.status.success(), "{}", both(&installed));
    assert!(
        both(&installed).contains("installed nodejoin 9.9.9 as "),
        "{}",
        both(&installed)
    );
    let mode = fs::metadata(to.join("nodejoin")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);

    // Another file under the same name.
    fs::write(to.join("nodejoin"), "earlier").unwrap();
    shell(
        release.folder.path(),
        "for file in *.tar.gz; do echo x >>$file; done",
    );
    let refused = release.install(&to);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        both(&refused).contains("does not match its checksum"),
        "{}",
        both(&refused)
    );
    assert_eq!(fs::read_to_string(to.join("nodejoin")).unwrap(), "earlier");
    assert_eq!(fs::read_dir(&to).unwrap().count(), 1, "nothing else remains");

    shell(release.folder.path(), "rm -- *.sha256");
    let missing = release.install(&to);
    assert_eq!(missing.status.code(), Some(3));
    assert!(
        both(&missing).contains("could not download "),
        "{}",
        both(&missing)
    );
}

#[test]
fn a_published_installer_knows_its_release() {
    let own = Command::new("sh").arg(script("install.sh")).output().unwrap();
    assert_eq!(own.status.code(), Some(1));
    assert!(both(&own).contains("belongs to no release"), "{}", both(&own));

    let release = ServedRelease::start();
    let published = Command::new(script("installer"))
        .arg(&release.url)
        .output()
        .unwrap();
    assert!(published.status.success(), "{}", both(&published));
    let file = release.folder.path().join("install.sh");
    fs::write(&file, &published.stdout).unwrap();
    let to = release.folder.path().join("bin");
    let installed = Command::new("sh")
        .arg(&file)
        .arg("--to")
        .arg(&to)
        .output()
        .unwrap();
    assert!(installed.status.success(), "{}", both(&installed));
    let invalid = Command::new(script("installer"))
        .arg("x'; reboot")
        .output()
        .unwrap();
    assert_eq!(invalid.status.code(), Some(2));
}

#[test]
fn notes_are_the_section_of_a_version() {
    let notes = Command::new(script("notes")).arg("Unreleased").output().unwrap();
    assert!(both(&notes).contains("### Added"), "{}", both(&notes));
    assert!(!both(&notes).contains("\n## "), "{}", both(&notes));
    let missing = Command::new(script("notes")).arg("9.9.9").output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
    assert!(
        both(&missing).contains("no section `## 9.9.9`"),
        "{}",
        both(&missing)
    );
}
