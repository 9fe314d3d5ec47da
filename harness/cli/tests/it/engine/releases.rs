//! Nodes of root file systems that no recipe of this repository made: releases of Debian, whose systemd and cloud-init
//! are years apart.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::own_images::remove_images;
use crate::support::{both, build_images_once};

/// The exit code of the script on a host without mmdebstrap, whose base image was pulled or given.
const MISSING_TOOL: i32 = 3;

/// Makes the root file system of a release, and lets a node of it join.
fn joins(release: &str, expected: &str) {
    build_images_once();
    let evidence = TempDir::new().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/root-file-systems");
    let output = Command::new(script)
        .arg(release)
        .env("NODEJOIN", env!("CARGO_BIN_EXE_nodejoin"))
        .env("NODEJOIN_ARTIFACTS", evidence.path())
        .output()
        .unwrap();
    let said = both(&output);
    remove_images(&format!("nodejoin/import-{release}"));
    if output.status.code() == Some(MISSING_TOOL) {
        println!("skipped, because {said}");
        return;
    }
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed, 0 failed"), "{said}");
    assert!(said.contains(expected), "{said}");
}

#[test]
fn a_node_of_bullseye_joins() {
    joins("bullseye", "Debian GNU/Linux 11 (bullseye), systemd 247");
}

#[test]
fn a_node_of_bookworm_joins() {
    joins("bookworm", "Debian GNU/Linux 12 (bookworm), systemd 252");
}

#[test]
fn a_node_of_trixie_joins() {
    joins("trixie", "Debian GNU/Linux 13 (trixie), systemd 257");
}
